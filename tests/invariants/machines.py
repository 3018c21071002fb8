"""Properties of one machine described in several ways: two NICs for one, another order, other names, a node nobody uses."""

import random

import rewrite
from comparison import Comparison, Property, apart, choice_of, said, size

SPLIT = 0.03
SPLIT_FROM = 64 << 20


def split_factors(domain):
    return {"cluster": domain.gpu_clusters(), "nodes": [2, 3, 4, 8], "collective": domain.collectives,
            "choice": ["/", "ring/Simple", "tree/Simple", "nvls_tree/Simple", "nccl_p2p/"]}


def allowed(domain, row):
    """No choice at all is NCCL's own."""
    return domain.allowed(row if row["choice"] != "/" else {name: value for name, value in row.items() if name != "choice"})


def split_allowed(domain, row):
    """Each GPU has a NIC of its own: NCCL deals NICs that GPUs share out among them, so that two of them are one to each GPU."""
    configuration = domain.configuration(row["cluster"])
    if rewrite.with_nics_in_two(configuration, row["nodes"], 50e9) is None:
        return False
    return allowed(domain, row) and rewrite.count(configuration, "nic") >= rewrite.count(configuration, "gpu")


def check_split(weft, domain, row):
    """On one switch, so that the shape of a fabric does not change with the number of its ports. NCCL's channels take turns with
    NICs; a message of a textbook algorithm goes by one, so that these are left out."""
    configuration, rate = domain.configuration(row["cluster"]), domain.network_rate(row["cluster"])
    files = [weft.file(f"{row['cluster']}_{words}", made(configuration, row["nodes"], rate))
             for words, made in (("one_nic", rewrite.on_one_switch), ("two_nics", rewrite.with_nics_in_two))]
    sizes = ["-b", size(SPLIT_FROM), "-e", size(max(SPLIT_FROM, domain.most_bytes)), "-f", "4"]
    options = [[*domain.arguments(row | {"file": file}), *sizes] for file in files]
    for one, two in zip(*(weft.series(row["collective"], *each) for each in options)):
        if choice_of(one) != choice_of(two):  # NCCL's search finds more channels, and with them another protocol
            continue
        yield Comparison(apart(one["time_us"], two["time_us"]), SPLIT,
                         f"{one['bytes']} B take {one['time_us']} us with one NIC ({said(one)}), {two['time_us']} us with two of "
                         f"half its rate ({said(two)})", [["collective", row["collective"], *each] for each in options],
                         domain.facts(row) | {"bytes": one["bytes"], "algorithm": one["algorithm"]})


OTHER_NAMES = {"gpu": "accelerator", "nvswitch": "x", "cpu": "socket_", "nic": "port_", "pcie": "bridge_"}


def same_factors(domain):
    return {"cluster": list(domain.clusters), "nodes": [1, 2, 3, 4, 8], "collective": domain.collectives,
            "choice": ["/", *domain.choices()],
            "written": ["in another order", "with other names", "with a node nobody uses"]}


def same_allowed(domain, row):
    return allowed(domain, row) and not (row["written"] == "with a node nobody uses" and row["nodes"] == 1)


def written(domain, row, configuration):
    if row["written"] == "in another order":
        return rewrite.reordered(configuration, random.Random(row["cluster"]))
    if row["written"] == "with other names":
        return rewrite.renamed(configuration, OTHER_NAMES)
    return configuration | {"nodes": configuration["nodes"] + 1}


def network_of(weft, file):
    """Switches of the network, and how many links join them."""
    devices, links = weft.links(file)
    switches = [device for device in devices.values() if device["host"] < 0]
    return len(switches), sum(link["from"]["host"] < 0 and link["to"]["host"] < 0 for link in links)


def check_same(weft, domain, row):
    configuration = domain.configuration(row["cluster"])
    configuration["nodes"] = max(row["nodes"], configuration.get("nodes", 1))
    files = [weft.file(row["cluster"], configuration),
             weft.file(f"{row['cluster']}_otherwise", written(domain, row, configuration))]
    # A node more may be a leaf or a spine more, and then the machine is another one.
    if row["written"] == "with a node nobody uses" and len({network_of(weft, file) for file in files}) > 1:
        return
    sizes = ["-b", "8", "-e", size(min(domain.most_bytes, 64 << 20)), "-f", "64"]
    options = [[*domain.arguments(row | {"file": file}), *sizes] for file in files]
    for one, other in zip(*(weft.series(row["collective"], *each) for each in options)):
        yield Comparison(apart(one["time_us"], other["time_us"]), 0.0,
                         f"{one['bytes']} B take {one['time_us']} us ({said(one)}), written {row['written']} "
                         f"{other['time_us']} us ({said(other)})", [["collective", row["collective"], *each] for each in options],
                         domain.facts(row) | {"bytes": one["bytes"]})


MACHINES = [
    Property("two_nics", "one NIC and two of half its rate give the same from 64 MiB on", split_factors, check_split, sample=16,
             allowed=split_allowed),
    Property("same_machine", "a machine written otherwise gives the same", same_factors, check_same, sample=30,
             allowed=same_allowed),
]
