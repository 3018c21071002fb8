"""A program in place of `weft` whose answers hold every property, and that can be told to miss one. Times are those of a toy: a
start, hops, and bytes over rates, all taken from the cluster's file.
"""

import json
import re

import bounds
import rewrite
import runner

NODE = {
    "kind": "node", "name": "toy",
    "devices": [{"name": "gpu0..1", "kind": "gpu", "model": "h100_sxm"}, {"name": "nvswitch0", "kind": "nvswitch"},
                {"name": "cpu0", "kind": "cpu"}, {"name": "nic0..1", "kind": "nic", "speed": "100 Gb/s", "rail": [0, 1]}],
    "links": [{"between": ["gpu0..1", "nvswitch0"], "type": "nvlink4", "width": 4, "efficiency": 0.8, "latency": "100 ns"},
              {"between": ["gpu0..1", "cpu0"], "type": "pcie5", "lanes": 16, "efficiency": 0.8, "latency": "100 ns"},
              {"between": ["nic0..1", "gpu0..1"], "type": "local", "pairing": "zip", "efficiency": 1.0, "latency": "0 ns"}]}
LISTS = {
    "clusters": "h200x2_2_nodes  toy\nother  another\n", "collectives": "all_reduce  x\nsendrecv  x\n",
    "algorithms": "ring  x\nnccl_p2p  x\ndirect  x\nnvls_tree  x\n",
    "gpus": "h100_sxm  989 TFLOP/s bf16, 80 GB at 3.35 TB/s, 132 SMs\n",
    "parameters": "".join(f"{key}  x; default {value} (assumed)\n" for key, value in (
        ("device.launch.host_cost", "4 us"), ("gpu.gemm.efficiency", "0.8"), ("gpu.memory.contiguous_efficiency", "0.8"),
        ("collectives.simple.hop_latency", "1 us"), ("collectives.simple.channel_rate", "100 Gb/s")))}
NUMBERS = {"ns": 1e-9, "us": 1e-6, "Gb/s": 1e9 / 8}


def number(text):
    found = re.fullmatch(r"([0-9.eE+-]+) ?(\S*)", str(text))
    return float(found[1]) * NUMBERS.get(found[2], 1)


def bytes_of(text):
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]]


