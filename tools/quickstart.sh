#!/usr/bin/env bash
# From a clone to the first result: installs the packages, builds the program, prints an all-reduce table.
# Options for CMake can be given in WEFT_CMAKE_OPTIONS.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/steps.sh

step "packages" tools/install_deps.sh
# shellcheck disable=SC2086  # the options are words
step "configure" cmake --preset release ${WEFT_CMAKE_OPTIONS:-}
step "build" cmake --build --preset release --target weft --parallel "$(nproc)"
ln -sfn release/bin/weft build/weft  # README and examples say build/weft
echo
step "first run" build/weft collective all_reduce --cluster configs/clusters/h200x4.yaml -b 8 -e 4G -f 2
echo
total
