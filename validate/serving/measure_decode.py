"""Times layers of a transformer in CUDA graphs, decoding and prefilling, on 1 and 2 GPUs, as `weft step --library torch` has them.

    python3 measure_decode.py OUT [--set first] [--seconds 100]

`--set later`, `third` and `fourth` are lists of other models, batches and lengths, each written after the one before had been scored.
Writes OUT/decode_tp1.json and, where there are two GPUs, OUT/decode_tp2.json. The layers are those of `weft measure --serving`
(../measure/weft_serving_blocks.py). Each point is the median of 15 replays (60 of a prefill of those sets, whose times in turn are kept: the
clock falls under them); a few have their kernels beside it, as torch's profiler sees them. A point that fails is told and left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "measure"))
import weft_serving_blocks as blocks

MODELS = {  # hidden, ffn, heads, kv heads
    "70b": (8192, 28672, 64, 8),
    "8b": (4096, 14336, 32, 8),
    "32b": (5120, 27648, 40, 8),
    "14b": (5120, 13824, 40, 8),
    "3b": (3072, 8192, 24, 8),
    "22b": (6144, 16384, 48, 8),
    "1b": (2048, 8192, 32, 8),
    "13b": (5120, 13824, 40, 40),
    "7b": (3584, 18944, 28, 4),
}
LAYERS = 8
DECODE = [(1, 1024), (4, 4096), (16, 1024), (16, 16384), (32, 2048), (64, 4096), (128, 1024), (256, 512)]  # batch, context
PREFILL = [(1, 512), (1, 1024), (2, 2048), (1, 4096)]  # batch, tokens
PLACES = [("70b", b, 1, c) for b, c in DECODE] + [("70b", b, t, t) for b, t in PREFILL] + \
         [("8b", b, 1, c) for b, c in DECODE] + [("8b", b, t, t) for b, t in PREFILL] + \
         [("32b", b, 1, c) for b, c in DECODE[2:6:3]] + [("32b", b, t, t) for b, t in PREFILL[1:3]]
LATER_DECODE = [(2, 2048), (8, 8192), (24, 1024), (48, 3072), (96, 2048), (192, 768)]
LATER_PREFILL = [(4, 256), (1, 2048), (2, 1024), (1, 6144)]
LATER = [(model, b, t, t) for model in ("14b", "3b") for b, t in LATER_PREFILL] + \
        [(model, b, 1, c) for model in ("14b", "3b") for b, c in LATER_DECODE] + [("70b", 8, 1, 2048), ("70b", 1, 768, 768)]
THIRD_DECODE = [(1, 4096), (12, 2048), (32, 6144), (80, 1536), (160, 1024), (256, 1024)]
THIRD_PREFILL = [(1, 384), (3, 256), (1, 1280), (5, 512), (1, 8192)]
THIRD = [(model, b, t, t) for model in ("22b", "1b") for b, t in THIRD_PREFILL] + \
        [(model, b, 1, c) for model in ("22b", "1b") for b, c in THIRD_DECODE] + \
        [("70b", 1, 640, 640), ("8b", 1, 896, 896), ("70b", 224, 1, 640)]
FOURTH_DECODE = [(1, 2048), (6, 4096), (20, 1024), (40, 3072), (72, 512), (144, 1024), (208, 512)]
FOURTH_PREFILL = [(1, 448), (2, 640), (1, 1536), (3, 1024)]
FOURTH = [(model, b, t, t) for model in ("13b", "7b") for b, t in FOURTH_PREFILL] + \
         [(model, b, 1, c) for model in ("13b", "7b") for b, c in FOURTH_DECODE] + \
         [("70b", 2, 384, 384), ("8b", 4, 1, 1024), ("70b", 48, 1, 2048)]
SETS = {"first": PLACES, "later": LATER, "third": THIRD, "fourth": FOURTH}
PROFILED = {("70b", 1, 1, 1024), ("8b", 1, 1, 1024), ("8b", 32, 1, 2048), ("70b", 64, 1, 4096), ("8b", 1, 512, 512),
            ("70b", 1, 4096, 4096)}


def kernels_of(torch, graph):
    """Kernels of one replay by name: how many, and their time together."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
    rows = []
    for event in seen.key_averages():
        total = getattr(event, "self_device_time_total", 0) or getattr(event, "self_cuda_time_total", 0)
        if total > 0:
            rows.append({"name": event.key[:120], "count": event.count / 3, "us": total / 3})
    return sorted(rows, key=lambda row: -row["us"])


