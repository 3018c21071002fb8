#!/usr/bin/env bash
# Runs the unit test programs under address and undefined-behaviour sanitizers. tools/long_checks.sh sanitizers runs the whole suite.
#
#   tools/unit_sanitizers.sh                 all programs
#   tools/unit_sanitizers.sh test_core ...   those named
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/steps.sh

folder=build/asan_unit
programs=("$@")
targets=("${programs[@]}")
((${#targets[@]})) || targets=(unit_tests)
# Tests of more than 0.3 s elsewhere, which is ten times as long here, but for those of readers: they are in the whole suite.
too_long=(
  'AllAlgorithmsTest.*' 'AxisBytesTest.*' 'CalibrateTest.*' 'CheckFileTest.EveryShippedFilePasses' '*CongestionKnownAnswersTest.*'
  'ExplainTest.EverythingThatIsListedCanBeExplained' 'FairShareTest.AgreesWithBruteForce*' 'FlowFabricTest.ChangesThatReachAll*'
  '*AgreementTest.ThirtyNetworks*' '*GrainTest.*' 'GroupCostsOnHostsTest.*' 'MutationTest.*' 'NodeShapesTest.*'
  '*PlanSearchTest.FindsWhatTheSimulation*' '*ProgramInvariantsTest.*' 'RunAheadTest.RandomPrograms*' 'RunSweepTest.MoreBytes*'
  'ScaleTest.*' '*ShippedHostTest.*' '*SortsAMillionEvents*' 'TrainingMemoryTest.*' '*TrainingPlansTest.EveryValidPlanRuns*'
  'YamlGuardsTest.RefusesOneValueOver4MiB')
filter=-$(IFS=:; echo "${too_long[*]}")

# clang compiles unoptimised code with sanitizers in a third of the time of g++ -O1; large unity files read their headers once. Other
# builds warn.
compiler=$(command -v clang++-19 || command -v c++)
step "configure" cmake --preset asan -B "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -g1 -w" \
  -DCMAKE_UNITY_BUILD_BATCH_SIZE=40 -DWEFT_BUILD_BENCHMARKS=OFF
step "build" cmake --build "$folder" --target "${targets[@]}" --parallel "$(nproc)"

# One program at a time, its tests dealt out to as many processes as there are processors.
run_tests() {
  local program=$1 count shard failed=0 jobs=()
  count=$(nproc)
  for ((shard = 0; shard < count; ++shard)); do
    GTEST_TOTAL_SHARDS=$count GTEST_SHARD_INDEX=$shard UBSAN_OPTIONS=print_stacktrace=1 WEFT_TEST_PATIENCE=15 \
      "$program" --gtest_brief=1 --gtest_filter="$filter" &
    jobs+=($!)
  done
  for shard in "${jobs[@]}"; do wait "$shard" || failed=1; done
  return "$failed"
}

failures=0
mapfile -t built < <(find "$folder/tests" -name 'test_*' -type f -perm -u+x | sort)
for program in "${built[@]}"; do
  name=${program##*/}
  if ((${#programs[@]})) && [[ " ${programs[*]} " != *" $name "* ]]; then continue; fi
  began=$SECONDS
  run_tests "$program" || { failures=$((failures + 1)) && echo "--- $name: failed" >&2; }
  echo "--- $name: $((SECONDS - began)) s"
done
total
exit "$((failures > 0))"
