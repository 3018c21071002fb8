"""Small scenarios that run as flows, as packets, and with packets over a part of the links: for the test that switches hybrid fidelity.

Where few collide they take the same time in all ways; where many do, or congestion control works, they need not.
"""
import dataclasses
import random

import switching

LINK = "link: {type: ethernet, rate: 100 Gb/s, latency: 500 ns, mtu: 1000 B}"
STAR = f"type: single_switch, {LINK}"
LEAVES = f"type: leaf_spine, leaf_ports: 8, {LINK}, routing: adaptive"  # 4 hosts a leaf
HASHED = f"type: leaf_spine, leaf_ports: 8, {LINK}, routing: ecmp"
NARROW = f"type: leaf_spine, leaf_ports: 8, oversubscription: 3, {LINK}, routing: ecmp"  # 6 hosts a leaf, 2 cables up
TREE = f"type: fat_tree, k: 4, {LINK}, routing: adaptive"
MARKED = "pfc: {xoff: 100 kB, xon: 97 kB}, ecn: {kmin: 100 kB, kmax: 400 kB, pmax: 20 %}"
# Two switches of three hosts each side, one cable between them.
DUMBBELL = f"""type: custom, routing: static, devices: [{{name: s0..1, kind: switch}}], links: [
    {{between: [[h0, h1, h2, h6], s0], type: ethernet, rate: 100 Gb/s, latency: 500 ns, mtu: 1000 B}},
    {{between: [[h3, h4, h5], s1], type: ethernet, rate: 100 Gb/s, latency: 500 ns, mtu: 1000 B}},
    {{between: [s0, s1], type: ethernet, rate: 100 Gb/s, latency: 1 us, mtu: 1000 B}}]"""


def hosts(count, fabric):
    return f"cluster:\n  nodes: {count}\n  node: {{type: host}}\n  fabric: {{{fabric}}}\n"


def nodes(cluster, count):
    return f"cluster: {{root}}/configs/clusters/{cluster}.yaml\noverrides: {{nodes: {count}}}\n"


def flows(*each):
    """Of (from, to, kB) or (from, to, kB, start in us)."""
    lines = []
    for source, to, kilobytes, *start in each:
        begin = f", start: {start[0]} us" if start else ""
        lines.append(f"    - {{from: {source}, to: {to}, bytes: {kilobytes} kB{begin}}}\n")
    return "workload:\n  flows:\n" + "".join(lines)


def shift(count, by, kilobytes):
    return flows(*((f"h{i}", f"h{(i + by) % count}", kilobytes) for i in range(count)))


def drawn(seed, senders, receivers, count, latest=50):
    draw = random.Random(seed)
    pairs = []
    for _ in range(count):
        source = draw.choice(senders)
        to = draw.choice([each for each in receivers if each != source])
        pairs.append((source, to, draw.randrange(200, 1500), draw.randrange(latest)))
    return flows(*pairs)


def collectives(*each):
    return "workload:\n  collectives:\n" + "".join(f"    - {{{one}}}\n" for one in each)


@dataclasses.dataclass(frozen=True)
class Part:
    """A scenario of which a part is packets. With packets at `idle` alone, all of it is flows; `kinds`: its collectives, where the part is
    some of them."""
    scenario: switching.Scenario
    idle: str
    kinds: tuple = ()


def part(name, cluster, workload, packets, idle, kinds=()):
    text = f"{cluster}{workload}simulation: {{fidelity: hybrid, packets: {{{packets}}}}}\n"
    return Part(switching.Scenario(name, text), idle, kinds)


def named(first, last):
    return [f"h{i}" for i in range(first, last + 1)]


