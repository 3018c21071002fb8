"""What there is to run: shipped clusters, numbers of nodes, collectives, algorithms with their protocols, sizes. All but the
protocols and NCCL's own algorithms are read from `weft list` and `weft topo`.
"""

import dataclasses
import re

import errors

NODES = [1, 2, 3, 4, 8]
# NCCL's algorithms, and the protocols that may be asked for: others run textbook and library algorithms, which have none.
PROTOCOLS = {"ring": ["LL", "LL128", "Simple"], "tree": ["LL", "LL128", "Simple"], "nvls": ["Simple"],
             "nvls_tree": ["Simple"], "collnet_direct": ["Simple"], "collnet_chain": ["Simple"], "pat": ["Simple"],
             "nccl_p2p": [""]}
TUNED = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"}
SHARED_OUT = {"all_gather", "reduce_scatter"}
RUNS = {"ring": TUNED, "tree": {"all_reduce"}, "nvls": {"all_reduce", *SHARED_OUT}, "nvls_tree": {"all_reduce"},
        "collnet_direct": {"all_reduce", *SHARED_OUT}, "collnet_chain": {"all_reduce"}, "pat": SHARED_OUT,
        "nccl_p2p": {"alltoall", "sendrecv", "gather", "scatter"}}
PROBE = {"cluster": "h200x2_2_nodes", "nodes": 2}
IN_SWITCH = {"nvls", "nvls_tree", "collnet_direct", "collnet_chain"}  # a switch adds up or copies
LARGEST = 8 << 30
ONE_NODE = 72  # ranks of the largest shipped one


@dataclasses.dataclass(frozen=True)
class Cluster:
    name: str
    file: str
    hosts: int  # as the file has it
    gpus: int  # of a host; 0: bare hosts, which are ranks themselves


class Domain:
    """`most_ranks`, `most_messages` of a call, `most_bytes` and `most_packet_bytes` bound what a run may cost."""

    def __init__(self, weft, most_ranks, most_messages, most_bytes, most_packet_bytes):
        self.weft, self.most_ranks = weft, most_ranks
        self.most_messages, self.most_bytes, self.most_packet_bytes = most_messages, most_bytes, most_packet_bytes
        self.clusters = {name: self.cluster(name) for name in weft.names("clusters")}
        self.collectives = weft.names("collectives")
        self.algorithms = weft.names("algorithms")
        self.supported = {}

    def cluster(self, name):
        file = f"configs/clusters/{name}.yaml"
        told = self.weft.run("topo", file)
        hosts = sum(host["count"] for host in told["hosts"])
        return Cluster(name, file, hosts, told["devices"].get("gpu", 0) // hosts)

    def gpu_clusters(self):
        return [cluster.name for cluster in self.clusters.values() if cluster.gpus]

    def choices(self):
        """Algorithms with protocols, "ring/LL"; "bruck/" for those that have none."""
        return [f"{name}/{protocol}" for name in self.algorithms for protocol in PROTOCOLS.get(name, [""])]

    def supports(self, collective, algorithm):
        """Whether the algorithm runs the collective at all: four ranks on two nodes tell."""
        if algorithm in RUNS:
            return collective in RUNS[algorithm]
        key = collective, algorithm
        if key not in self.supported:
            try:
                self.weft.series(collective, *self.arguments(PROBE | {"choice": algorithm + "/"}), "-b", "64K", "-e", "64K")
                self.supported[key] = True
            except errors.Refused:
                self.supported[key] = False
        return self.supported[key]

    def ranks(self, row):
        cluster = self.clusters[row["cluster"]]
        alone = row.get("choice", "").startswith("pat/")
        return row["nodes"] * (1 if alone or not cluster.gpus else cluster.gpus)

    def allowed(self, row):
        """Whether a row of factors is one to run; what is not known here the program refuses by itself."""
        cluster = self.clusters[row["cluster"]]
        algorithm = row["choice"].split("/")[0] if "choice" in row else None
        if not 2 <= self.ranks(row) <= (self.most_ranks if row["nodes"] > 1 else ONE_NODE):
            return False
        if not cluster.gpus and (row["nodes"] > cluster.hosts or algorithm in PROTOCOLS):
            return False
        if algorithm in ("pat", "collnet_direct", "collnet_chain", "nvls_tree") and row["nodes"] == 1:
            return False
        if algorithm == "nvls" and row["nodes"] > 1:
            return False
        return algorithm is None or "collective" not in row or self.supports(row["collective"], algorithm)

    def arguments(self, row):
        """Options of `weft collective` for a row's cluster, nodes, choice and channels."""
        cluster = self.clusters[row["cluster"]]
        result = ["-c", row.get("file", cluster.file), "--nodes", str(row["nodes"])]
        algorithm, _, protocol = row.get("choice", "").partition("/")
        if algorithm.startswith("collnet"):
            result += ["--set", f"node.devices[{self.nics(cluster)}].coll=true", "--nccl", "COLLNET_ENABLE=1"]
        if algorithm == "pat":
            result += ["-g", "1"]
        if algorithm:
            result += ["--algo", algorithm]
        if protocol:
            result += ["--proto", protocol]
        if row.get("channels"):
            result += ["--channels", str(row["channels"])]
        return result

    def configuration(self, name):
        """The whole cluster as JSON, with profile and node in it."""
        return self.weft.configuration(self.clusters[name].file)

    def default(self, key):
        """What a parameter is where the profile does not state it."""
        line = next(line for line in self.weft.text("list", "parameters").splitlines() if line.split()[0] == key)
        return re.search(r"default (.*) \(", line)[1]

    def memory_rate(self, name):
        """B/s of a GPU's memory, as `weft list gpus` says; 0: no GPU, or one that it does not know."""
        devices = self.configuration(name)["node"].get("devices", [])
        model = next((device.get("model") for device in devices if device["kind"] == "gpu"), None)
        for line in self.weft.text("list", "gpus").splitlines():
            if line.split()[:1] == [model]:
                return float(re.search(r"at ([0-9.]+) TB/s", line)[1]) * 1e12
        return 0.0

    def network_rate(self, name):
        """B/s of a link from a host to the fabric."""
        _, links = self.weft.links(self.clusters[name].file, "--set", "nodes=2")
        return next(link["rate"] for link in links if link["from"]["host"] >= 0 and link["to"]["host"] < 0)

    def inner_links(self, name):
        """Efficiency and latency (ns) of each type of link inside a host."""
        _, links = self.weft.links(self.clusters[name].file, "--set", "nodes=1")
        return {link["type"]: (link["efficiency"], link["latency"]) for link in links}

    def nics(self, cluster):
        devices = self.weft.configuration(cluster.file)["node"]["devices"]
        return next(i for i, device in enumerate(devices) if device["kind"] == "nic")

    def facts(self, row):
        """What exceptions go by."""
        algorithm, _, protocol = row.get("choice", "").partition("/")
        facts = {"cluster": row["cluster"], "nodes": row["nodes"], "algorithm": algorithm, "protocol": protocol}
        return facts | {name: value for name, value in row.items() if name not in ("choice", "file")}
