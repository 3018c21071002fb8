#!/usr/bin/env bash
# Writes configs/profiles/h100_sxm.yaml: its collectives and links fitted to the quick points that weft measure took of two H100, one
# group of parameters after another (calibrate_node.py), then the links' efficiency to all quick points at once, which marks them as
# training rows and states the error of all others. The host's launches are left out: they are that machine's, not the GPU's. It starts
# from the shipped profile and leaves kernels, copies and libraries as they are. Takes five minutes.
#   tools/calibrate_h100.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/weft}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/start.yaml" <<'YAML'
kind: profile
name: h100_sxm
description: H100 SXM, NVLink 4
gpu: H100
parameters:
  network.nvlink4.efficiency: {value: 0.816, source: literature, reference: "models/network §1.1, models/nccl §10 (STAS): ring all-reduce of 8 x H100/H200 367 of 450 GB/s"}
  # Where the fit begins: a start of blocks in LL as in Simple.
  collectives.passes.start_latency: {value: 200 ns, source: assumed}
YAML
awk -f tools/kept_values.awk configs/profiles/h100_sxm.yaml >> "$folder/start.yaml"

measured=validate/measured
tools/calibrate_node.py "$program" $measured/h100x2_quick.jsonl --cluster configs/clusters/h100x2.yaml --profile "$folder/start.yaml" \
  --skip launch --add ll=collectives.passes.start_latency --name h100_sxm -o "$folder/groups.yaml"
"$program" calibrate --keep-bounds -q $measured/h100x2_quick.jsonl $measured/h100x2_full.jsonl --train quick --cluster configs/clusters/h100x2.yaml \
  --profile "$folder/groups.yaml" --fit network.nvlink4.efficiency --prior 0.3 --id all_quick --name h100_sxm -o "$folder/last.yaml"
cp "$folder/last.yaml" configs/profiles/h100_sxm.yaml
