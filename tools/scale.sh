#!/usr/bin/env bash
# What large runs cost: wall time, peak memory, events. Prints one line a run; nothing passes or fails.
#   tools/scale.sh [path of weft]
set -euo pipefail
cd "$(dirname "$0")/.."
weft=${1:-build/weft}
pod=configs/clusters/dgx_h100_superpod.yaml

run() {
  local what=$1
  shift
  local out
  out=$("$weft" "$@" --quiet)
  printf '%s\n' "$what"
  grep -E '^ +[0-9]+ ' <<<"$out" | head -n 1 | awk '{printf "  %s B: %s us, %s GB/s bus bandwidth\n", $1, $6, $8}'
  grep -oE 'events .*' <<<"$out" | sed 's/^/  /'
}

one=(collective all_reduce --cluster "$pod" -b 1G -e 1G)
run "ring all_reduce, 1,024 GPUs, 16 channels, fluid grain" "${one[@]}" --set nodes=128 --channels 16 --grain fluid
run "plain ring, 1,024 GPUs, 1 channel, fluid grain" "${one[@]}" --set nodes=128 --algo plain_ring --grain fluid
run "plain ring, 1,024 GPUs, 1 channel, chunk grain" "${one[@]}" --set nodes=128 --algo plain_ring --grain chunk
run "ring all_reduce, 8,192 GPUs, 16 channels, fluid grain" "${one[@]}" --set nodes=1024 --channels 16 --grain fluid
run "alltoall, 256 GPUs, 1 MiB per pair (65,280 flows)" collective alltoall --cluster "$pod" -b 256M -e 256M --grain fluid
