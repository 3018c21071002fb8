"""Ultra Ethernet in Weft beside htsim, the simulator of the Ultra Ethernet Consortium: completion times and CPU times of both.

    tools/bench.py --htsim .../datacenter/htsim_uec [--weft BINARY] [--turns 3] [--case incast W1_k8]

Both get the same flows, tree, packets (4096 B of payload, 64 B of header), queues (one bandwidth-delay product), marks (0.2 to 0.8 of
it), initial windows (1.5 of it), 64 entropy values with the bitmap of congested ones, and an acknowledgement a packet. They run in turns.

htsim ends a flow at its sender, when the last acknowledgement is there, and Weft when the last byte has arrived. So Weft's flows get the
way back of one acknowledgement here: 1 us and 64 B a cable. CPU is user time of the whole process.
"""
import json
import math
import os
import pathlib
import re
import resource
import statistics
import subprocess
import tempfile

BENCH = pathlib.Path(__file__).resolve().parent.parent / "configs/bench"
RATE = 400e9
PAYLOAD, HEADER, ACK = 4096, 64, 64
CABLE_US = 1.0


def matrix(name, size=None):
    lines = (BENCH / name).read_text(encoding="utf-8").splitlines()
    flows = [tuple(map(int, line.split()[:3])) for line in lines if line.strip() and not line.startswith("#")]
    return [(source, to, size or bytes_) for source, to, bytes_ in flows]


def alltoall(hosts, size):
    return [(source, to, size) for source in range(hosts) for to in range(hosts) if source != to]


# Tiers and k of the tree, and its flows. A k-ary tree has k^3/4 hosts with three tiers, k^2/2 with two.
CASES = {
    "incast": (3, 8, lambda: matrix("incast32_1M.txt")),
    "alltoall": (3, 4, lambda: alltoall(16, 1 << 18)),
    "permutation": (3, 8, lambda: matrix("perm128_32M.txt", 1 << 22)),
    "two_tiers": (2, 16, lambda: matrix("perm128_32M.txt", 1 << 22)),
    "slow_spine": (2, 16, lambda: matrix("perm128_32M.txt", 1 << 22)),
    "W1_k8": (3, 8, lambda: matrix("perm128_32M.txt")),
    "W1_k16": (3, 16, lambda: matrix("perm1024_4M.txt")),
}
DEFAULT_CASES = ["incast", "alltoall", "permutation", "two_tiers", "slow_spine"]


def cables(tiers, k, source, to):
    if source // (k // 2) == to // (k // 2):
        return 2
    return 4 if tiers == 2 or source // (k * k // 4) == to // (k * k // 4) else 6


def bdp_packets(tiers):
    """As htsim sizes its queues: of the longest path, a data packet and an acknowledgement on each of its cables."""
    round_trip = 2 * tiers * (2 * CABLE_US * 1e-6 + (PAYLOAD + HEADER + ACK) * 8 / RATE)
    return math.ceil(round_trip * RATE / 8 / (PAYLOAD + HEADER))


