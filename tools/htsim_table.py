"""Ultra Ethernet in Weft beside htsim, the simulator of the Ultra Ethernet Consortium: completion times and CPU times of both.

    tools/bench.py --htsim .../sim/datacenter/htsim_uec [--weft BINARY] [--turns 3] [--case incast W1_k8]

Both get the same flows, tree, packets (4096 B of payload, 64 B of header), queues (one bandwidth-delay product), marks (0.2 to 0.8 of
it), initial windows (1.5 of it), 64 entropy values with the bitmap of congested ones, and an acknowledgement a packet. They run in turns.

Cases on `_rccc` have credits of the destination (RCCC) in place of NSCC in both, htsim's -receiver_cc_only.

`slow_spine` is htsim's way of a failed link (-failed 1): all cables of one spine have a quarter of their rate, and so do their queues and
marks. htsim cannot route around a cable that is down in a fat tree.

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
GBPS = 400  # of the cases; htsim's own files are of 100
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
# The same with credits of the destination.
CASES |= {f"{case}_rccc": CASES[case] for case in ("incast", "alltoall", "permutation")}
# Files of htsim: the flows, and the tree.
OWN = {
    "own_permutation": ("perm_128n_128c_2MB.cm", "fat_tree_128_1os.topo"),
    "own_4_to_1": ("perm_128n_128c_2MB.cm", "fat_tree_128_4os.topo"),
    "own_incast": ("incast_128.cm", "fat_tree_128_1os.topo"),
    "own_leaf_spine": ("perm_32n_32c_2MB.cm", "leaf_spine_tiny.topo"),
    "own_1024": ("perm_1024n_1024c_0u_2000000b.cm", "fat_tree_1024.topo"),
}
DEFAULT_CASES = ["incast", "incast_rccc", "alltoall", "permutation", "permutation_rccc", "two_tiers", "slow_spine", *list(OWN)[:4]]


def cables(tiers, k, source, to):
    if source // (k // 2) == to // (k // 2):
        return 2
    return 4 if tiers == 2 or source // (k * k // 4) == to // (k * k // 4) else 6


def bdp_packets(tiers, gbps):
    """As htsim sizes its queues: of the longest path, a data packet and an acknowledgement on each of its cables."""
    round_trip = 2 * tiers * (2 * CABLE_US * 1e-6 + (PAYLOAD + HEADER + ACK) * 8 / (gbps * 1e9))
    return math.ceil(round_trip * gbps * 1e9 / 8 / (PAYLOAD + HEADER))


def timed(command, folder):
    """(standard output, user seconds); htsim leaves files where it runs"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


