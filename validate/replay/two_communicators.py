#!/usr/bin/env python3
"""Single calls of two communicators on the same two GPUs, begun apart by set times: what each takes beside the other.

    torchrun --nproc-per-node 2 validate/replay/two_communicators.py OUT.json

Needs PyTorch on two GPUs. Kernels' times are the profiler's. A gate, a tiny all-reduce, lets both GPUs begin together; kernels that
sleep hold calls back. validate/measured/h200x2_two_communicators.json is one run; sim/workloads/replay/link_turns.h says what it
shows. Takes 20 s.
"""
import sys

import torch
import torch.distributed as dist

import recording

TIMES = 9
CYCLES_PER_US = 1980
SMALL = [16777216, 33554432, 67108864, 134217728]
LARGE = [45096960, 67117056, 90177536, 180355072]


def cases():
    yield from ({"what": "small alone", "small": s} for s in SMALL)
    yield from ({"what": "large alone", "large": l} for l in LARGE)
    for s in SMALL[:3]:
        for l in LARGE + [s]:
            yield {"what": "together", "small": s, "large": l, "small_at": 300, "large_at": [300, 300]}
    for d in (150, 200, 250, 350, 400):
        yield {"what": "large begins at", "small": SMALL[1], "large": LARGE[2], "small_at": 300, "large_at": [d, d]}
    for l in LARGE:
        for d in (200, 900, 1050, 1150, 1200):
            yield {"what": "large waits", "small": SMALL[1], "large": l, "small_at": 1200, "large_at": [d, 2500]}
        yield {"what": "late member comes", "small": SMALL[1], "large": l, "small_at": 1200, "large_at": [100, 1200]}
    for size in (1 << 20, 4 << 20, 16 << 20, 64 << 20):
        for what in ("one way", "both ways", "one way each, two kernels"):
            yield {"what": what, "message": size}


dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
groups = {name: dist.new_group([0, 1]) for name in ("small", "large", "gate")}
streams = {name: torch.cuda.Stream() for name in groups}
names = {group.group_name: name for name, group in groups.items()}
tiny = torch.zeros(8, device="cuda")
buffers = {}


def buffer(size, name):
    if (size, name) not in buffers:
        buffers[size, name] = torch.zeros(size // 2, dtype=torch.bfloat16, device="cuda")
    return buffers[size, name]


def messages(name, sends):
    with torch.cuda.stream(streams[name]):
        ops = [dist.P2POp(dist.isend if send else dist.irecv, x, 1 - rank, groups[name]) for send, x in sends]
        return dist.batch_isend_irecv(ops)


def run(case):
    torch.cuda.synchronize()
    with torch.cuda.stream(streams["gate"]):
        torch.cuda._sleep(5_000_000)
        dist.all_reduce(tiny, group=groups["gate"])
        gate = torch.cuda.Event()
        gate.record()
    for name in ("large", "small"):
        streams[name].wait_event(gate)
        if name not in case:
            continue
        at = case.get(name + "_at", 0)
        at = at[rank] if isinstance(at, list) else at
        with torch.cuda.stream(streams[name]):
            if at > 0:
                torch.cuda._sleep(at * CYCLES_PER_US)
            dist.all_reduce(buffer(case[name], name), group=groups[name])
    if "message" in case:
        x, y = buffer(case["message"], "x"), buffer(case["message"], "y")
        if case["what"] == "both ways":
            works = messages("small", [(True, x), (False, y)])
        else:
            works = messages("small", [(rank == 0, x)])
            if case["what"] != "one way":
                works += messages("large", [(rank == 1, y)])
        for work in works:
            work.wait()


everything = list(cases())
for case in everything:
    run(case)
dist.barrier()
calls = []
for e in filter(recording.is_nccl, recording.events_of(everything, TIMES, run)):
    name = names.get(e["args"].get("Process Group Name"), "message")
    if name == "gate":
        calls.append([])
        ready = e["ts"] + e["dur"]
    elif calls:
        calls[-1].append([name, round(e["ts"] - ready, 1), round(e["dur"], 1), e["args"]["grid"][0]])
recording.write(sys.argv[1], everything, TIMES, "calls",
                "by time it was run and rank: communicator, begin after the gate's end in us, duration in us, blocks", calls)
dist.destroy_process_group()