class FakeWeft(runner.Weft):
    def __init__(self, work, fault=None):
        super().__init__("weft", work, work)
        self.fault = fault

    def answer(self, arguments):
        command, *rest = arguments
        if command == "list":
            return LISTS[rest[0]]
        options = dict(zip(rest, [*rest[1:], ""])) | {"words": rest}
        return {"topo": self.topo, "collective": self.collective, "run": self.scenario, "compare": self.compare,
                "sweep": self.sweep}[command](rest, options)

    # --- machines ---

    def load(self, file, sets=()):
        """The configuration of a file; a shipped one is made up."""
        if "configs/clusters" in str(file):
            rate = "400 Gb/s" if "other" in str(file) else "200 Gb/s"
            result = {"name": "toy", "nodes": 2, "node": NODE, "profile": {"parameters": {}},
                      "fabric": {"type": "single_switch", "link": {"type": "infiniband", "rate": rate, "latency": "150 ns"}}}
        else:
            result = json.loads((self.root / file).read_text(encoding="utf-8"))
        result = json.loads(json.dumps(result))
        for text in sets:
            if text.startswith("nodes="):
                result["nodes"] = int(text[6:])
        return result

    def facts(self, cluster):
        """(names of GPUs and NICs of a node, B/s inside, B/s of a NIC, start, seconds of a hop)"""
        devices = cluster["node"]["devices"]
        of = {kind: [name for device in devices if device["kind"] == kind for name in rewrite.expanded(device["name"])]
              for kind in ("gpu", "nic", "nvswitch")}
        inner = min(25e9 * 4 * link["efficiency"] * link.get("lanes", 16) / 16 for link in cluster["node"]["links"])
        said = {key: value["value"] for key, value in cluster["profile"]["parameters"].items()}
        start = number(said.get("device.launch.host_cost", "4 us"))
        latency = number(cluster["fabric"]["link"]["latency"]) + number(said.get("collectives.simple.hop_latency", "1 us"))
        latency += sum(number(link["latency"]) for link in cluster["node"]["links"])
        return of, inner, number(cluster["fabric"]["link"]["rate"]), start, latency

    def graph(self, cluster):
        of, inner, rate, _, _ = self.facts(cluster)
        names, edges = {"fabric": ("switch", -1)}, []
        for node in range(cluster["nodes"]):
            hub = f"n{node}.{of['nvswitch'][0]}"
            names[hub] = ("nvswitch", node)
            for kind in ("gpu", "nic"):
                for name in of[kind]:
                    names[f"n{node}.{name}"] = (kind, node)
                    both = [(f"n{node}.{name}", hub, inner * 10)]
                    both += [(f"n{node}.{name}", "fabric", rate)] if kind == "nic" else []
                    edges += both + [(there, here, most) for here, there, most in both]
        return names, edges

    def topo(self, rest, options):
        sets = [rest[i + 1] for i, word in enumerate(rest) if word == "--set"]
        cluster = self.load(rest[0], sets)
        if "--graphml" not in options:
            return json.dumps({"configuration": cluster, "hosts": [{"count": cluster["nodes"]}],
                               "devices": {"gpu": 2 * cluster["nodes"]}})
        names, edges = self.graph(cluster)
        data = "".join(f'<node id="{name}"><data key="name">{name}</data><data key="kind">{kind}</data>'
                       f'<data key="host">{host}</data></node>' for name, (kind, host) in names.items())
        data += "".join(f'<edge source="{a}" target="{b}"><data key="type">nvlink4</data><data key="rate">{rate * 8}</data>'
                        f'<data key="efficiency">1</data><data key="latency">100000</data></edge>' for a, b, rate in edges)
        return f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph>{data}</graph></graphml>'

    # --- times ---

    def seconds(self, kind, count, nodes, cluster):
        of, inner, rate, start, latency = self.facts(cluster)
        nics = 2 if self.fault == "two_nics" else len(of["nic"])
        slowest = min(inner, nics * rate if nodes > 1 else inner)
        if self.fault == "faster" and rate > 30e9:
            slowest /= 2
        if self.fault == "same_machine":
            other = cluster["node"]["links"][0]["type"] == "pcie5" or cluster["nodes"] > nodes or "gpu0" not in of["gpu"]
            start *= 1.01 if other else 1
        ranks = nodes * len(of["gpu"])
        return start + ranks * latency + 2 * bounds.moved(kind, count, ranks) / slowest * (0.1 if self.fault == "bounds" else 1)

    def point(self, kind, count, options, cluster):
        nodes = int(options["--nodes"])
        held = "--algo" in options
        large = count >= 1 << 20
        protocol = options.get("--proto") or ("Simple" if held or large else "LL")
        time = self.seconds(kind, count, nodes, cluster)
        grain = options.get("--grain", "chunk" if count < 128 << 20 else "fluid")
        if (self.fault == "chosen" and large and not held) or (self.fault == "monotone" and large and held):
            time *= 0.01
        if self.fault == "grain" and grain == "fluid":
            time *= 1.1
        if self.fault == "fidelity" and options.get("--fidelity") == "packet":
            time *= 1.1
        if self.fault == "ties" and "--shuffle-ties" in options:
            time *= 1.1
        return {"bytes": count, "algorithm": options.get("--algo", "ring"), "protocol": protocol, "channels": 2,
                "time_us": time * 1e6, "grain": grain, "messages": count >> 12, "ranks": 2 * nodes, "nodes": nodes}

    def collective(self, rest, options):
        cluster = self.load(options["-c"])
        count, last = bytes_of(options["-b"]), bytes_of(options["-e"])
        points = []
        while count <= last:
            points.append(self.point(rest[0], count, options, cluster))
            count *= int(options.get("-f", 2))
        return json.dumps({"points": points})

    def step(self, scenario, cluster):
        """ns"""
        parameters = {key: value["value"] for key, value in cluster["profile"]["parameters"].items()}
        compute = 1e-3
        for key in ("gpu.gemm.efficiency", "gpu.memory.contiguous_efficiency"):
            compute /= float(parameters.get(key, 0.8))
        if cluster["node"]["devices"][0].get("model") == "h200_sxm":
            compute *= 1.1 if self.fault == "faster_steps" else 0.9
        return 1e9 * (compute + self.seconds("all_reduce", 1 << 20, cluster["nodes"], cluster))

    def scenario(self, rest, options):
        scenario = self.load(rest[0])
        cluster = scenario["cluster"]
        for word in rest:
            if word.startswith("cluster="):
                scenario, cluster = scenario | {"overrides": {}}, word[8:]
        return json.dumps(self.result(scenario, cluster, options))

    def result(self, scenario, cluster, options):
        cluster = self.load(cluster) if isinstance(cluster, str) else cluster
        for key, value in [*scenario.get("overrides", {}).items(), *self.sets_of(options)]:
            if key == "nodes":
                cluster = cluster | {"nodes": int(value)}
            if key == "fabric.link.rate":
                cluster = cluster | {"fabric": cluster["fabric"] | {"link": cluster["fabric"]["link"] | {"rate": value}}}
        calls = scenario["workload"].get("collectives")
        result = {"digest": options.get("-j") if self.fault == "threads" else "1"}
        if calls and "bytes" in calls[0]:
            return result | self.call(calls[0], cluster)
        time = self.step(scenario, cluster)
        if "inference" in scenario["workload"]:
            return result | {"makespan_ns": time, "tpot_ns": {"mean": 1e6}, "memory_per_gpu_bytes": {"weights": 1e9}}
        return result | {"makespan_ns": 2 * time, "iteration_time_ns": time, "hfu": 1.2 if self.fault == "peak" else 0.4}

    def sets_of(self, options):
        """Pairs of `--set cluster.KEY=VALUE`, which the words of a command are given as."""
        return [text[8:].split("=", 1) for text in options.get("words", []) if text.startswith("cluster.")]

    def call(self, call, cluster):
        """One collective: ranks send to the switch of their node, and get as much."""
        count = int(number(call["bytes"].replace(" MiB", "").replace(" B", "")))
        of, inner, _, _, _ = self.facts(cluster)
        ranks = cluster["nodes"] * len(of["gpu"])
        seconds = self.seconds(call["kind"], count, cluster["nodes"], cluster)
        share = bounds.moved(call["kind"], count, ranks) / ranks / (inner * 10) / seconds
        ports = []
        for node in range(cluster["nodes"]):
            for gpu in of["gpu"]:
                hub = f"n{node}.{of['nvswitch'][0]}"
                ports += [{"name": f"n{node}.{gpu}->{hub}", "utilization": share * (1.01 if self.fault == "links" else 1)},
                          {"name": f"{hub}->n{node}.{gpu}", "utilization": share}]
        return {"makespan_ns": seconds * 1e9, "measured_from_ns": 0, "measured_to_ns": seconds * 1e9, "ports": ports,
                "points": [{"bytes": count, "ranks": ranks, "nodes": cluster["nodes"]}]}

    def compare(self, rest, options):
        scenario = self.load(rest[0])
        files = rest[rest.index("--clusters") + 1:rest.index("--clusters") + 3]
        runs = []
        for file in files:
            times = []
            for better in (1, 1.1):
                made = self.load(file)
                made["fabric"]["link"]["rate"] = rewrite.scaled(made["fabric"]["link"]["rate"], better)
                said = {}
                words = {"words": [re.sub(r"(?<=rate=)(\d+)", lambda rate: str(int(rate[1]) * better), word) for word in rest]}
                if self.fault == "named_cluster":
                    words, said = {}, {"nodes": made["nodes"] + 1}
                result = self.result(scenario | {"overrides": said}, made, words)
                times.append(result.get("iteration_time_ns", result["makespan_ns"]) / 1e3)
            runs.append({"time_us": times[0], "sensitivity": [{"parameter": "network_rate", "time_us": times[1]}]})
        return json.dumps({"workloads": [{"runs": runs}]})

    def sweep(self, rest, options):
        sweep = self.load(rest[0])
        scenario = self.load(sweep["scenario"])
        scenario |= {"overrides": {}}
        return json.dumps({"points": [self.result(scenario, sweep["grid"]["cluster"][0], options)]})
