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
# Tests of more than two seconds here, but for those of readers: they are in the whole suite.
too_long=(
  '*AgreementTest.*' 'AllAlgorithmsTest.*' '*AllocatesNothing*' 'AxisBytesTest.*' 'CalibrateKernelsTest.*' 'CalibrateTest.*'
  'CheckFileTest.EveryShippedFilePasses' 'ClosedFormTest.AgreesWithTheSteps*' 'CommInfoTest.OurOwnNodes*'
  'CommInfoTest.RingsOfPairs*' '*CongestionKnownAnswersTest.*' 'CopyKindTest.FindsWhatCopiesCost' 'ExecutorTest.AllToAllsPay*'
  'ExplainTest.AParameterShows*' 'ExplainTest.EverythingThatIsListedCanBeExplained' 'ExplainTest.ShippedProfiles*'
  'FairShareTest.AgreesWithBruteForce*' 'FairShareTest.FlowsOverOnePath*' 'FecnTest.EveryMarkingRate*' 'FecnTest.SmallPackets*'
  'FlowFabricTest.BoundedSolves*' 'FlowFabricTest.ChangesThatReachAll*' 'GoodputTest.TheBestSimulated*' '*GrainTest.*'
  'GroupCostsOnHostsTest.*' 'HpccTest.FixedPoint*' '*HpccTest.K17*' 'InNetworkTest.CollNetDirectSends*' 'InNetworkTest.Nvls*'
  'InNetworkTest.SharpSends*' 'KnownAnswersTest.K22*' 'KnownAnswersTest.K26*' 'LinkFailureTest.Packets*'
  'LosslessTest.*InRandomNetworks' 'MutationTest.*' 'NcclP2pTest.DataEndRightInSeveral*' 'NodeShapesTest.*'
  'OverlapKindTest.PredictsCollectives*' 'PacketKnownAnswersTest.K11*' 'PacketKnownAnswersTest.K4*' 'PatTest.DataEndRight*'
  'PlanBounds.OfLayersThatRepeat*'
  '*PlanSearchTest.FindsWhatTheSimulation*' 'PredictTest.CallsOnTheSameBuffers*' 'PredictTest.IsTheSameEveryTime'
  '*ProgramInvariantsTest.*' 'ReliabilityTest.*UnderRandomLoss' 'ReplayTimelineTest.IsAChromeTrace*'
  'RunAheadTest.RandomPrograms*' 'RunSweepTest.*' '*SampledTest.AndToTheTimeOfAll*' 'ScaleTest.*' '*SearchGoldenTest.*'
  'ServingSearchTest.FindsTheFront*' 'ServingSearchTest.TheBest*'
  'SeveralNicsOf*' '*/SeveralNicsTest.*' '*ShippedHostTest.*' 'SizeTest.*' '*SortsAMillionEvents*' 'StepTimelineTest.CountsWhat*'
  'TrainingJobsRunTest.JobsThatShareNoLink*' 'TrainingMemoryTest.*' '*TrainingPlansTest.EveryValidPlanRuns*' '*VictimTest.*'
  'YamlGuardsTest.RefusesOneValueOver4MiB')
filter=-$(IFS=:; echo "${too_long[*]}")

# clang compiles unoptimised code with sanitizers in a third of the time of g++ -O1; large unity files read their headers once. Other
# builds warn, and ctest asks for the tests only where it runs them.
compiler=$(command -v clang++-19 || command -v c++)
step "configure" cmake --preset asan -B "$folder" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -g1 -w" \
  -DCMAKE_UNITY_BUILD_BATCH_SIZE=40 -DWEFT_BUILD_BENCHMARKS=OFF -DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST
step "build" cmake --build "$folder" --target "${targets[@]}" --parallel "$(nproc)"

# The tests of a program are dealt out to two processes, and as many processes run as there are processors.
shards=2
run_shard() {
  local program=${1%:*} shard=${1##*:} began=$SECONDS status=0
  export GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard UBSAN_OPTIONS=print_stacktrace=1 WEFT_TEST_PATIENCE=15
  "$program" --gtest_brief=1 --gtest_filter="$filter" >"$program.$shard.log" 2>&1 || status=1
  cat "$program.$shard.log"
  echo "--- ${program##*/}, part $((shard + 1)) of $shards: $( ((status)) && echo "failed, ")$((SECONDS - began)) s"
  return "$status"
}
export -f run_shard
export filter shards

jobs=()
mapfile -t built < <(find "$folder/tests" -name 'test_*' -type f -perm -u+x | sort)
for program in "${built[@]}"; do
  if ((${#programs[@]})) && [[ " ${programs[*]} " != *" ${program##*/} "* ]]; then continue; fi
  for ((shard = 0; shard < shards; ++shard)); do jobs+=("$program:$shard"); done
done
failed=0
printf '%s\n' "${jobs[@]}" | xargs -P "$(nproc)" -I{} bash -c 'run_shard {}' || failed=1
total
exit "$failed"
