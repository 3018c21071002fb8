"""Where NCCL's own choice makes a larger call faster than a smaller one: its tuning compares times that it plans, and where it
leaves an algorithm too late, or takes one too early, time falls at the change. Each row names both choices and the log that shows
the fall or refutes it, or says that there is none; `why` is what makes the time fall here.
"""

import dataclasses

NO_LOG = "no public log: neither shown nor refuted"


@dataclasses.dataclass(frozen=True)
class Choice:
    algorithm: str
    protocol: str
    channels: tuple = ()  # one of these; none: any
    warps: tuple = ()

    def is_of(self, point):
        return (self.algorithm, self.protocol) == (point["algorithm"], point["protocol"]) and all(
            not wanted or point.get(key) in wanted for key, wanted in (("channels", self.channels), ("warps", self.warps)))


@dataclasses.dataclass(frozen=True)
class Fall:
    collectives: tuple
    clusters: tuple  # none: any
    nodes: tuple  # fewest and most
    before: Choice
    after: Choice
    sizes: tuple  # bytes of the smaller call, least and most
    fall: float  # at most
    log: str
    why: str

    def covers(self, row, less, more, difference):
        return (row["collective"] in self.collectives and (not self.clusters or row["cluster"] in self.clusters)
                and self.nodes[0] <= row["nodes"] <= self.nodes[1] and self.before.is_of(less) and self.after.is_of(more)
                and self.sizes[0] <= less["bytes"] <= self.sizes[1] and difference <= self.fall)


KIB, MIB = 1 << 10, 1 << 20
RACKS = ("gb200_nvl72", "gb300_nvl72")
MORE_WARPS = ("NCCL starts more threads for more bytes, and a NIC's proxy sends a slice of up to 32 KiB when it is whole: more warps "
              "fill each slice sooner, and only the last slice comes on top. That warps help is measured on one node: 512 KiB "
              "over 4 x H100 take 207, 166, 103 and 80 us with 3, 4, 8 and 16")
MORE_CHANNELS = ("each channel takes a part of the bytes, and a chain or ring of 72 GPUs passes 32 KiB of LL at a time: the first "
                 "ones have one channel until its threads have enough to do, which NCCL's rule knows of by bytes alone")


def threads(before, after):
    return Fall(("broadcast", "reduce"), (), (2, 8), Choice("ring", "LL", (1,), (before,)), Choice("ring", "LL", (1,), (after,)),
                (16 * KIB, 256 * KIB), 0.2, NO_LOG, MORE_WARPS)


KNOWN = [
    threads(3, 4), threads(4, 8), threads(8, 16),
    Fall(("broadcast", "reduce", "all_gather", "reduce_scatter"), RACKS, (1, 1), Choice("ring", "LL", (1,)),
         Choice("ring", "LL", (3,)), (384 * KIB, MIB), 0.17, NO_LOG, MORE_CHANNELS),
    Fall(("broadcast", "reduce", "all_gather", "reduce_scatter"), RACKS, (1, 1), Choice("ring", "LL", (3,)),
         Choice("ring", "LL", (7,)), (MIB - KIB, 2 * MIB), 0.07, NO_LOG, MORE_CHANNELS),
    Fall(("all_gather",), RACKS, (1, 1), Choice("ring", "LL", (32,)), Choice("ring", "LL128", (32,)), (16 * MIB, 64 * MIB), 0.08,
         NO_LOG, "NCCL plans LL128 over 72 GPUs with more latency than it has here"),
    Fall(("all_gather",), ("dgx_a100",), (8, 8), Choice("ring", "LL", (1,)), Choice("ring", "LL128", (16,)),
         (128 * KIB, 512 * KIB), 0.035, NO_LOG, "from one channel to 16, as above"),
    Fall(("all_reduce",), ("dgx1_p100",), (3, 8), Choice("tree", "Simple"), Choice("ring", "Simple"), (4 * MIB, 32 * MIB), 0.56,
         NO_LOG, "in a tree each of a node's eight GPUs passes on whole chunks of up to 512 KiB, which take 52 us where two "
         "channels share an NVLink of the first generation; NCCL plans with a tree's latency and rate, not with its chunks"),
    Fall(("sendrecv",), ("h200x4", "h200x4_half_nvlink"), (1, 1), Choice("nccl_p2p", "LL"),
         Choice("nccl_p2p", "Simple"), (256 * KIB, 512 * KIB), 0.19,
         "shown, 8 %: 18.3 us for 512 KiB, 17.0 for 1 MiB over 4 x H200 (validate/measured/h200x4_full.jsonl); none where the host "
         "is slower than both, 19.9 and 19.7 us (tests/data/h200x4/sendrecv_4gpu.txt)",
         "NCCL 2.28 takes LL up to 16 KiB for every channel that a peer could have; LL sends of 32 KiB a channel are 8 % slow here"),
]


def reason(row, less, more, difference):
    """What is known of a fall between two points of a row; nothing if it is not known."""
    return next((f"{fall.log}: {fall.why}" for fall in KNOWN if fall.covers(row, less, more, difference)), None)