class Comparison:
    """One case, written for both programs."""

    gbps = GBPS

    def __init__(self, case, options, folder):
        self.tiers, self.k, flows = CASES[case]
        self.flows = flows()
        self.hosts = self.k**3 // 4 if self.tiers == 3 else self.k**2 // 2
        self.slow = case == "slow_spine"
        self.credits = case.endswith("_rccc")
        self.options = options
        self.folder = pathlib.Path(folder)
        self.tree = ["-tiers", f"{self.tiers}", *(["-failed", "1"] if self.slow else [])]
        if self.credits:
            self.tree.append("-receiver_cc_only")
        self.matrix = self.folder / f"{case}.cm"
        lines = [f"{source}->{to} id {i} start 0 size {size}" for i, (source, to, size) in enumerate(self.flows, 1)]
        self.matrix.write_text("\n".join([f"Nodes {self.hosts}", f"Connections {len(lines)}", *lines, ""]), encoding="utf-8")
        self.write({"nodes": self.hosts, "node": {"type": "host"}, "fabric": {**self.shape(), **self.packets()}}, {})

    def cables(self, source, to):
        return cables(self.tiers, self.k, source, to)

    def limits(self, part=1):
        packet, packets = PAYLOAD + HEADER, bdp_packets(self.tiers, self.gbps)
        kmin, kmax = (math.ceil(share * packets) * packet // part for share in (0.2, 0.8))
        queue = {"queue_limit": f"{packets * packet // part} B", "trimming": True}
        return queue, {"kmin": f"{kmin} B", "kmax": f"{kmax} B", "pmax": "100 %"}

    def packets(self):
        queue, ecn = self.limits()
        fabric = {"switch": {"latency": "0 ns", "forwarding": "store_and_forward", **queue}, "ecn": ecn, "transport": {"type": "uec"}}
        if self.credits:
            fabric["transport"]["congestion_control"] = "rccc"
        if self.slow:
            queue, ecn = self.limits(4)
            fabric["switches"] = [{"names": ["spine0", f"p0x0..{self.k - 1}"], **queue, "ecn": ecn}]
        return fabric

    def write(self, cluster, overrides):
        scenario = {"cluster": cluster, "workload": {"flows_file": str(self.matrix)}, "simulation": {"fidelity": "packet", "seed": 1}}
        if overrides:
            scenario["overrides"] = overrides
        self.scenario = self.folder / "scenario.yaml"
        self.scenario.write_text(json.dumps(scenario), encoding="utf-8")  # JSON is YAML

    def shape(self):
        def link(gbps, latency="1 us"):
            return {"type": "ethernet", "rate": f"{gbps} Gb/s", "latency": latency, "mtu": f"{PAYLOAD} B", "header": f"{HEADER} B"}

        if self.tiers == 3:
            return {"type": "fat_tree", "k": self.k, "link": link(GBPS)}
        leaves, spines = f"leaf0..{self.k - 1}", f"spine0..{self.k // 2 - 1}"
        names = [leaves, spines]
        links = [{"between": [f"h0..{self.hosts - 1}", leaves], "pairing": "block", **link(GBPS)}]
        if not self.slow:
            links.append({"between": [leaves, spines], **link(GBPS)})
        # A queue's limits are its switch's in Weft, its cable's in htsim. So each cable up has a switch of its own, which takes no time.
        for spine in range(self.k // 2 if self.slow else 0):
            names.append(f"p{spine}x0..{self.k - 1}")
            links.append({"between": [leaves, names[-1]], "pairing": "zip", **link(GBPS, "0 ns")})
            links.append({"between": [names[-1], f"spine{spine}"], **link(GBPS if spine else GBPS // 4)})
        return {"type": "custom", "devices": [{"name": name, "kind": "switch", "latency": "0 ns"} for name in names], "links": links}

    def weft(self):
        """Ends of the flows in us, and user seconds."""
        result = self.folder / "result.json"
        _, cpu = timed([self.options.weft.resolve(), "run", self.scenario, "--quiet", "--json", result], self.folder)
        ends = [flow["end_ns"] / 1e3 for flow in json.loads(result.read_text(encoding="utf-8"))["flows"]]
        way_back = CABLE_US + ACK * 8 / self.gbps / 1e3
        return [end + way_back * self.cables(source, to) for end, (source, to, _) in zip(ends, self.flows)], cpu

    def htsim(self):
        text, cpu = timed([self.options.htsim.resolve(), "-o", "log", "-tm", self.matrix, "-linkspeed", f"{self.gbps * 1000}",
                           "-mtu", f"{PAYLOAD + HEADER}", "-load_balancing_algo", "bitmap", "-sack_threshold", "1", "-end", "1000000",
                           *self.tree], self.folder)
        ends = [float(end) for end in re.findall(r" finished at ([0-9.e+]+)", text)]
        if len(ends) != len(self.flows):
            raise SystemExit(f"htsim ended {len(ends)} of {len(self.flows)} flows")
        return ends, cpu


class OwnFiles(Comparison):
    """A connection matrix and a topology that come with htsim, in the folder of its program."""

    gbps = 100
    slow = credits = False

    def __init__(self, case, options, folder):  # pylint: disable=super-init-not-called
        matrix, topology = OWN[case]
        self.options, self.folder = options, pathlib.Path(folder)
        files = options.htsim.absolute().parent
        self.matrix, topology = files / "connection_matrices" / matrix, files / "topologies" / topology
        self.tree = ["-topo", topology]
        text = topology.read_text(encoding="utf-8")
        self.tiers, self.pod, self.leaf = (int(re.search(rf"{key}\s+(\d+)", text)[1]) for key in ("Tiers", "Podsize", "Radix_Down"))
        self.flows = [tuple(map(int, found)) for found in
                      re.findall(r"(\d+)->(\d+).*size (\d+)", self.matrix.read_text(encoding="utf-8"))]
        cluster = self.folder / "cluster.yaml"
        timed([options.weft.resolve(), "topo", "import", topology, "-o", cluster], self.folder)
        packets = {f"fabric.{section}.{key}": value for section, keys in self.packets().items() for key, value in keys.items()}
        self.write(str(cluster), {"fabric.link.mtu": f"{PAYLOAD} B", "fabric.link.header": f"{HEADER} B", **packets})

    def cables(self, source, to):
        if source // self.leaf == to // self.leaf:
            return 2
        return 4 if source // self.pod == to // self.pod else 6


def bench_htsim(options):
    print(f"{'case':<16}{'flows':>6}{'last flow (us)':>24}{'':>9}{'mean flow (us)':>24}{'':>9}{'CPU (s)':>20}")
    print(f"{'':<22}{'Weft':>12}{'htsim':>12}{'Weft/':>9}{'Weft':>12}{'htsim':>12}{'Weft/':>9}{'Weft':>10}{'htsim':>10}{'htsim/Weft':>12}")
    for case in options.case or DEFAULT_CASES:
        with tempfile.TemporaryDirectory() as folder:
            both = (OwnFiles if case in OWN else Comparison)(case, options, folder)
            turns = [(both.weft(), both.htsim()) for _ in range(options.turns)]
        (ours, _), (theirs, _) = turns[0]
        cpu = [statistics.median(turn[i][1] for turn in turns) for i in (0, 1)]
        row = f"{case:<16}{len(ours):6}"
        for of in (max, statistics.mean):
            row += f"{of(ours):12.1f}{of(theirs):12.1f}{of(ours) / of(theirs) - 1:+9.1%}"
        print(f"{row}{cpu[0]:10.2f}{cpu[1]:10.2f}{cpu[1] / cpu[0]:12.1f}", flush=True)
    print(f"{options.turns} turns, median CPU; {os.cpu_count()} processors")
