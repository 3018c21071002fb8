#!/usr/bin/env bash
# Fuzzes every reader of traces with libFuzzer under address and undefined-behaviour sanitizers (clang-19, libclang-rt-19-dev).
#
#   tools/fuzz_readers.sh              600 s each
#   tools/fuzz_readers.sh 60 goal csv  60 s each, of those formats
#
# Begins with the seeds in tests/fuzz/corpus; what it finds is kept in build/fuzz/found/FORMAT, and a failing input beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
shift || true
formats=("$@")
if ((${#formats[@]} == 0)); then
  for folder in tests/fuzz/corpus/*/; do formats+=("$(basename "$folder")"); done
fi

# libstdc++ calls its own deprecated functions, which clang tells of.
flags="-fsanitize=address,undefined -fsanitize=fuzzer-no-link -fno-sanitize-recover=all -O1 -g1 -Wno-deprecated-declarations"
cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 -DWEFT_FUZZ=ON -DWEFT_BUILD_BENCHMARKS=OFF >/dev/null
ninja -C build/fuzz fuzz_readers
# Inputs pass through files: in memory where that is possible.
if [[ -w /dev/shm ]]; then export TMPDIR=/dev/shm; fi
for format in "${formats[@]}"; do
  found=build/fuzz/found/$format
  mkdir -p "$found"
  build/fuzz/tests/fuzz/fuzz_readers --format="$format" "$found" "tests/fuzz/corpus/$format" -max_total_time="$seconds" \
    -rss_limit_mb=2048 -timeout=10 -max_len=16384 -artifact_prefix="$found.failed-" -print_final_stats=1 -verbosity=0
done