def shape_of(name):
    hidden, ffn, heads, kv_heads = MODELS[name]
    return blocks.Shape(name, hidden, ffn, heads, kv_heads, hidden // heads, LAYERS)


def point(torch, dist, weights, place, world, device, replays):
    name, batch, tokens, context = place
    asked = blocks.Point(shape_of(name), LAYERS, world, batch, tokens, context)
    times, (graph, *_) = blocks.time_point(torch, dist, weights, asked, device, replays)
    row = dict(model=name, layers=LAYERS, tp=world, batch=batch, tokens=tokens, context=context, us=statistics.median(times),
               us_min=min(times), us_max=max(times))
    if replays > 15:
        row["times_us"] = [round(each, 1) for each in times]
    if place in PROFILED:
        try:
            row["kernels"] = kernels_of(torch, graph)  # which still needs what it reads
        except Exception as error:  # a profiler that cannot trace graphs takes nothing from the times
            row["kernels_error"] = str(error)[:200]
    return row


def pieces_of(torch, weights, name):
    """Single operators of a layer, 64 of them in a graph, and the whole layer: microseconds of each."""
    functional = torch.nn.functional
    hidden, ffn, heads, kv_heads = MODELS[name]
    width = hidden // heads
    rows = []
    for batch in (1, 8, 64):
        bf = dict(device="cuda", dtype=torch.bfloat16)
        x, y = torch.randn(batch, 1, hidden, **bf), torch.randn(batch, 1, hidden, **bf)
        wide = torch.randn(batch, 1, 2 * ffn, **bf)
        up, gate = wide.chunk(2, -1)
        half = torch.randn(batch, 1, ffn, **bf)
        qkv = torch.randn(batch, 1, heads + 2 * kv_heads, width, **bf).transpose(1, 2)
        q, k, v = qkv.split([heads, kv_heads, kv_heads], 1)
        caches = [torch.randn(2, batch, kv_heads, 2048, width, **bf) for _ in range(LAYERS)]

        def append(i):
            caches[i % LAYERS][0][:, :, -1:] = k

        def attend(i):
            return functional.scaled_dot_product_attention(q, caches[i % LAYERS][0], caches[i % LAYERS][1], enable_gqa=True)

        def pair(i):
            return functional.linear(functional.rms_norm(x, (hidden,), weights[i % LAYERS]["n1"]), weights[i % LAYERS]["qkv"])

        operators = {
            "add": lambda i: x + y,
            "chained_add": None,
            "rms_norm": lambda i: functional.rms_norm(x, (hidden,), weights[i % LAYERS]["n1"]),
            "silu_of_half": lambda i: functional.silu(up),
            "multiply_by_half": lambda i: half * gate,
            "append_keys": append,
            "attention": attend,
            "qkv": lambda i: functional.linear(x, weights[i % LAYERS]["qkv"]),
            "out": lambda i: functional.linear(x, weights[i % LAYERS]["out"]),
            "up": lambda i: functional.linear(x, weights[i % LAYERS]["up"]),
            "down": lambda i: functional.linear(half, weights[i % LAYERS]["down"]),
            "rms_norm_and_qkv": pair,
        }
        for what, operator in operators.items():
            def many():
                z = x
                for i in range(64):
                    if operator is None:
                        z = z + y
                    else:
                        operator(i)
            try:
                with torch.no_grad():
                    stream = torch.cuda.Stream()
                    stream.wait_stream(torch.cuda.current_stream())
                    with torch.cuda.stream(stream):
                        many()
                    torch.cuda.current_stream().wait_stream(stream)
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        many()
                    times = []
                    for _ in range(8):
                        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
                        begin.record()
                        graph.replay()
                        end.record()
                        torch.cuda.synchronize()
                        times.append(begin.elapsed_time(end) * 1e3 / 64)
                rows.append({"model": name, "operator": what, "batch": batch, "us": statistics.median(times[2:])})
            except Exception as error:
                rows.append({"model": name, "operator": what, "batch": batch, "error": str(error)[:200]})
    return rows


def gpu_state():
    query = "name,clocks.sm,clocks.max.sm,power.limit,driver_version"
    try:
        return subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True,
                              timeout=20).stdout.strip().splitlines()
    except Exception as error:
        return [str(error)]


def worker(rank, world, port, out, seconds, which):
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    if world > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        dist.init_process_group("nccl", rank=rank, world_size=world)
    begin = time.time()
    rows, failed, weights, at = [], [], None, None
    for place in SETS[which]:
        # All ranks stop at the same point.
        late = torch.tensor([time.time() - begin > seconds], device=device, dtype=torch.int32)
        if world > 1:
            dist.all_reduce(late)
        if late.item() > 0:
            failed.append({"place": place, "error": "no time left"})
            continue
        try:
            if at != place[0]:
                weights = None
                torch.cuda.empty_cache()
                weights, at = blocks.weights_of(torch, shape_of(place[0]), LAYERS, world, device), place[0]
            replays = 60 if which != "first" and place[2] > 1 else 15
            rows.append(point(torch, dist, weights, place, world, device, replays))
        except Exception as error:
            failed.append({"place": place, "error": str(error)[:300]})
            torch.cuda.empty_cache()
            if world > 1:
                break  # ranks may no longer be in step
            continue
        if rank == 0:
            row = rows[-1]
            print(f"{row['model']} tp{world} b {row['batch']:4d} t {row['tokens']:5d} ctx {row['context']:6d} {row['us']:10.1f} us",
                  flush=True)
            save(torch, out, world, rows, failed)
    pieces = []
    if world == 1 and which == "first":
        for name in ("70b", "8b"):
            try:
                weights = None
                torch.cuda.empty_cache()
                weights = blocks.weights_of(torch, shape_of(name), LAYERS, 1, device)
                pieces += pieces_of(torch, weights, name)
            except Exception as error:
                failed.append({"place": ["pieces", name], "error": str(error)[:300]})
    if rank == 0:
        save(torch, out, world, rows, failed, pieces)
    if world > 1:
        dist.destroy_process_group()


def save(torch, out, world, rows, failed, pieces=()):
    about = dict(torch=torch.__version__, nccl=".".join(map(str, torch.cuda.nccl.version())), gpu=torch.cuda.get_device_name(0),
                 state=gpu_state(), points=rows, failed=failed, pieces=list(pieces))
    with open(os.path.join(out, f"decode_tp{world}.json"), "w") as file:
        json.dump(about, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--set", choices=SETS, default="first", help="which list of points")
    parser.add_argument("--seconds", type=float, default=100, help="for each number of GPUs; points beyond are left out")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    import torch
    import torch.multiprocessing as processes
    for world in (1, 2):
        if torch.cuda.device_count() < world:
            print(f"{torch.cuda.device_count()} GPU: no points of {world}", file=sys.stderr)
            continue
        try:
            processes.spawn(worker, args=(world, 29511 + world, args.out, args.seconds, args.set), nprocs=world)
        except Exception as error:
            print(f"{world} GPUs: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
