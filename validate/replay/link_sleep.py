#!/usr/bin/env python3
"""Messages and collectives of two GPUs after their NVLinks have been idle for set times: what each then takes.

    torchrun --nproc-per-node 2 validate/replay/link_sleep.py OUT.json

Needs PyTorch on two GPUs. Kernels' times are the profiler's. Before each call both GPUs exchange 16 MiB and then use no link for the
time set; `nvidia-smi nvlink -gLowPwrInfo` prints after how long links sleep. GEMMs just before the call keep the SMs' clock up.
validate/measured/h200x2_link_sleep*.json are two runs; sim/workloads/replay/link_sleep.h says what it shows. Takes 40 s.
"""
import sys
import time

import torch
import torch.distributed as dist

import recording

TIMES = 5
MIB = 1 << 20
WARM_MS = 3  # of GEMMs before a call


def cases():
    for idle in (10, 30, 40, 45, 48, 49, 50, 51, 52, 55, 60, 70, 100, 300, 1000):
        yield {"what": "message", "bytes": 16 * MIB, "idle_ms": idle, "waits": True}
    for idle in (10, 45, 55, 100, 300):
        yield {"what": "message", "bytes": 16 * MIB, "idle_ms": idle}
    for idle in (20, 60, 100):
        yield {"what": "message", "bytes": 16 * MIB, "idle_ms": idle, "computes": True}
    for size in (8192, MIB, 64 * MIB):
        for idle in (10, 100):
            yield {"what": "message", "bytes": size, "idle_ms": idle}
    for size in (8192, MIB, 16 * MIB):
        for idle in (10, 100):
            yield {"what": "both ways", "bytes": size, "idle_ms": idle}
    for size in (8192, MIB, 16 * MIB, 64 * MIB):
        for idle in (10, 100):
            yield {"what": "all_reduce", "bytes": size, "idle_ms": idle}
            yield {"what": "all_reduce", "bytes": size, "idle_ms": idle, "waits": True}


dist.init_process_group("cpu:gloo,cuda:nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
hosts = dist.new_group(backend="gloo")
sides = [torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
product = torch.empty_like(sides[0])
buffers = {}


def buffer(size, name):
    if (size, name) not in buffers:
        buffers[size, name] = torch.zeros(size // 2, dtype=torch.bfloat16, device="cuda")
    return buffers[size, name]


def compute(ms):
    for _ in range(int(ms / 0.19)):
        torch.mm(*sides, out=product)


def messages(size, sends, receives):
    ops = [dist.P2POp(dist.isend, buffer(size, "x"), 1 - rank)] if sends else []
    ops += [dist.P2POp(dist.irecv, buffer(size, "y"), 1 - rank)] if receives else []
    for work in dist.batch_isend_irecv(ops):
        work.wait()


def call(case):
    if case["what"] == "all_reduce":
        dist.all_reduce(buffer(case["bytes"], "x"))
    else:
        messages(case["bytes"], case["what"] == "both ways" or rank == 0, case["what"] == "both ways" or rank == 1)


def sleep_until(moment):
    while time.monotonic() < moment:
        pass


# Rank 0 comes last; rank 1 half a millisecond before it, or at once where it waits.
def run(case):
    messages(16 * MIB, True, True)
    torch.cuda.synchronize()
    now = torch.tensor([time.monotonic()], dtype=torch.float64)
    dist.all_reduce(now, op=dist.ReduceOp.MAX, group=hosts)
    ends = float(now[0]) + case["idle_ms"] / 1e3
    if rank == 1 and case.get("waits"):
        call(case)
    elif case.get("computes"):
        compute(case["idle_ms"] - 5)
    if rank == 0 or not case.get("waits"):
        sleep_until(ends - WARM_MS / 1e3 - (0.0005 if rank == 1 else 0))
        compute(WARM_MS)
        call(case)
    torch.cuda.synchronize()
    dist.barrier(hosts)


everything = list(cases())
for case in everything:
    run({**case, "idle_ms": 10})
kernels = list(filter(recording.is_nccl, recording.events_of(everything, TIMES, run)))
calls = []
for before, own in zip(kernels[::2], kernels[1::2]):
    calls.append([round((own["ts"] - before["ts"] - before["dur"]) / 1e3, 2), round(own["dur"], 1)])
recording.write(sys.argv[1], everything, TIMES, "calls",
                "by time it was run and rank: begin after the last one's end in ms, duration in us", calls, group=hosts)
dist.destroy_process_group()