def timed(command, folder):
    """(standard output, user seconds); htsim leaves files where it runs"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


class Comparison:
    """One case, written for both programs."""

    def __init__(self, case, options, folder):
        self.tiers, self.k, flows = CASES[case]
        self.flows = flows()
        self.hosts = self.k**3 // 4 if self.tiers == 3 else self.k**2 // 2
        self.slow = case == "slow_spine"
        self.options = options
        self.folder = pathlib.Path(folder)
        self.matrix = self.folder / f"{case}.cm"
        lines = [f"{source}->{to} id {i} start 0 size {size}" for i, (source, to, size) in enumerate(self.flows, 1)]
        self.matrix.write_text("\n".join([f"Nodes {self.hosts}", f"Connections {len(lines)}", *lines, ""]), encoding="utf-8")
        packet, packets = PAYLOAD + HEADER, bdp_packets(self.tiers)
        fabric = {
            **self.shape(),
            "switch": {"latency": "0 ns", "forwarding": "store_and_forward", "queue_limit": f"{packets * packet} B", "trimming": True},
            "ecn": {"kmin": f"{math.ceil(0.2 * packets) * packet} B", "kmax": f"{math.ceil(0.8 * packets) * packet} B", "pmax": "100 %"},
            "transport": {"type": "uec"},
        }
        if self.slow:  # htsim's own rule: the slow cable's queues and marks are those of its rate. A leaf's other end keeps its switch's.
            fabric["switches"] = [{"names": ["spine0"], "queue_limit": f"{packets * packet // 4} B", "trimming": True,
                                   "ecn": {"kmin": f"{math.ceil(0.2 * packets) * packet // 4} B",
                                           "kmax": f"{math.ceil(0.8 * packets) * packet // 4} B", "pmax": "100 %"}}]
        scenario = {
            "cluster": {"nodes": self.hosts, "node": {"type": "host"}, "fabric": fabric},
            "workload": {"flows_file": str(self.matrix)}, "simulation": {"fidelity": "packet", "seed": 1},
        }
        self.scenario = self.folder / f"{case}.yaml"
        self.scenario.write_text(json.dumps(scenario), encoding="utf-8")  # JSON is YAML

    def shape(self):
        def link(rate):
            return {"type": "ethernet", "rate": rate, "latency": "1 us", "mtu": f"{PAYLOAD} B", "header": f"{HEADER} B"}

        if self.tiers == 3:
            return {"type": "fat_tree", "k": self.k, "link": link("400 Gb/s")}
        leaves, spines = f"leaf0..{self.k - 1}", f"spine1..{self.k // 2 - 1}"
        between = [([f"h0..{self.hosts - 1}", leaves], "400 Gb/s"), ([leaves, "spine0"], "100 Gb/s" if self.slow else "400 Gb/s"),
                   ([leaves, spines], "400 Gb/s")]
        links = [{"between": pair, **link(rate)} for pair, rate in between]
        links[0]["pairing"] = "block"
        return {"type": "custom", "devices": [{"name": name, "kind": "switch", "latency": "0 ns"} for name in (leaves, "spine0", spines)],
                "links": links}

    def weft(self):
        """Ends of the flows in us, and user seconds."""
        result = self.folder / "result.json"
        _, cpu = timed([self.options.weft.resolve(), "run", self.scenario, "--quiet", "--json", result], self.folder)
        ends = [flow["end_ns"] / 1e3 for flow in json.loads(result.read_text(encoding="utf-8"))["flows"]]
        way_back = CABLE_US + ACK * 8 / RATE * 1e6
        return [end + way_back * cables(self.tiers, self.k, source, to) for end, (source, to, _) in zip(ends, self.flows)], cpu

    def htsim(self):
        tree = ["-tiers", f"{self.tiers}", *(["-failed", "1"] if self.slow else [])]
        text, cpu = timed([self.options.htsim.resolve(), "-o", "log", "-tm", self.matrix, "-linkspeed", f"{RATE / 1e6:.0f}",
                           "-mtu", f"{PAYLOAD + HEADER}", "-load_balancing_algo", "bitmap", "-sack_threshold", "1", "-end", "100000", *tree], self.folder)
        ends = [float(end) for end in re.findall(r" finished at ([0-9.e+]+)", text)]
        if len(ends) != len(self.flows):
            raise SystemExit(f"htsim ended {len(ends)} of {len(self.flows)} flows")
        return ends, cpu


def bench_htsim(options):
    print(f"{'case':<13}{'flows':>6}{'last flow (us)':>24}{'':>9}{'mean flow (us)':>24}{'':>9}{'CPU (s)':>20}")
    print(f"{'':<19}{'Weft':>12}{'htsim':>12}{'Weft/':>9}{'Weft':>12}{'htsim':>12}{'Weft/':>9}{'Weft':>10}{'htsim':>10}{'htsim/Weft':>12}")
    for case in options.case or DEFAULT_CASES:
        with tempfile.TemporaryDirectory() as folder:
            both = Comparison(case, options, folder)
            turns = [(both.weft(), both.htsim()) for _ in range(options.turns)]
        (ours, _), (theirs, _) = turns[0]
        cpu = [statistics.median(turn[i][1] for turn in turns) for i in (0, 1)]
        row = f"{case:<13}{len(ours):6}"
        for of in (max, statistics.mean):
            row += f"{of(ours):12.1f}{of(theirs):12.1f}{of(ours) / of(theirs) - 1:+9.1%}"
        print(f"{row}{cpu[0]:10.2f}{cpu[1]:10.2f}{cpu[1] / cpu[0]:12.1f}", flush=True)
    print(f"{options.turns} turns, median CPU; {os.cpu_count()} processors")
