#!/usr/bin/env bash
# Writes configs/profiles/h100_sxm.yaml: its collectives and links fitted to the quick points that weft measure took of two H100, one
# group of parameters after another (calibrate_node.py), then the links' efficiency to all quick points at once, which marks them as
# training rows and states the error of all others, and last GEMMs, memory-bound kernels and copies to their quick points. The host's
# launches are left out: they are that machine's, not the GPU's. What attention takes, clocks and contention stay literature. Takes
# five minutes. Values that public tables gave (validate/kernels/fit.py) are where it starts from.
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
  # The SMs and clocks of H200, with less memory bandwidth.
  gpu.attention.forward_efficiency: {value: 0.64, source: fitted, gpu: H200, reference: "models/training_steps §3"}
  gpu.attention.backward_efficiency: {value: 0.6, source: fitted, gpu: H200, reference: "models/training_steps §3"}
  gpu.memory.contiguous_efficiency: {value: 0.9, source: fitted, gpu: H200, reference: "models/training_steps §3: 3.9 to 4.4 of 4.8 TB/s"}
  gpu.clock.free_share: {value: 0.48, source: fitted, gpu: H200, reference: "models/training_steps §7"}
  gpu.clock.load_slope: {value: 0.33, source: fitted, gpu: H200, reference: "models/training_steps §7"}
  gpu.clock.overlap_slope: {value: 0.23, source: fitted, gpu: H200, reference: "models/training_steps §7"}
  gpu.contention.block_memory_share: {value: 0.85, source: measured, reference: "2 x H100: rings in Simple with 8 to 24 thread blocks beside PyTorch's copies of 1 GiB, 0.76 to 0.85 (validate/measured/h100x2_beside_kernels.json); beside those of weft measure 0.9 (an all-gather of 1 GiB in h100x2_full.jsonl)"}
YAML
awk -f tools/table_values.awk configs/profiles/h100_sxm.yaml >> "$folder/start.yaml"

measured=validate/measured
tools/calibrate_node.py "$program" $measured/h100x2_quick.jsonl --cluster configs/clusters/h100x2.yaml --profile "$folder/start.yaml" \
  --skip launch --name h100_sxm -o "$folder/groups.yaml"
"$program" calibrate -q $measured/h100x2_quick.jsonl $measured/h100x2_full.jsonl --train quick --cluster configs/clusters/h100x2.yaml \
  --profile "$folder/groups.yaml" --fit network.nvlink4.efficiency --prior 0.3 --id all_quick --name h100_sxm -o "$folder/last.yaml"
"$program" calibrate -q $measured/h100x2_quick.jsonl --train quick --cluster configs/clusters/h100x2.yaml --profile "$folder/last.yaml" \
  --name h100_sxm -o configs/profiles/h100_sxm.yaml
