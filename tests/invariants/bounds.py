"""Properties that follow from bytes and rates alone: no time below that of the narrowest cut, of memory or of the peak rate; and
on every link the bytes that the algorithm must move.
"""

import collections

import steps
from comparison import Comparison, Property, said, size
from domain import IN_SWITCH, LARGEST, RUNS

EXACT = 0.002  # bytes are whole elements and parts of 16 bytes


def leaving(collective, count, ranks, of):
    """Bytes that at least one group of `of` of all ranks must send, or receive, whatever the algorithm; `count` is the size
    column. A switch that adds up spares ranks nothing of their own data: each rank's must leave it, each sum must come."""
    outside = (ranks - of) / ranks
    if collective in ("all_reduce", "all_gather", "reduce_scatter", "gather", "scatter"):
        return count * outside  # of what ends on the group, or begins there, what belongs to the others
    if collective == "alltoall":
        return count * of * outside
    return count if of < ranks else 0  # broadcast, reduce; sendrecv: the last one's message


def cut_rate(links, inside):
    """B/s that may leave the devices for which `inside` holds; the same comes in."""
    return sum(link["rate"] * link["efficiency"] for link in links if inside(link["from"]) and not inside(link["to"]))


def bound_factors(domain):
    return {"cluster": list(domain.clusters), "nodes": [1, 2, 3, 4, 8], "collective": domain.collectives,
            "choice": ["/", *domain.choices()], "exponent": list(range(20, LARGEST.bit_length(), 3))}


def bound_allowed(domain, row):
    choice = {} if row["choice"] != "/" else {"choice": "ring/Simple" if domain.clusters[row["cluster"]].gpus else "direct/"}
    if row["choice"] == "/":
        plain = {name: value for name, value in row.items() if name != "choice"}
        return domain.allowed(plain) and 1 << row["exponent"] <= domain.most_bytes
    return domain.allowed(row | choice) and 1 << row["exponent"] <= domain.most_bytes


def check_bound(weft, domain, row):
    options = [*domain.arguments(row), "-b", size(1 << row["exponent"]), "-e", size(1 << row["exponent"])]
    point = weft.series(row["collective"], *options)[0]
    cluster = domain.clusters[row["cluster"]]
    devices, links = weft.links(cluster.file, "--set", f"nodes={max(row['nodes'], cluster.hosts)}")
    ranks = sorted((device for device in devices.values() if device["kind"] in ("gpu", "host") and device["host"] < row["nodes"]),
                   key=lambda device: device["host"])
    of_rank = cut_rate(links, lambda device: device is ranks[0])
    of_node = cut_rate(links, lambda device: device["host"] == 0)
    per_node = point["ranks"] // point["nodes"]
    bounds = [("a rank's links", leaving(row["collective"], point["bytes"], point["ranks"], 1) / of_rank)]
    if point["nodes"] > 1:
        bounds.append(("a node's links", leaving(row["collective"], point["bytes"], point["ranks"], per_node) / of_node))
    memory = domain.memory_rate(row["cluster"])
    if memory:
        bounds.append(("memory", point["bytes"] * (1 if row["collective"] == "sendrecv" else 1 / point["ranks"]) / memory))
    for words, seconds in bounds:
        yield Comparison(max(0.0, seconds * 1e6 / point["time_us"] - 1), 1e-6,
                         f"{point['bytes']} B take {point['time_us']} us ({said(point)}), {words} take {seconds * 1e6:.6g}",
                         [["collective", row["collective"], *options]], domain.facts(row) | {"bytes": point["bytes"]})
    if row["choice"].startswith("ring/") and point["nodes"] > 1 and row["collective"] in ROUND:
        yield loop_bound(weft, domain, row, options, of_node)


# Collectives whose rings carry the same over every link.
ROUND = ("all_reduce", "all_gather", "reduce_scatter")
LOOP = 0.01  # what is not run of a loop goes on at the mean of what is


def loop_bound(weft, domain, row, options, of_node):
    """Each ring comes into a node once, so that all of them bring what a rank passes on. Calls of a loop overlap, and links are
    no faster for it."""
    options = [*options, "-n", "20"]
    point = weft.series(row["collective"], *options)[0]
    seconds = moved(row["collective"], point["bytes"], point["ranks"]) / point["ranks"] / of_node
    return Comparison(max(0.0, seconds * 1e6 / point["time_us"] - 1), LOOP, f"a call of 20 of {point['bytes']} B takes "
                      f"{point['time_us']} us ({said(point)}), a node's links take {seconds * 1e6:.6g}",
                      [["collective", row["collective"], *options]], domain.facts(row) | {"bytes": point["bytes"]})


def peak_factors(domain):
    return {"cluster": domain.gpu_clusters(), "plan": list(steps.PLANS), "nodes": [1, 2, 3, 4, 8]}


def check_peak(weft, domain, row):
    """A step within the peak rate; a token of an answer no faster than its weights are read."""
    file = steps.scenario(weft, domain, row, domain.configuration(row["cluster"]))
    result = weft.run("run", file)
    memory = domain.memory_rate(row["cluster"])
    if "hfu" in result:
        bounds = [("peak rate", result["hfu"])]
    else:
        is_dense = "experts" not in row["plan"]  # of experts a token reads a part
        seconds = result["memory_per_gpu_bytes"]["weights"] / memory if memory and is_dense else 0
        bounds = [("weights once a token", seconds / (result["tpot_ns"]["mean"] * 1e-9))]
    for words, share in bounds:
        yield Comparison(max(0.0, share - 1), 1e-6, f"{row['plan']}: {100 * share:.4g} % of {words}", [["run", file]], dict(row))


