#!/usr/bin/env bash
# Runs what is done on several threads in one run, small, under the thread sanitizer: windows, parts of a fabric of packets.
# tools/long_checks.sh sanitizers runs the whole suite.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/steps.sh

folder=build/tsan_unit
filter='WindowedRunTest.*:PartedFabricTest.*'
# As in unit_sanitizers.sh.
step "configure" cmake --preset tsan -B "$folder" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1 -w" \
  -DCMAKE_UNITY_BUILD_BATCH_SIZE=40 -DWEFT_BUILD_BENCHMARKS=OFF -DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST
step "build" cmake --build "$folder" --target test_core test_network --parallel "$(nproc)"

export TSAN_OPTIONS="halt_on_error=1:suppressions=$PWD/tests/support/tsan.supp"
failed=0
for program in core network; do
  "$folder/tests/$program/test_$program" --gtest_brief=1 --gtest_filter="$filter" || failed=1
done
total
exit "$failed"
