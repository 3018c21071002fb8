"""Faults that are known and not mended yet, by what they miss. They do not fail the tests, so that new ones are seen; the table
counts each. A row goes when its fault is mended. Nothing here is an exception: for these there is a reason (exceptions.py)."""

from exceptions import Exception_ as Fault

OPEN = [
    Fault("open: P100, two channels to an NVLink", "chosen",
          {"cluster": "dgx1_p100", "collective": ("reduce_scatter", "all_gather", "all_reduce")}, 0.085,
          "channels 0 and 4 are one ring: with one slice a chunk they may stay in phase, with two they do not"),
    Fault("open: the same, the choice held", "monotone",
          {"cluster": "dgx1_p100", "collective": ("reduce_scatter", "all_gather", "all_reduce")}, 0.085, "as above"),
    Fault("open: trees over RoCE, aws_p5 and TCPXO", "chosen",
          {"cluster": ("oci_h100", "gcp_a3_ultra", "aws_p5", "gcp_a3_mega"), "collective": "all_reduce"}, 0.18,
          "NCCL's tables cost a hop of every network alike, so it keeps trees in LL128 past where NVLSTree is faster"),
    Fault("open: rings in LL of 128 MiB over RoCE", "grain",
          {"cluster": ("oci_h100", "gcp_a3_ultra"), "algorithm": "ring", "protocol": "LL"}, 0.09,
          "not understood: where not every message is run, a ring over three nodes takes 8 % less; NCCL does not choose it"),
    Fault("open: CollNet in packets", "fidelity", {"algorithm": ("collnet_direct", "collnet_chain")}, 0.55,
          "not understood: least on nodes with a NIC for each GPU, and one channel differs too, by up to 12 %; a run says so"),
    Fault("open: PAT in packets", "fidelity", {"algorithm": "pat"}, 0.15, "not understood; a run says so"),
    Fault("open: NVLS in packets", "fidelity", {"algorithm": "nvls"}, 0.5,
          "not understood: 8 x H100 agree with one channel and differ by 12 % with 16, 72 GPUs of a rack by 50 %; a run says so"),
    Fault("open: many channels over one PCIe link in packets", "fidelity",
          {"cluster": ("pcie8_parallel", "pcie8_serial", "pcie8_hpc", "dgx1_v100", "l40s_8gpu")}, 0.16,
          "packets serve in turn, so that the first messages are there sooner; of shares all end last"),
    Fault("open: hashed paths that collide", "fidelity",
          {"cluster": ("fat_tree_k16", "fat_tree_k8", "clos_40g", "clos_hpcc_32_hosts", "leaf_spine_64_hosts"),
           "algorithm": "plain_ring"}, 0.55,
          "messages that meet share in flows and take turns in packets, and then meet others"),
    Fault("open: two NICs a GPU in NVLSTree", "two_nics", {"algorithm": "nvls_tree"}, 1.0,
          "a head's channels take one NIC; whether NCCL's do was not measured"),
]
