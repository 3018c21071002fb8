#!/usr/bin/env bash
# Writes configs/profiles/h200_sxm.yaml: fits the profile of the 4 x H200 node, one group of parameters after another, to six of
# the logs in tests/data/h200x4. The other logs there are for `weft validate`. Of the sizes of all-reduce over four GPUs from 64 MiB
# up, two of seven are fitted to (128 MiB and 1 GiB). It starts from the shipped profile and leaves kernels (calibrate_kernels.sh),
# libraries and LL128 as they are: calls of a log walk through memory, which does not tell LL128's rate from what memory adds. Fitted
# to these logs again it came out 7 % slower, and h200x4_full from 4 MiB up 2.1 % off in place of 1.6. Takes three minutes on two cores.
#   tools/calibrate_h200.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/weft}
data=tests/data/h200x4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/start.yaml" <<'YAML'
kind: profile
name: h200_sxm
description: H200 SXM (NVLink 4 through NVSwitch)
gpu: H200
parameters:
  network.host_memory.read: {value: 170.8 GB/s, source: measured, reference: "4 x H200, one CPU of a virtual machine: copies of 256 MiB to four GPUs at once (validate/measured/h200x4_quick.jsonl)"}
  network.host_memory.write: {value: 130.8 GB/s, source: measured, reference: "the same from four GPUs at once"}
  network.nvlink4.efficiency: {value: 0.84, source: assumed}
YAML
awk -v also=ll128 -f tools/kept_values.awk configs/profiles/h200_sxm.yaml >> "$folder/start.yaml"

# fit PROFILE ID KEYS SIZES LOGS...: from the profile so far to the profile so far. Keys are those of collectives.*, unless they
# begin with a dot. --prior: these logs leave some splits open (base against hop), which then stay near where they were.
fit() {
  local profile=$folder/$1.yaml id=$2 keys=$3 sizes=$4 paths=() logs=()
  for key in $keys; do
    if [[ $key == .* ]]; then paths+=("${key#.}"); else paths+=("collectives.$key"); fi
  done
  for log in "${@:5}"; do logs+=("$data/$log.txt"); done
  "$program" calibrate --keep-bounds -q "${logs[@]}" --cluster configs/clusters/h200x4.yaml --profile "$profile" \
    --fit "$(IFS=,; echo "${paths[*]}")" --sizes "$sizes" --prior 0.3 --id "$id" --name h200_sxm -o "$profile.next"
  mv "$profile.next" "$profile"
}

# merge PROFILES...: all of their parameters, fitted values before assumed ones, and all of their other entries, each once.
merge() {
  python3 - "$@" <<'PYTHON'
import sys

parameters, entries = {}, {}  # entries: section -> first line -> lines
for path in sys.argv[1:]:
    section = ""
    for line in open(path, encoding="utf-8").read().splitlines():
        if not line.startswith(" "):
            section = line
        elif section == "parameters:":
            key = line.split(":")[0]
            if key not in parameters or "assumed" in parameters[key]:
                parameters[key] = line
        elif not line.startswith("    "):
            lines = entries.setdefault(section, {})[line] = [line]
        else:
            lines.append(line)
print("kind: profile\nname: h200_sxm\ndescription: H200 SXM (NVLink 4 through NVSwitch)\ngpu: H200\nparameters:")
print("\n".join(parameters[key] for key in sorted(parameters)))
for section, named in entries.items():
    print(section)
    for lines in named.values():
        print("\n".join(lines))
PYTHON
}

# The bases of Simple and LL128 are not fitted: these logs cannot tell them from hops. costs.cpp says where they are from.
# Launches and LL tell little of the costs of Simple and the links, and the other way round. The log that fills the links most
# tells most of them.
cp "$folder/start.yaml" "$folder/ll.yaml"
cp "$folder/start.yaml" "$folder/simple.yaml"
{
  fit ll launch ".device.launch.host_cost .device.launch.channel_cost" 8,64,512,4K,16K,64K,256K,512K \
    all_reduce_4gpu_Ring_LL sendrecv_2gpu
  fit ll ll_rate ll.channel_rate 2M,4M,8M,32M,128M all_reduce_4gpu_Ring_LL
  fit ll ll "ll.base_latency ll.hop_latency ll.step_gap ll.first_pass" \
    8,64,512,4K,16K,64K,128K,256K,512K,1M all_reduce_4gpu_threads all_reduce_2gpu_threads
} &
{
  fit simple simple "simple.hop_latency simple.slice_latency simple.copy_latency simple.block_latency" \
    64,4K,32K,128K,512K,2M all_reduce_4gpu_Ring_Simple all_reduce_2gpu_threads
  fit simple links ".network.nvlink4.efficiency channels.service_spread" 8M,16M,32M,128M,1G all_reduce_4gpu_Ring_Simple
}
wait $!
merge "$folder/ll.yaml" "$folder/simple.yaml" > "$folder/p2p.yaml"
fit p2p p2p "p2p.base_latency p2p.direct_cost p2p.ll_latency" \
  128K,512K,1M,4M,8M,32M,128M,256M,512M,1G sendrecv_2gpu
cp "$folder/p2p.yaml" configs/profiles/h200_sxm.yaml
