#!/usr/bin/env bash
# Checks that take minutes: not for every change, but before a release and after work on what they cover.
#
#   tools/long_checks.sh                    all sections
#   tools/long_checks.sh sweep_kills ...    those named
#
# The output of a section is kept in build/long_checks; tools/record_long_checks.py SECTION... puts it into docs/reliability.md.
# WEFT names the program (build/weft).
set -euo pipefail
cd "$(dirname "$0")/.."
weft=$(realpath "${WEFT:-build/weft}")

# A sweep of 300 points, killed 30 times at random moments by each signal, gives the database of one that never was.
sweep_kills() {
  local signal
  for signal in TERM KILL HUP; do python3 tests/apps/sweep_kill_test.py "$weft" --kills 30 --points 300 --signal "$signal"; done
}

# Commands that write, on a full disk, at a limit of file sizes, into /dev/full, with closed streams and few descriptors.
streams_and_disks() { python3 tests/apps/streams_and_disks_test.py . "$weft"; }

# The same under mpirun, one of the two processes killed.
sweep_kills_mpi() {
  if ! command -v mpirun >/dev/null; then
    echo "no mpirun: left out"
    return
  fi
  python3 tests/apps/sweep_kill_test.py "$weft" --kills 10 --points 300 --mpi mpirun
}

# Two threads against one on this machine, which must be idle: 1.8 times the points a second.
sweep_threads() { python3 tests/bench/sweep_threads.py "$weft" --wanted 1.8; }

# A profile of 200 MB is read at 250 MB/s, and one rank's step runs on 1,024 ranks in a minute.
trace_speed() { python3 tests/bench/trace_speed.py "$weft" --wanted 250; }

# Every reader under libFuzzer and sanitizers, ten minutes each.
fuzz() { tools/fuzz_readers.sh 600; }

# The program itself on mutated inputs of every command, for an hour (or MUTATE_SECONDS) on MUTATE_JOBS processors, other ones each time.
mutate() {
  local seed=${SEED:-$RANDOM}
  echo "seed $seed"
  python3 tests/fuzz/mutate_inputs.py . "$weft" --seconds "${MUTATE_SECONDS:-3600}" --jobs "${MUTATE_JOBS:-1}" --seed "$seed"
}

# Properties that hold between runs (docs/invariants.md): the whole sample, then all pairs of values. Two hours on two processors.
invariants() {
  python3 tests/invariants/invariants_test.py . "$weft" --work build/invariants
  python3 tests/invariants/invariants_test.py . "$weft" --all --work build/invariants
}

# Folding and skipping against runs of every rank and every iteration: all steps, of which ctest takes a third.
switching() {
  python3 tests/apps/folding_test.py . "$weft"
  python3 tests/apps/skipping_test.py . "$weft"
}

# The notebooks, executed anew in place; what they print must be what is kept, and a picture that changed is told.
notebooks() {
  if ! command -v jupyter-nbconvert >/dev/null; then
    echo "no nbconvert: left out"
    return
  fi
  PYTHONPATH=$(dirname "$weft")/python /usr/bin/python3 tools/notebooks.py
  git diff --stat -- notebooks
  PYTHONPATH=$(dirname "$weft")/python /usr/bin/python3 tools/notebooks.py --check
}

# All studies: ctest leaves out two that take a minute.
studies() { python3 tests/apps/studies_test.py . "$weft"; }

# Four plans of a minute each with their gaps, and three budgets of the largest search.
named_plans() { python3 tools/named_plans.py . "$weft"; }

# 30 shards of random training plans; ctest runs two.
plans() {
  cmake --preset release >/dev/null
  cmake --build --preset release --target test_scenario --parallel "$(nproc)" >/dev/null
  WEFT_PLAN_SHARDS=30 build/release/tests/scenario/test_scenario --gtest_brief=1 --gtest_filter='*TrainingPlansTest.EveryValidPlanRuns*'
}

# The whole suite under address and undefined-behaviour sanitizers, then under the thread sanitizer.
sanitizers() {
  local preset failed=0
  for preset in asan tsan; do
    cmake --preset "$preset" >/dev/null
    cmake --build --preset "$preset" --parallel "$(nproc)" >/dev/null
    ctest --preset "$preset" --parallel "$(nproc)" --quiet --output-log "build/long_checks/$preset.log" || failed=1
    echo "$preset: $(grep 'tests passed' "build/long_checks/$preset.log"), $SECONDS s"
    grep -E '^[[:space:]]+[0-9]+ - .*\(' "build/long_checks/$preset.log" || true
  done
  return "$failed"
}

sections=(sweep_kills sweep_kills_mpi streams_and_disks sweep_threads trace_speed fuzz mutate invariants switching notebooks studies plans named_plans sanitizers)
chosen=("$@")
((${#chosen[@]})) || chosen=("${sections[@]}")
for section in "${chosen[@]}"; do
  if [[ " ${sections[*]} " != *" $section "* ]]; then
    echo "long_checks: no section '$section'; there are: ${sections[*]}" >&2
    exit 2
  fi
done
mkdir -p build/long_checks
for section in "${chosen[@]}"; do
  {
    echo "== $section"
    SECONDS=0
    "$section"
    echo "   ${SECONDS} s"
  } | tee "build/long_checks/$section.txt"
done
