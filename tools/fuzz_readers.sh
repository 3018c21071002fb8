#!/usr/bin/env bash
# Fuzzes every reader with libFuzzer under address and undefined-behaviour sanitizers (clang-19, libclang-rt-19-dev).
#
#   tools/fuzz_readers.sh              600 s each, as many at a time as there are processors
#   tools/fuzz_readers.sh 60 goal csv  60 s each, of those readers
#
# Readers are the folders of tests/fuzz/corpus, whose seeds it begins with. What it finds is kept in build/fuzz/found/READER, a
# failing input and a log beside it. At the end it prints inputs tried, seconds and failures of each.
set -euo pipefail
cd "$(dirname "$0")/.."
export SECONDS_EACH=${1:-600}
shift || true
readers=("$@")
if ((${#readers[@]} == 0)); then
  for folder in tests/fuzz/corpus/*/; do readers+=("$(basename "$folder")"); done
fi

# libstdc++ calls its own deprecated functions, which clang tells of.
flags="-fsanitize=address,undefined -fsanitize=fuzzer-no-link -fno-sanitize-recover=all -O1 -g1 -Wno-deprecated-declarations"
cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 -DWEFT_FUZZ=ON -DWEFT_BUILD_BENCHMARKS=OFF >/dev/null
ninja --quiet -C build/fuzz fuzz_readers >&2

fuzz_one() {
  local found=build/fuzz/found/$1
  rm -rf "$found".failed-*
  mkdir -p "$found"
  # Words of the seeds, which a fuzzer does not come by otherwise.
  grep -ahoE '[A-Za-z_][A-Za-z0-9_]{2,}' tests/fuzz/corpus/"$1"/* | sort -u | sed 's/.*/"&"/' >"$found.words"
  build/fuzz/tests/fuzz/fuzz_readers --target="$1" "$found" "tests/fuzz/corpus/$1" -max_total_time="$SECONDS_EACH" \
    -dict="$found.words" -rss_limit_mb=4096 -timeout=30 -max_len=16384 -artifact_prefix="$found.failed-" -print_final_stats=1 \
    -verbosity=0 >"$found.log" 2>&1 || true
}
export -f fuzz_one
SECONDS=0
printf '%s\n' "${readers[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one {}'

shopt -s nullglob
inputs=0 failures=0
printf '%-16s %12s %9s\n' reader inputs failures
for reader in "${readers[@]}"; do
  log=build/fuzz/found/$reader.log
  tried=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  failed=(build/fuzz/found/"$reader".failed-*)
  # A fuzzer that did not come to its end has failed too.
  count=${#failed[@]}
  [[ -n $tried || $count -gt 0 ]] || count=1
  printf '%-16s %12s %9s\n' "$reader" "${tried:--}" "$count"
  inputs=$((inputs + ${tried:-0})) failures=$((failures + count))
done
echo "$inputs inputs of ${#readers[@]} readers in $SECONDS s, $failures failures"
((failures == 0))
