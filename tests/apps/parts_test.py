#!/usr/bin/env python3
"""A fabric of packets in parts on several threads (docs/packet_fidelity.md, `partitions`): all results are the same on any number of
threads and of processes, and agree with those of one part. A run that parts cannot do is done in one part, with that one's digest.

    parts_test.py [--threads 1,2,4] [--mpi MPIRUN] ROOT WEFT
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import open_mpi
import patience

FAT_TREE = "nodes: 16, fabric: {type: fat_tree, k: 4"
LEAVES = "nodes: 16, fabric: {type: leaf_spine, leaf_ports: 6, spines: 2"
DRAGONFLY = "nodes: 72, fabric: {type: dragonfly, p: 2"
LINK = "link: {type: ethernet, rate: 100 Gb/s, latency: 600 ns, mtu: 4096 B}"
PFC = "pfc: {xoff: 60 kB, xon: 56 kB}"
SPREAD = "{pattern: permutation, bytes: 300 kB}, {pattern: shift, by: 5, bytes: 200 kB, starts_within: 20 us}"
CROWD = SPREAD + ", {pattern: incast, to: h3, among: h0..9, bytes: 100 kB}"

# name, fabric, the rest of it, traffic, how far the mean completion may be from that of one part. Packets of one path meet in another order
# only where they come at one instant. Where each packet draws its path, the draws differ.
CASES = [
    ("spray, PFC", FAT_TREE, f"routing: spray, {PFC}, transport: {{acks: packets, reliability: none}}", SPREAD, 0.05),
    ("ECMP, go-back-N", FAT_TREE, f"routing: ecmp, {PFC}, transport: {{acks: packets}}", SPREAD, 0.03),
    ("bare packets", FAT_TREE, f"routing: ecmp, {PFC}", CROWD, 0.03),
    ("adaptive", FAT_TREE, f"routing: adaptive, {PFC}, transport: {{acks: packets, reliability: none}}", CROWD, 0.05),
    ("DCQCN", FAT_TREE, f"routing: ecmp, {PFC}, ecn: {{kmin: 20 kB, kmax: 80 kB, pmax: 20 %}}, transport: {{acks: free, "
     "congestion_control: dcqcn}", CROWD, 0.1),
    ("HPCC", LEAVES, f"routing: ecmp, {PFC}, transport: {{congestion_control: hpcc}}", CROWD, 0.1),
    ("credits", FAT_TREE, "routing: ecmp, credits: {enabled: true}", CROWD, 0.03),
    ("losses that are repaired", LEAVES, "routing: ecmp, switch: {buffer: 200 kB}, transport: {acks: packets, nak_interval: 20 us, timeout: 200 us}",
     CROWD, 0.3),
    ("leaf and spine, free ACKs", LEAVES, f"routing: ecmp, {PFC}, transport: {{acks: free, window: 60 kB}}", CROWD, 0.03),
    ("dragonfly", DRAGONFLY, "routing: ecmp, transport: {acks: packets}", SPREAD, 0.03),
    ("Ultra Ethernet that trims", FAT_TREE, "switch: {queue_limit: 40 kB, trimming: true}, transport: {type: uec}", CROWD, 0.1),
    ("Ultra Ethernet's credits", FAT_TREE, "switch: {queue_limit: 40 kB, trimming: true}, transport: {type: uec, congestion_control: rccc}",
     CROWD, 0.1),
    ("Ultra Ethernet in order", LEAVES, "switch: {queue_limit: 60 kB, trimming: true}, ecn: {kmin: 15 kB, kmax: 45 kB, pmax: 100 %}, "
     "transport: {type: uec, delivery_mode: rod}", CROWD, 0.3),
    ("dragonfly, Valiant", DRAGONFLY, "routing: valiant, transport: {acks: packets, reliability: none}", SPREAD, 0.05),
]
FALLS_BACK = [
    ("losses for good", LEAVES, "routing: ecmp, switch: {buffer: 60 kB}", CROWD),
    ("pauses that wait for one another", DRAGONFLY, f"routing: ecmp, {PFC}, transport: {{acks: packets}}", SPREAD),
]


def scenario(folder, fabric, rest, traffic):
    nodes, shape = fabric.split(", ", 1)
    path = folder / "parts.yaml"
    path.write_text(f"cluster:\n  {nodes}\n  node: {{type: host}}\n  {shape}, {LINK}, {rest}}}\n"
                    f"workload: {{traffic: [{traffic}]}}\nsimulation: {{fidelity: packet, seed: 7}}\n", encoding="utf-8")
    return path


class Runs:
    def __init__(self, weft, mpirun):
        self.weft = weft
        self.mpirun = mpirun
        self.failures = []

    def run(self, path, partitions, threads, processes=1):
        """The result without what tells of the machine, and the number of parts that it ran in."""
        written = path.with_name("result.json")
        command = [self.weft, "run", str(path), "--set", f"simulation.partitions={partitions}", "-j", str(threads), "--quiet",
                   "--json", str(written)]
        written.unlink(missing_ok=True)
        if processes > 1:
            self.launch([self.mpirun, "--oversubscribe", "-np", str(processes), *command], written)
        else:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode not in (0, 1):  # 1: flows were aborted
                sys.exit(f"{' '.join(command)}\n{done.stderr}{done.stdout}")
        result = json.loads(written.read_text(encoding="utf-8"))
        parts = result["parts"]
        for name in ("wall_s", "peak_memory_bytes", "command", "command_line", "date", "configuration", "parts"):
            result.pop(name, None)
        return result, parts

    def launch(self, command, written):
        """Open MPI may hang or make a status of its own where one process ends with 1, so the file tells; up to three tries."""
        for _ in range(3):
            launcher = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                        env=open_mpi.environment())
            try:
                open_mpi.wait(launcher, patience.seconds(60))
            except subprocess.TimeoutExpired:
                os.killpg(launcher.pid, signal.SIGKILL)
                launcher.wait()
                print(f"no end within a minute: {' '.join(command)}", flush=True)
            if written.exists():
                return
        sys.exit(f"no result: {' '.join(command)}")

    def expect(self, true, text):
        if not true:
            self.failures.append(text)


def mean_fct(result):
    times = [flow["fct_ns"] for flow in result["flows"]]
    return sum(times) / len(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", default="1,2,3,4,8,16")
    parser.add_argument("--mpi")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("root")
    parser.add_argument("weft")
    arguments = parser.parse_args()
    threads = [int(number) for number in arguments.threads.split(",")]
    runs = Runs(arguments.weft, arguments.mpi)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case, fabric, rest, traffic, tolerance in CASES:
            path = scenario(folder, fabric, rest, traffic)
            one, parts_of_one = runs.run(path, 1, 1)
            runs.expect(parts_of_one == 1, f"{case}: one part was asked for, {parts_of_one} were used")
            first, parts = runs.run(path, 64, threads[0])
            runs.expect(parts > 1, f"{case}: it did not run in parts")
            for number in threads[1:]:
                runs.expect(runs.run(path, 64, number)[0] == first, f"{case}: -j {number} has another result than -j {threads[0]}")
            for processes in (2, 3) if arguments.mpi else ():
                runs.expect(runs.run(path, 64, 1, processes)[0] == first, f"{case}: {processes} processes have another result than one")
            off = abs(mean_fct(first) / mean_fct(one) - 1)
            runs.expect(off <= tolerance, f"{case}: the mean completion is {100 * off:.2f} % from that of one part")
            runs.expect([flow["bytes"] for flow in first["flows"]] == [flow["bytes"] for flow in one["flows"]], f"{case}: other bytes")
            if arguments.show:
                same = sum(a["fct_ns"] == b["fct_ns"] for a, b in zip(first["flows"], one["flows"]))
                print(f"{case}: {parts} parts, mean {100 * off:.3f} % off, {same} of {len(one['flows'])} completions equal, hops "
                      f"{first['packet_hops']} and {one['packet_hops']}")
        for case, fabric, rest, traffic in FALLS_BACK:
            path = scenario(folder, fabric, rest, traffic)
            one, _ = runs.run(path, 1, 1)
            again, parts = runs.run(path, 64, 2)
            runs.expect(parts == 1, f"{case}: it ran in {parts} parts")
            runs.expect(one == again, f"{case}: another result than in one part")
            if arguments.mpi:
                together, _ = runs.run(path, 64, 1, 2)
                note = [warning for warning in together["warnings"] if "one of the processes did it all" in warning]
                runs.expect(len(note) == 1, f"{case}: it is not said that one process did it all")
                together["warnings"].remove(note[0])
                runs.expect(one == together, f"{case}: two processes have another result than one part")
    for failure in runs.failures:
        print(failure)
    return 1 if runs.failures else 0


if __name__ == "__main__":
    sys.exit(main())
