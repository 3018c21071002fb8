#!/usr/bin/env bash
# Writes the gpu.* values of configs/profiles/h200_sxm.yaml: fits them to the kernels in tests/data/h200x4/kernels, which
# weft trace kernels took from the traces of three steps and from micro-benchmarks. Takes a second.
#   tools/calibrate_kernels.sh [PROGRAM] [--date YYYY-MM-DD]
set -euo pipefail
cd "$(dirname "$0")/.."
profile=configs/profiles/h200_sxm.yaml
fitted=$(mktemp)
trap 'rm -f "$fitted"' EXIT
"${1:-build/weft}" calibrate --keep-bounds tests/data/h200x4/kernels/*.jsonl --profile "$profile" -o "$fitted" "${@:2}"
cat "$fitted" >"$profile"
