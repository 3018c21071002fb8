#!/usr/bin/env bash
# Builds everything and runs all tests. Arguments go to ctest: tools/test.sh -L unit, tools/test.sh -R Ring.
# Options for CMake can be given in WEFT_CMAKE_OPTIONS.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/steps.sh

step "packages" tools/install_deps.sh
# shellcheck disable=SC2086  # the options are words
step "configure" cmake --preset release ${WEFT_CMAKE_OPTIONS:-}
targets=(all)
if grep -q '^CMAKE_VERIFY_INTERFACE_HEADER_SETS:[A-Z]*=ON' build/release/CMakeCache.txt; then
  targets+=(all_verify_interface_header_sets)
fi
step "build" cmake --build --preset release --target "${targets[@]}" --parallel "$(nproc)"
if [[ -x build/release/bin/weft ]]; then ln -sfn release/bin/weft build/weft; fi
step "tests" ctest --preset release --parallel "$(nproc)" "$@"
total
