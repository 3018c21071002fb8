#!/usr/bin/env python3
"""Collectives of two GPUs at lower clocks of their SMs: what each takes while the clock comes back after matrix products.

    torchrun --nproc-per-node 2 validate/replay/nccl_clocks.py OUT.json
    validate/replay/nccl_clocks.py OUT.json PROGRAM CLUSTER.yaml

The first needs PyTorch on two GPUs and takes 40 s. GEMMs take the GPUs to their power limit; then come windows of one kind of call
each, in a CUDA graph, in random order. Before and after the calls of a window every SM notes its cycle counter and the time, which
gives the window's clock and what a call took. The second prints of each kind what it takes at full clock, and the share of that which
goes as one over the clock, beside those that the program predicts; sim/collectives/costs.h says what they show.
"""
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

KIB, MIB = 1 << 10, 1 << 20
FULL_MHZ = 1980
LOW_MHZ = 1500  # where measured and predicted times are compared
SIZES = {"LL": (KIB, 32 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB), "LL128": (KIB, 32 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB),
         "Simple": (KIB, 32 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB)}
KEPT = 60  # windows of a case


def cases():
    for protocol, sizes in SIZES.items():
        for what in ("all_reduce", "all_gather", "reduce_scatter"):
            for size in sizes:
                yield {"what": what, "protocol": protocol, "bytes": size}
        for what in ("all_reduce", "all_gather"):
            for size in (MIB, 16 * MIB):
                yield {"what": what, "protocol": protocol, "bytes": size, "channels": 1}
    for size in SIZES["Simple"]:
        yield {"what": "sendrecv", "bytes": size}
    yield {"what": "sendrecv", "bytes": 16 * MIB, "channels": 1}
    yield {"what": "kernel"}
    for size in (256 * KIB, 256 * MIB):
        yield {"what": "copy", "bytes": size}