def on_hosts():
    """Flows and jobs between hosts: chains of shares over links of both kinds, then every shape of network."""
    for seed in range(8):
        chosen = ", ".join(f'"switch0->h{1 + (seed + i) % 6}"' for i in range(3))
        yield part(f"one host to six, draw {seed}", hosts(8, STAR), drawn(seed, ["h0"], named(1, 6), 8), f"links: [{chosen}]", "h7")
    for into in (2, 3, 4):
        yield part(f"{into} into one, the first as packets", hosts(6, STAR), flows(*((f"h{i}", "h4", 1000) for i in range(into))),
                       "links: [h0]", "h5")
    yield part("three pairs over one cable", hosts(7, DUMBBELL), flows(("h0", "h3", 2000), ("h1", "h4", 2000), ("h2", "h5", 2000)),
                   "links: [h0]", "h6")
    yield part("both ways over one cable", hosts(7, DUMBBELL), flows(("h0", "h3", 2000), ("h3", "h0", 2000), ("h4", "h1", 1000)),
                   'links: ["h3->s1"]', "h6")
    yield part("one after the other", hosts(6, STAR), flows(("h0", "h1", 1000), ("h0", "h2", 1000, 40), ("h3", "h1", 1000, 200)),
                   "links: [h2]", "h5")
    # All packets are on their way, past the link, when a flow begins on it.
    yield part("a packet behind, a flow begins, 20 us of cable", hosts(6, STAR.replace("500 ns", "20 us")),
               flows(("h0", "h1", 500), ("h0", "h2", 3000, 45)), "links: [h1]", "h5")
    # The flow is at the second cable when the last packets have passed it.
    yield part("a packet behind, a flow begins", hosts(7, DUMBBELL), flows(("h0", "h3", 50), ("h2", "h5", 50, 5)), "links: [h0]", "h6")
    for by in (1, 3, 4, 5, 7):
        yield part(f"shift by {by} over leaves", hosts(13, LEAVES), shift(12, by, 2000), "links: [leaf0]", "h12")
    for by in (1, 3, 4, 5, 7):
        yield part(f"shift by {by} in a fat tree", hosts(16, TREE), shift(15, by, 4000), "links: [h0, h3, h5]", "h15")
    for by in (1, 3):
        yield part(f"shift by {by}, hashed", hosts(13, HASHED), shift(12, by, 2000), "links: [leaf0]", "h12")
    yield part("shift by 1, narrow", hosts(13, NARROW), shift(12, 1, 2000), "links: [h0, h7]", "h12")
    yield part("shift on a ring", hosts(8, f"type: torus, dims: [4, 2], {LINK}, routing: ecmp"), shift(7, 1, 1000), "links: [h2]", "h7")
    yield part("shift in a dragonfly", hosts(12, f"type: dragonfly, p: 2, a: 2, h: 1, {LINK}, routing: ecmp"), shift(11, 1, 1000),
                   "links: [h0, h1]", "h11")
    # Traffic inside leaf 1 is packets that nobody else meets, and neither do their acknowledgements.
    for control in ("dcqcn", "dcqcn_mlx", "timely", "swift", "window"):
        fabric = f"{LEAVES}, {MARKED}, transport: {{congestion_control: {control}, acks: packets}}"
        incast = [("h4", "h7", 500), ("h5", "h7", 600), ("h6", "h7", 700), ("h7", "h5", 300)]
        yield part(f"incast under {control} beside flows", hosts(13, fabric),
                       flows(*incast, ("h0", "h8", 1000), ("h1", "h0", 1000), ("h9", "h10", 2000, 7)), "links: [leaf1]", "h12")
    # Colliding transfers are packets in some order and shares of flows: only what is exact can be compared.
    for seed in range(3):
        for name, fabric in (("leaves", LEAVES), ("hashed", HASHED), ("narrow", NARROW)):
            yield part(f"collisions over {name}, draw {seed}", hosts(13, fabric), drawn(40 + seed, named(0, 11), named(0, 11), 12),
                           "links: [leaf1]", "h12")
    credits = LEAVES.replace("ethernet", "infiniband") + ", credits: {credits: 1000}"
    yield part("credits", hosts(13, credits), shift(12, 4, 2000), "links: [leaf1]", "h12")
    yield part("reads", hosts(6, STAR), flows(("h0", "h1", 1000), ("h2", "h3", 2000)).replace("}", ", verb: read}"), "links: [h1]", "h5")
    yield part("capped", hosts(6, STAR), flows(("h0", "h1", 1000), ("h0", "h2", 1000)).replace("}", ", rate_cap: 40 Gb/s}"),
               "links: [h1]", "h5")
    yield part("jobs that share a host", hosts(6, STAR), """workload:
  jobs:
    - {name: one, from: h0, to: h1, bytes: 1 MB, compute: 100 us, iterations: 4}
    - {name: other, from: h0, to: h2, bytes: 500 kB, compute: 60 us, iterations: 5}
""", "links: [h1]", "h5")


def collective(name, cluster, idle, packets, *each, kinds=()):
    return part(name, cluster, collectives(*each), packets, idle, kinds)


