#!/usr/bin/env bash
# Speed of packet fidelity on the benchmark scenarios W1 and W2: completion time, packet hops (every link crossing of every data
# and control packet), hops a second of wall clock and of the process's own CPU time (on a machine that others use the first says
# little), peak memory less that of `weft --version`; whether every flow of the shift ends when the wire says; the memory of an
# idle port, as the difference of two trees without traffic; with --instructions, instructions and level-1 data misses a hop under
# callgrind, start and end of the process included, on flows a 64th as long.
#   tools/packet_speed.sh [--instructions] [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/.."
instructions=no
if [ "${1:-}" = --instructions ]; then instructions=yes; shift; fi
program=${1:-build/weft}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/figures.py" <<'PY'
"""One row: figures.py PROGRAM SCENARIO"""
import json
import os
import resource
import subprocess
import sys
import tempfile

program, scenario = sys.argv[1:]


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peak_bytes(command):
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        process = subprocess.Popen(command, stdout=nothing)
        _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return used.ru_maxrss * 1024


bare = peak_bytes([program, "--version"])
before = cpu_seconds()
with tempfile.NamedTemporaryFile(suffix=".json") as file:
    peak = peak_bytes([program, "run", scenario, "--quiet", "--json", file.name])
    result = json.load(open(file.name, encoding="utf-8"))
cpu = cpu_seconds() - before
hops, wall, makespan_us = result["packet_hops"], result["wall_s"], result["makespan_ns"] / 1e3
name = os.path.basename(scenario).removesuffix(".yaml")
print(
    f"{name:16}{makespan_us:10.1f} us {hops / 1e6:8.2f} M hops {hops / wall / 1e6:6.2f} M/s {hops / cpu / 1e6:6.2f} M/s of CPU"
    f" {wall:7.2f} s {(peak - bare) / 2**20:7.1f} MiB"
)
if name == "w1_k8_shift":
    # 8192 packets of 4096 + 82 B at 400 Gb/s; the last one is stored at five switches, and six links take 1 us each.
    wire_us = 8192 * 4178 * 8 / 400e3
    expected = wire_us + 5 * 4178 * 8 / 400e3 + 6
    print(f"{'':16}{expected:10.1f} us by hand; off by {makespan_us / expected - 1:+.4%}")
PY

for name in w1_k8 w1_k8_ecmp w1_k8_shift w1_k16 w1_k16_ecmp w2_incast w2_incast_ecmp; do
  python3 "$folder/figures.py" "$program" "configs/bench/$name.yaml"
done

idle() { # idle K: peak memory in bytes of one packet's run
  sed 's/^workload:.*/workload: {flows: [{from: h0, to: h1, bytes: 4 KiB}]}/' "configs/bench/w1_k$1.yaml" > "$folder/idle.yaml"
  "$program" run "$folder/idle.yaml" --quiet --json "$folder/result.json" > /dev/null
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["peak_memory_bytes"])' "$folder/result.json"
}
echo "memory per idle port: $((($(idle 16) - $(idle 8)) / (320 * 16 - 80 * 8))) bytes"

if [ "$instructions" = no ]; then exit 0; fi
for name in w1_k8 w1_k16 w1_k8_shift; do
  matrix=$(sed -n 's/.*flows_file: \([^}]*\)}.*/\1/p' "configs/bench/$name.yaml")
  awk '/^[0-9]/ {print $1, $2, $3 / 64}' "configs/bench/$matrix" > "$folder/$matrix"
  cp "configs/bench/$name.yaml" "$folder/"
  valgrind --tool=callgrind --cache-sim=yes --callgrind-out-file=/dev/null "$program" run "$folder/$name.yaml" --quiet \
    --json "$folder/result.json" > /dev/null 2> "$folder/counts"
  hops=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["packet_hops"])' "$folder/result.json")
  awk -v hops="$hops" -v name="$name" '
    / Collected : / {instructions = $4}
    /D1  misses:/ {gsub(",", "", $4); misses = $4}
    END {printf "%-16s %6.0f instructions a hop, %5.1f level-1 data misses\n", name, instructions / hops, misses / hops}' "$folder/counts"
done