def measure(path):
    import torch
    import torch.distributed as dist
    import triton
    import triton.language as tl

    @triton.jit
    def note(out):
        sm = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
        time = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
        cycles = tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
        tl.store(out + 2 * sm, time)
        tl.store(out + 2 * sm + 1, cycles)

    @triton.jit
    def nothing(out):
        pass

    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    sms = torch.cuda.get_device_properties(rank).multi_processor_count
    sides = [torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
    product = torch.empty_like(sides[0])
    source = torch.zeros(512 * MIB // 4, device="cuda")
    target = torch.empty_like(source)
    notes = torch.zeros(2, 256, 2, dtype=torch.int64, device="cuda")
    groups = {}

    def group_of(case):
        key = case.get("protocol"), case.get("channels", 0)
        if key not in groups:
            for name, value in (("NCCL_PROTO", key[0]), ("NCCL_ALGO", key[0] and "Ring")):
                os.environ.pop(name, None)
                if value:
                    os.environ[name] = value
            options = dist.ProcessGroupNCCL.Options()
            if key[1]:
                options.config.min_ctas = options.config.max_ctas = key[1]
            groups[key] = dist.new_group([0, 1], backend="nccl", pg_options=options)
            dist.all_reduce(source[:8], group=groups[key])
        return groups[key]

    def call(case, group):
        count = case.get("bytes", 0) // 4
        if case["what"] == "kernel":
            nothing[(1,)](notes, num_warps=1)
        elif case["what"] == "copy":
            target[:count].copy_(source[:count])
        elif case["what"] == "all_reduce":
            dist.all_reduce(source[:count], group=group)
        elif case["what"] == "all_gather":
            dist.all_gather_into_tensor(target[:count], source[:count // 2], group=group)
        elif case["what"] == "reduce_scatter":
            dist.reduce_scatter_tensor(target[:count // 2], source[:count], group=group)
        else:
            sends = dist.P2POp(dist.isend, source[:count], 1 - rank, group)
            receives = dist.P2POp(dist.irecv, target[:count], 1 - rank, group)
            for work in dist.batch_isend_irecv([sends, receives]):
                work.wait()

    def compute(times):
        for _ in range(times):
            torch.mm(*sides, out=product)

    # The calls between two notes, after one that brings both GPUs together.
    def graph_of(case):
        group = group_of(case)
        for _ in range(2):
            call(case, group)
        torch.cuda.synchronize()
        case["calls"] = max(8, min(40, int(800 / (15 + case.get("bytes", 0) / 2e5))))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            dist.all_reduce(source[:8], group=meeting)
            note[(sms,)](notes[0], num_warps=1)
            for _ in range(case["calls"]):
                call(case, group)
            note[(sms,)](notes[1], num_warps=1)
        return graph

    def window(case, graph):
        graph.replay()
        begin, end = notes.cpu()
        passed = (end - begin)[(begin[:, 0] > 0) & (end[:, 0] > begin[:, 0])]
        clocks = sorted((1e3 * passed[:, 1] / passed[:, 0]).tolist())
        time = statistics.median(passed[:, 0].tolist()) / 1e3 / case["calls"]
        return [round(clocks[len(clocks) // 2]), round(time, 3), round(clocks[0]), round(clocks[-1])]

    note[(sms,)](notes[0], num_warps=1)
    nothing[(1,)](notes, num_warps=1)
    meeting = dist.new_group([0, 1], backend="nccl")
    dist.all_reduce(source[:8], group=meeting)
    everything = list(cases())
    graphs = [graph_of(case) for case in everything]
    dist.barrier()
    order = random.Random(1)
    found = [[] for _ in everything]
    deck = []
    rounds = int(os.environ.get("ROUNDS", "90"))
    left = rounds * len(everything)
    compute(1000)
    while left > 0:
        compute(order.choice((10, 25, 60)))
        for _ in range(min(left, order.choice((6, 15, 40, 120)))):
            if not deck:
                deck = order.sample(range(len(everything)), len(everything))
            at = deck.pop()
            found[at].append(window(everything[at], graphs[at]))
            left -= 1
    every = [None, None]
    dist.all_gather_object(every, found)
    if rank == 0:
        spread = [w[3] / w[2] - 1 for of in every for windows in of for w in windows]
        print(f"SMs' clocks in a window differ by {100 * statistics.median(spread):.2f} %, at most {100 * max(spread):.2f} %")
        for i, case in enumerate(everything):
            pairs = [[a[0], b[0], round((a[1] + b[1]) / 2, 2)] for a, b in zip(every[0][i], every[1][i])]
            case["windows"] = order.sample(pairs, min(KEPT, len(pairs)))
        head = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version())),
                "type": "float", "windows": "clock of either GPU in MHz, us a call"}
        lines = [f'"{key}": {json.dumps(value)}' for key, value in head.items()]
        lines.append('"cases": [\n' + ",\n".join(json.dumps(case) for case in everything) + "\n]")
        with open(path, "w") as file:
            file.write("{\n" + ",\n".join(lines) + "\n}\n")
    dist.barrier()
    torch.cuda.synchronize()
    os._exit(0)  # graphs hold communicators


def name_of(case):
    return " ".join(str(case[key]) for key in ("what", "protocol") if key in case) + (" 1 channel" if "channels" in case else "")


# Time at full clock, and of it the share that goes as one over the clock: t = t0 (1 + share (1980 MHz / clock - 1)), robustly.
def fit(windows):
    points = [(FULL_MHZ * (1 / a + 1 / b) / 2 - 1, t) for a, b, t in windows]
    weights = [1.0] * len(points)
    for _ in range(20):
        total = sum(weights)
        x0, t0 = (sum(w * p[i] for w, p in zip(weights, points)) / total for i in (0, 1))
        slope = sum(w * (x - x0) * (t - t0) for w, (x, t) in zip(weights, points)) / sum(w * (x - x0) ** 2 for w, (x, _) in zip(weights, points))
        off = [abs(t - t0 - slope * (x - x0)) for x, t in points]
        scale = max(1.5 * statistics.median(off), 1e-9)
        weights = [1 / max(1.0, o / scale) for o in off]
    at_full = t0 - slope * x0
    total = sum(weights)
    spread = sum(w * (x - x0) ** 2 for w, (x, _) in zip(weights, points))
    error = (sum(w * o * o for w, o in zip(weights, off)) / total / spread) ** 0.5
    return at_full, slope / at_full, error / at_full, min(p[0] for p in points), max(p[0] for p in points)


# As `weft measure` writes them: every kind of call at full clock and at the low one, by the fits.
def records(cases):
    gpus = [{"index": i, "name": "NVIDIA H200", "pci": f"0000:00:0{6 + i}.0", "max_sm_mhz": FULL_MHZ} for i in (0, 1)]
    lines = [{"weft_measurements": 1, "kind": "header", "set": "full", "machine": {"nccl": 22809, "gpus": gpus}}]
    for case in cases:
        at_full, share, *_ = fit(case["windows"])
        env = {"NCCL_NVLS_ENABLE": "0"}
        if "protocol" in case:
            env |= {"NCCL_ALGO": "Ring", "NCCL_PROTO": case["protocol"]}
        if "channels" in case:
            env |= {f"NCCL_{end}_NCHANNELS": str(case["channels"]) for end in ("MIN", "MAX")}
        for mhz in (FULL_MHZ, LOW_MHZ):
            lines.append({"kind": "collective", "id": str(len(lines)), "set": "full", "collective": case["what"], "bytes": case["bytes"],
                          "median_us": at_full * (1 + share * (FULL_MHZ / mhz - 1)), "inner": case["calls"], "clock": {"sm_mhz": mhz},
                          "count": case["bytes"] // 4, "type": "float", "redop": "sum", "root": -1, "in_place": False, "ranks": 2,
                          "nodes": 1, "layout": {"processes": 2, "threads": 1, "gpus_per_thread": 1}, "gpus": [0, 1], "env": env,
                          "launch": "graph", "check": "ok"})
    lines.append({"kind": "end", "reason": "finished"})
    return "".join(json.dumps(line) + "\n" for line in lines)


def compare(path, program, cluster):
    cases = json.loads(pathlib.Path(path).read_text())["cases"]
    calls = [case for case in cases if case.get("calls") and case["what"] not in ("kernel", "copy")]
    with tempfile.TemporaryDirectory() as folder:
        log, out = pathlib.Path(folder, "clocks.jsonl"), pathlib.Path(folder, "out.json")
        log.write_text(records(calls))
        subprocess.run([program, "validate", "-q", "--cluster", cluster, log, "--json", out], stdout=subprocess.DEVNULL, check=False)
        predicted = {round(p["measured_us"], 6): p["predicted_us"] for p in json.loads(out.read_text())["points"]}
    low = FULL_MHZ / LOW_MHZ - 1
    off = []
    print(f"{'':27} {'bytes':>10} {'us':>9} {'share':>6} {'+-':>5}   predicted")
    for case in cases:
        at_full, share, error, *_ = fit(case["windows"])
        line = f"{name_of(case):27} {case.get('bytes', 0):10} {at_full:9.2f} {share:6.2f} {error:5.2f}"
        if case in calls:
            full, slow = (predicted[round(at_full * (1 + share * x), 6)] for x in (0, low))
            line += f"   {full:9.2f} {(slow / full - 1) / low:6.2f}"
            off.append(slow / full / (1 + share * low) - 1)
        print(line)
    mean_square = statistics.mean(o * o for o in off)
    print(f"time at {LOW_MHZ} MHz over that at {FULL_MHZ}: off by {100 * mean_square ** 0.5:.1f} % (root mean square of {len(off)})")


if len(sys.argv) > 2:
    compare(*sys.argv[1:])
else:
    measure(sys.argv[1])
