"""Rows that once missed a property, and are run first ever since, whatever is drawn."""

ROWS = {
    "monotone": [
        # Chains in LL over nodes, whose chunk is larger than the message.
        {"cluster": "dgx_a100", "nodes": 4, "collective": "broadcast", "choice": "ring/LL", "channels": 8, "from": 20},
        {"cluster": "dgx2", "nodes": 1, "collective": "all_reduce", "choice": "tree/LL", "channels": 5, "from": 28},
    ],
    "grain": [
        {"cluster": "dgx_h100", "nodes": 2, "collective": "sendrecv", "choice": "/", "channels": 0},
        {"cluster": "gb200_nvl72", "nodes": 1, "collective": "all_reduce", "choice": "/", "channels": 0},
        {"cluster": "dgx_h100", "nodes": 4, "collective": "all_reduce", "choice": "tree/Simple", "channels": 0},
    ],
    "fidelity": [
        {"cluster": "dgx_h100", "nodes": 4, "collective": "all_reduce", "choice": "collnet_direct/Simple", "channels": 0,
         "exponent": 24},
        {"cluster": "fat_tree_k16", "nodes": 8, "collective": "all_gather", "choice": "plain_ring/", "channels": 16,
         "exponent": 20},
    ],
    "faster": [
        {"cluster": "h100x2", "nodes": 1, "collective": "alltoall", "choice": "nccl_p2p/", "channels": 16,
         "lever": "inner latency"},
    ],
    "bounds": [{"cluster": "h100x2", "nodes": 2, "collective": "all_gather", "choice": "ring/Simple", "exponent": 23}],
    "links": [
        {"cluster": "dgx_h100_superpod", "nodes": 4, "collective": "sendrecv", "choice": "nccl_p2p/", "exponent": 23},
    ],
    "faster_steps": [{"cluster": "dgx_h100", "nodes": 8, "plan": "experts_of_all", "lever": "host"}],
    "two_nics": [
        {"cluster": "dgx_h200", "nodes": 2, "collective": "broadcast", "choice": "ring/Simple"},
        {"cluster": "h200x4", "nodes": 3, "collective": "all_gather", "choice": "ring/Simple"},
    ],
    "named_cluster": [
        {"cluster": "dgx_h100", "written_for": "dgx_a100", "nodes": 2, "way": way, "with": "--set", "workload": "all_reduce"}
        for way in ("compare", "sweep")
    ],
}

# These take minutes: with --all only.
LONG = {
    "grain": [{"cluster": "dgx_h100", "nodes": 4, "collective": "alltoall", "choice": "/", "channels": 0}],
}


def rows(name, factors, everything):
    """Those of a property whose values there are."""
    return [row for row in ROWS.get(name, []) + (LONG.get(name, []) if everything else []) if all(value in factors[key] for key, value in row.items())]
