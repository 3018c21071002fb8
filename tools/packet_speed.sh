#!/usr/bin/env bash
# Speed of packet fidelity on the benchmark scenarios W1 and W2: completion time, packet hops (every link crossing of every data
# and control packet), hops a second, peak memory; and the memory of an idle port, as the difference of two trees without traffic.
#   tools/packet_speed.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/weft}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

figure() { # figure FILE: one row
  "$program" run "$1" --quiet --json "$folder/result.json" > "$folder/text"
  python3 - "$(basename "$1" .yaml)" "$folder/result.json" <<'PY'
import json
import sys

result = json.load(open(sys.argv[2], encoding="utf-8"))
hops, wall = result["packet_hops"], result["wall_s"]
print(f"{sys.argv[1]:16}{result['makespan_ns'] / 1e3:10.1f} us {hops / 1e6:8.2f} M hops {hops / wall / 1e6:6.2f} M/s"
      f" {result['events'] / wall / 1e6:6.2f} M events/s {wall:7.2f} s {result['peak_memory_bytes'] / 2**20:7.1f} MiB")
PY
}

for name in w1_k8 w1_k8_ecmp w1_k8_shift w1_k16 w1_k16_ecmp w2_incast w2_incast_ecmp; do figure "configs/bench/$name.yaml"; done

idle() { # idle K: peak memory in bytes of one packet's run
  sed 's/^workload:.*/workload: {flows: [{from: h0, to: h1, bytes: 4 KiB}]}/' "configs/bench/w1_k$1.yaml" > "$folder/idle.yaml"
  "$program" run "$folder/idle.yaml" --quiet --json "$folder/result.json" > /dev/null
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["peak_memory_bytes"])' "$folder/result.json"
}
echo "memory per idle port: $((($(idle 16) - $(idle 8)) / (320 * 16 - 80 * 8))) bytes"
