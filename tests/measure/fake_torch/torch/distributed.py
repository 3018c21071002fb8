import types

ReduceOp = types.SimpleNamespace(MAX="max")
started = []


def init_process_group(backend, rank, world_size):
    assert backend == "nccl" and rank < world_size
    started.append(rank)


def all_reduce(tensor, op=None):
    assert started


def barrier():
    assert started


def destroy_process_group():
    started.clear()
