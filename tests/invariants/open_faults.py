"""Faults that are known and not mended yet, by what they miss. They do not fail the sample, so that new ones are seen; the table
counts each. A row goes when its fault is mended. Nothing here is an exception: for these there is a reason (exceptions.py)."""

from exceptions import Exception_ as Fault

OPEN = [
    Fault("open: four nodes of P100, reduce-scatter of 8 MiB slower than of 16 MiB", "chosen",
          {"cluster": "dgx1_p100", "collective": "reduce_scatter"}, 0.07, "a loop of calls may be taken as settled too early"),
    Fault("open: CollNet in packets", "fidelity", {"algorithm": ("collnet_direct", "collnet_chain")}, 0.25,
          "lanes in packets pay per step what they pay per chunk in flows"),
    Fault("open: PAT in packets", "fidelity", {"algorithm": "pat"}, 0.08, "not looked into"),
    Fault("open: many channels over one PCIe link in packets", "fidelity",
          {"cluster": ("pcie8_parallel", "pcie8_serial", "pcie8_hpc")}, 0.11,
          "fair sharing against first come, first served; it may count as congested"),
    Fault("open: a fabric that hashes, sixteen channels", "fidelity", {"cluster": "fat_tree_k16"}, 0.55,
          "hashed paths collide in flows and packets alike, but the channels' phases differ"),
    Fault("open: all-to-all in LL over sixteen channels", "faster", {"cluster": "h100x2", "collective": "alltoall"}, 0.1,
          "not looked into: half the latency inside a node makes 256 KiB slower"),
    Fault("open: bytes of send/recv over rails", "links", {"collective": "sendrecv", "cluster": "dgx_h100_superpod"}, 0.03,
          "not looked into: 351 of 360 messages are counted"),
]
