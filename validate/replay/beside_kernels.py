#!/usr/bin/env python3
"""Collectives beside kernels that fill the memory or the SMs of two GPUs: when each of them begins and what it takes.

    torchrun --nproc-per-node 2 validate/replay/beside_kernels.py OUT.json

Needs PyTorch on two GPUs. Times are the profiler's. A gate, a tiny all-reduce, lets both GPUs begin together, after everything is
queued. `rate`: one large collective that is resident before the kernels come, with as many thread blocks as stated; `one_sided`:
kernels on rank 0 alone; `late`: a collective that becomes ready while a kernel runs; `row`: many small calls beside kernels.
sim/workloads/kernels/contention.h says what validate/measured/*_beside_kernels.json show. Takes 60 s.
"""
import sys

import torch
import torch.distributed as dist

import recording

REPEATS = 5
CYCLES_PER_US = 1980
MIB = 1 << 20
OPS = ("all_reduce", "all_gather", "reduce_scatter", "alltoall")
BLOCKS = (0, 4, 8, 16)  # 0: as NCCL chooses


def cases():
    for op in OPS:
        for blocks in BLOCKS:
            size = 1024 * MIB if blocks == 0 else 256 * MIB
            for kernel in ("", "copy", "gemm"):
                yield {"what": "rate", "op": op, "bytes": size, "blocks": blocks, "kernel": kernel, "kernel_bytes": 1024 * MIB}
        for size in (16 * MIB, 64 * MIB, 256 * MIB):
            yield {"what": "rate", "op": op, "bytes": size, "blocks": 0, "kernel": "copy", "kernel_bytes": 1024 * MIB}
    for op in ("all_reduce", "all_gather"):
        for kernel in ("read", "write", "add", "memcpy", "silu"):
            yield {"what": "rate", "op": op, "bytes": 1024 * MIB, "blocks": 0, "kernel": kernel, "kernel_bytes": 1024 * MIB}
        for size in (16, 64, 128, 256, 512):
            yield {"what": "rate", "op": op, "bytes": 1024 * MIB, "blocks": 0, "kernel": "copy", "kernel_bytes": size * MIB}
    for op in ("all_gather", "alltoall", "send", "receive"):
        for kernel in ("", "copy"):
            yield {"what": "one_sided", "op": op, "bytes": 1024 * MIB, "blocks": 0, "kernel": kernel, "kernel_bytes": 1024 * MIB}
    for kernel in ("copy", "gemm"):
        for size in (1, 16, 256):
            yield {"what": "late", "op": "all_gather", "bytes": size * MIB, "blocks": 0, "kernel": kernel, "kernel_bytes": 1024 * MIB}
        for op in OPS:
            for size in (1, 4):
                yield {"what": "row", "op": op, "bytes": size * MIB, "blocks": 0, "kernel": kernel, "kernel_bytes": 1024 * MIB}


dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)


def group_of(blocks):
    options = dist.ProcessGroupNCCL.Options()
    if blocks > 0:
        options.config.min_ctas = options.config.max_ctas = blocks
    return dist.new_group([0, 1], pg_options=options)


gate_group = dist.new_group([0, 1])
groups = {blocks: group_of(blocks) for blocks in BLOCKS}
gate_stream, call_stream, kernel_stream = (torch.cuda.Stream() for _ in range(3))
tiny = torch.zeros(8, device="cuda")
x, y, z, given, taken = (torch.randn(512 * MIB, dtype=torch.bfloat16, device="cuda") for _ in range(5))
square = [part[: 8192 * 8192].view(8192, 8192) for part in (x, y, z)]


def call(case):
    count = case["bytes"] // 2
    group = groups[case["blocks"]]
    if case["op"] == "all_reduce":
        dist.all_reduce(given[:count], group=group)
    elif case["op"] == "all_gather":
        dist.all_gather_into_tensor(taken[:count], given[: count // 2], group=group)
    elif case["op"] == "reduce_scatter":
        dist.reduce_scatter_tensor(taken[: count // 2], given[:count], group=group)
    elif case["op"] == "alltoall":
        dist.all_to_all_single(taken[:count], given[:count], group=group)
    elif (case["op"] == "send") == (rank == 0):
        dist.send(given[: count // 2], 1 - rank, group=group)
    else:
        dist.recv(taken[: count // 2], 1 - rank, group=group)


def kernel(name, size):
    count = size // 2
    if name == "gemm":
        torch.mm(square[0], square[1], out=square[2])
    elif name == "copy":
        torch.neg(x[:count], out=y[:count])
    elif name == "add":
        torch.add(x[:count], y[:count], out=z[:count])
    elif name == "read":
        torch.amax(x[:count])
    elif name == "write":
        y[:count].fill_(1.0)
    elif name == "memcpy":
        y[:count].copy_(x[:count])
    else:
        torch.nn.functional.silu(y[:count], inplace=True)


def run(case):
    torch.cuda.synchronize()
    with torch.cuda.stream(gate_stream):
        torch.cuda._sleep(9000 * CYCLES_PER_US)
        dist.all_reduce(tiny, group=gate_group)
        gate = torch.cuda.Event()
        gate.record()
    many = case["what"] == "row"
    call_stream.wait_event(gate)
    kernel_stream.wait_event(gate)
    with torch.cuda.stream(call_stream):
        if case["what"] == "late":
            torch.cuda._sleep(900 * CYCLES_PER_US)
        for _ in range(64 if many else 1):
            call(case)
    if case["kernel"] and (rank == 0 or case["what"] != "one_sided"):
        with torch.cuda.stream(kernel_stream):
            if not many:
                torch.cuda._sleep((50 if case["what"] != "late" else 1) * CYCLES_PER_US)
            for _ in range(max(1, 12 * 1024 * MIB // case["kernel_bytes"])):
                kernel(case["kernel"], case["kernel_bytes"])


everything = list(cases())
for case in everything:
    run(case)
dist.barrier()
runs = []
opened = True
for e in recording.events_of(everything, REPEATS, run):
    if "spin" in e["name"] and e["dur"] > 5000:
        runs.append({"calls": [], "kernels": []})
        opened = False
    elif not runs:
        continue
    elif recording.is_nccl(e) and not opened:
        ready, opened = e["ts"] + e["dur"], True
    elif recording.is_nccl(e):
        runs[-1]["calls"].append([round(e["ts"] - ready, 1), round(e["dur"], 1), e["args"]["grid"][0]])
    elif "spin" not in e["name"] and e["cat"] != "gpu_memset":
        runs[-1]["kernels"].append([round(e["ts"] - ready, 1), round(e["dur"], 1)])
recording.write(sys.argv[1], everything, REPEATS, "runs",
                "by time it was run and rank: calls (begin after the gate's end and duration in us, blocks), kernels", runs,
                lambda case, times: 2 if case["what"] in ("row", "late") else times)
dist.destroy_process_group()
