#!/usr/bin/env bash
# Measures large runs at flow fidelity: CPU time, wall time, peak memory, each beside its target, and whether the simulated time
# is the derived one. Prints a line a run as it ends (Markdown, for docs/performance.md); nothing passes or fails.
#   tools/scale.sh [--quick] [path of weft]      --quick: without those that take minutes
# CPU time (user and system) says more than wall time where a machine is shared.
set -euo pipefail
cd "$(dirname "$0")/.."
quick=false
if [[ ${1:-} == --quick ]]; then
  quick=true
  shift
fi
weft=${1:-build/weft}
pod=configs/clusters/dgx_h100_superpod.yaml
limit=900
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# What, target in seconds, derived simulated time in ms (or -), arguments.
run() {
  local what=$1 target=$2 derived=$3
  shift 3
  local status=0
  /usr/bin/time -o "$folder/time" -f '%U %S %e %M' timeout "$limit" "$weft" "$@" --quiet >"$folder/out" 2>"$folder/err" || status=$?
  if [[ $status -ne 0 ]]; then
    printf '| %s | %s | stopped: %s | | | |\n' "$what" "$target" "$([[ $status -eq 124 ]] && echo "over $limit s" || tail -n 1 "$folder/err")"
    return
  fi
  local simulated
  simulated=$(sed -nE 's/.*makespan .*\(([0-9.]+) us\).*/\1/p; s/.*makespan ([0-9.]+) s.*/\1e6/p' "$folder/out" | head -n 1)
  [[ -n $simulated ]] || simulated=$(awk '/^ +[0-9]/ {print $6; exit}' "$folder/out")
  tail -n 1 "$folder/time" | awk -v what="$what" -v target="$target" -v derived="$derived" -v simulated="$simulated" '{
    error = derived == "-" ? "" : sprintf(" (%+.2f %%)", 100 * (simulated / 1e3 / derived - 1))
    printf "| %s | %s | %.2f | %.2f | %.0f | %.2f ms%s |\n", what, target, $1 + $2, $3, $4 / 1024, simulated / 1e3, error
  }'
}

printf '| run | target | CPU s | wall s | peak MiB | simulated (from the derived) |\n|---|---|---|---|---|---|\n'
run "W3 128, chunk grain" "0.02 s" 43.63 run configs/bench/w3_128.yaml
run "W3 1,024, chunk grain (2.1 million messages)" "0.8 s" 51.09 run configs/bench/w3_1024.yaml
run "W3 8,192, fluid" "5 s" 108.47 run configs/bench/w3_8192.yaml --grain fluid
run "W3 65,536, fluid" "60 s, 8 GB" 567.23 run configs/bench/w3_8192.yaml --grain fluid --set cluster.nodes=8192 --set cluster.fabric.spine_ports=4096
run "W4 128" "0.08 s" 2.404 run configs/bench/w4_128.yaml
run "W4 512" "1.2 s" 10.084 run configs/bench/w4_512.yaml
run "all_reduce on h200x4, 8 B to 4 GiB" "0.2 s" - collective all_reduce --cluster configs/clusters/h200x4.yaml -b 8 -e 4G -f 2
run "ring all_reduce of NCCL, 8,192 GPUs, 16 channels, fluid" "-" - collective all_reduce --cluster $pod --set nodes=1024 -b 1G -e 1G --channels 16 --grain fluid
run "Llama-3 405B on 16,384 H100, folded" "5 s" - run configs/scenarios/training/llama3_405b_16k.yaml
run "the same on 512 H100 (data 4), folded" "-" - run configs/scenarios/training/llama3_405b_16k.yaml --set overrides.nodes=64 --set workload.parallelism.data=4 --set workload.batch.global=64 --set workload.parallelism.recompute=full
run "the same on 512 H100 (data 4), not folded" "-" - run configs/scenarios/training/llama3_405b_16k.yaml --set overrides.nodes=64 --set workload.parallelism.data=4 --set workload.batch.global=64 --set workload.parallelism.recompute=full --set simulation.fold=false
if ! $quick; then
  run "W4 2,048" "60 s" 40.804 run configs/bench/w4_2048.yaml
  run "Llama-3 405B on 16,384 H100, not folded" "60 s" - run configs/scenarios/training/llama3_405b_16k.yaml --set simulation.fold=false
  run "MoE of 2 x 10^12 parameters on 100,352 H100, folded" "120 s, 16 GB" - run configs/scenarios/training/moe_2t_100k.yaml
fi