def of_collectives():
    eight = hosts(9, LEAVES)
    all_reduces = ("plain_ring recursive_doubling recursive_halving_doubling rabenseifner parameter_server gloo_ring gloo_bcube "
                   "hierarchical")
    for kind, algorithms in (("all_reduce", all_reduces), ("all_gather", "plain_ring bruck"), ("reduce_scatter", "plain_ring"),
                             ("alltoall", "pairwise direct"), ("broadcast", "binomial_tree van_de_geijn"), ("gather", "direct"),
                             ("scatter", "binomial_tree"), ("reduce", "binomial_tree")):
        for algorithm in algorithms.split():
            yield collective(f"{kind} by {algorithm}", eight, "h8", "links: [h1]",
                             f"kind: {kind}, algorithm: {algorithm}, bytes: 2 MiB, ranks: 8")
    yield collective("one phase of two", eight, "h8", "collectives: [alltoall]",
                     "kind: all_reduce, algorithm: plain_ring, bytes: 2 MiB, ranks: 8", "kind: alltoall, bytes: 4 MiB, ranks: 8",
                     kinds=("all_reduce", "alltoall"))
    # GPUs: packets between hosts, or to and from one of the GPUs.
    for cluster, ranks in (("h200x4", 8), ("h200x2_2_nodes", 4), ("dgx_h100", 16), ("dgx_a100", 16), ("mi300x", 16)):
        for kind in ("all_reduce", "alltoall"):
            yield collective(f"{kind} on 2 {cluster}", nodes(cluster, 3), "n2.gpu0", "", f"kind: {kind}, bytes: 1 MiB, ranks: {ranks}")
    for cluster, ranks, idle in (("dgx_h100", 6, "n0.gpu7"), ("gb200_nvl72", 8, "n0.gpu70"), ("h200x4_pcie", 3, "n0.gpu3")):
        yield collective(f"all_gather in a {cluster}", nodes(cluster, 1), idle, "links: [n0.gpu1]",
                         f"kind: all_gather, bytes: 1 MiB, ranks: {ranks}")
    # Packets and flows on links side by side, in short messages and in long ones.
    for cluster, ranks, size, algorithm, packets in (
            ("dgx2", 8, "1 MiB", "algorithm: direct, ", "n0.gpu1"), ("gb200_nvl72", 8, "1 MiB", "", "n0.gpu1"),
            ("pcie8_parallel", 6, "1 MiB", "", "n0.gpu1"), ("pcie8_parallel", 6, "512 KiB", "", "n0.gpu2, n0.gpu3"),
            ("dgx_h100", 8, "16 MiB", "", "n0.gpu1")):
        yield collective(f"alltoall of {size} in a {cluster}, packets at {packets}", nodes(cluster, 2), "n1.gpu0", f"links: [{packets}]",
                         f"kind: alltoall, {algorithm}bytes: {size}, ranks: {ranks}")
    # More than 64 MiB in all: packets are not looped, and with packets nowhere the call is that of flows all the same.
    yield collective("large all_gather in a dgx_h100", nodes("dgx_h100", 2), "n1.gpu0", "links: [n0.gpu1]",
                     "kind: all_gather, bytes: 72 MiB, ranks: 8")
    for cluster in ("dgx_h100", "dgx2", "gb200_nvl72", "pcie8_parallel", "dgx1_v100"):
        for name, ends in (("one GPU to two", ((0, 1), (0, 2))), ("two GPUs to one", ((1, 0), (2, 0)))):
            pairs = flows(*((f"n0.gpu{source}", f"n0.gpu{to}", 4000) for source, to in ends))
            yield part(f"{name} in a {cluster}", nodes(cluster, 1), pairs, "links: [n0.gpu1]", "n0.gpu7")
    yield from mixed_less_well()


def mixed_less_well():
    """Those in which flows and packets agree better than what mixes them does."""
    # Short messages that end a packet or two late: 3.0 per cent of 11 us, 5 per cent of 1 us.
    yield collective("alltoall by direct in a dgx2, 4 ranks", nodes("dgx2", 1), "n0.gpu15", "links: [n0.gpu2]",
                     "kind: alltoall, algorithm: direct, bytes: 2 MiB, ranks: 4")
    yield collective("alltoall by direct in a dgx_h100", nodes("dgx_h100", 2), "n1.gpu0", "links: [n0.gpu1]",
                     "kind: alltoall, algorithm: direct, bytes: 256 KiB, ranks: 8")
    # One GPU's packets beside six others' flows to each receiver: messages of packets end up to 6 per cent late, and flows no sooner for
    # it. (Of 8 MiB 1 per cent, of 32 MiB 4 per cent.)
    yield collective("alltoall of 16 MiB in a dgx_a100", nodes("dgx_a100", 2), "n1.gpu0", 'links: ["n0.gpu2->*"]',
                     "kind: alltoall, bytes: 16 MiB, ranks: 8")