def moved(collective, count, ranks):
    """Bytes that all ranks together send, by an algorithm that sends nothing twice; without a switch that adds up or copies."""
    n = ranks
    return {"all_reduce": 2 * (n - 1) * count, "all_gather": (n - 1) * count, "reduce_scatter": (n - 1) * count,
            "broadcast": (n - 1) * count, "reduce": (n - 1) * count, "alltoall": (n - 1) * count,
            "sendrecv": n * count, "gather": (n - 1) / n * count, "scatter": (n - 1) / n * count}[collective]


def link_factors(domain):
    return {"cluster": list(domain.clusters), "nodes": [1, 2, 3, 4, 8], "collective": domain.collectives,
            "choice": [choice for choice in domain.choices() if choice not in ("ring/LL", "ring/LL128", "tree/LL", "tree/LL128")],
            "exponent": [20, 23, 26]}


# Algorithms that send nothing twice and pass nothing on that need not be: their total is known. Of others only the balances are.
TIGHT = {"ring", "plain_ring", "direct", "pairwise", "full_mesh", "nccl_p2p", "tree"}


def named(links):
    """Links with the names that results give them: those side by side are numbered."""
    ends = [f"{link['from']['name']}->{link['to']['name']}" for link in links]
    count, seen = collections.Counter(ends), collections.Counter()
    for end, link in zip(ends, links):
        yield (f"{end}#{seen[end]}" if count[end] > 1 else end), link
        seen[end] += 1


def passes_on(links):
    """Whether GPUs carry what is others': some are joined to each other, but not all of a node."""
    pairs = {(link["from"]["name"], link["to"]["name"]) for link in links
             if link["from"]["kind"] == link["to"]["kind"] == "gpu" and link["from"]["host"] == link["to"]["host"] == 0}
    ends = {end for pair in pairs for end in pair}
    return 0 < len(pairs) < len(ends) * (len(ends) - 1)


def check_links(weft, domain, row):
    """Bytes of every link, from its utilization. What comes into a device that is no rank goes out of it again; ranks together
    send what the algorithm must move, as often as the loop of the run called it."""
    cluster = domain.clusters[row["cluster"]]
    configuration = domain.configuration(row["cluster"])
    configuration["nodes"] = max(row["nodes"], configuration.get("nodes", 1))
    algorithm, _, protocol = row["choice"].partition("/")
    ranks = domain.ranks(row)
    call = {"kind": row["collective"], "bytes": f"{1 << row['exponent']} B", "algorithm": algorithm, "ranks": ranks}
    content = {"cluster": configuration, "workload": {"collectives": [call]}, "measure": {"from": "0 us"}}
    file = weft.file(f"{row['collective']}_{row['cluster']}", content)
    settings = ["--nccl", f"PROTO={protocol}"] if protocol else []
    if algorithm in RUNS:
        settings += ["--nccl", "PXN_DISABLE=1"]  # with PXN a GPU passes on what is for another's rail, so that its bytes go twice
    result = weft.run("run", file, *settings)
    _, links = weft.links(cluster.file, "--set", f"nodes={configuration['nodes']}")
    seconds = (result["measured_to_ns"] - result["measured_from_ns"]) * 1e-9
    shares = {port["name"]: port["utilization"] for port in result["ports"]}
    come, gone = {}, {}
    for name, link in named(links):
        carried = shares.get(name, 0.0) * seconds * link["rate"] * link["efficiency"]
        gone[link["from"]["name"]] = gone.get(link["from"]["name"], 0.0) + carried
        come[link["to"]["name"]] = come.get(link["to"]["name"], 0.0) + carried
    kinds = {end["name"]: end["kind"] for link in links for end in (link["from"], link["to"])}
    command = [["run", file, *settings]]
    facts = domain.facts(row)
    if algorithm not in IN_SWITCH:
        name, difference = max(((name, abs(come.get(name, 0) / gone[name] - 1) if gone[name] else 0.0) for name in gone
                                if kinds[name] not in ("gpu", "host")), key=lambda each: each[1], default=("", 0.0))
        yield Comparison(difference, EXACT, f"{come.get(name, 0):.0f} B come to {name}, {gone.get(name, 0):.0f} B leave it",
                         command, facts | {"what": "balance"})
    point = result["points"][0]
    if algorithm in TIGHT and point["bytes"] and not passes_on(links):
        sent = sum(count for name, count in gone.items() if kinds[name] in ("gpu", "host"))
        times = sent / moved(row["collective"], point["bytes"], point["ranks"])
        calls = max(1, round(times))
        yield Comparison(abs(times / calls - 1), EXACT, f"ranks send {sent:.0f} B in {calls} calls of {point['bytes']} B",
                         command, facts | {"what": "sent"})


BOUNDS = [
    Property("bounds", "no collective below the narrowest cut's time or memory's", bound_factors, check_bound, sample=60,
             allowed=bound_allowed),
    Property("peak", "no step above the peak rate, no token faster than memory", peak_factors, check_peak, sample=15,
             allowed=steps.fits),
    Property("links", "every link carries what the algorithm must move", link_factors, check_links, sample=30),
]
