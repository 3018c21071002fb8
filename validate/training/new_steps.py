#!/usr/bin/env python3
"""Times training steps of PyTorch in eager mode whose configurations no parameter of Weft has seen, on the GPUs present.

    validate/training/new_steps.py OUT.json [NAME...] [--world N]

Needs PyTorch with CUDA and one, two or four GPUs; takes three minutes. Six steps over all GPUs (DDP, FSDP2, tensor and pipeline
parallel), four on one. Each is a set of processes of its own, so that one that fails leaves the others. bf16 parameters and
fused AdamW without master weights; random tokens, nothing read. NVLS is off, as in the steps that Weft has been compared with.

Of each: ten steps that end in a wait, one loop without waits of at least two seconds, and one profiled step by category
(trace_categories.py). Clocks and power are nvidia-smi's during the loop. `--device cpu --tiny` runs all of it with gloo on
processors, to try the program itself.
"""
import argparse
import datetime
import gzip
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

VOCAB = 32000
WARM_UP, STEPS, LOOP_SECONDS = 5, 10, 2.0
LIMIT_SECONDS = 75  # of a configuration


def configurations(world):
    """By name; `tensor`, `data` and `pipeline` are degrees."""
    shapes = {
        "ddp": {"mode": "ddp", "hidden": 3072, "layers": 12, "ffn": 8192, "heads": 24, "sequence": 2048, "micro": 2},
        "fsdp_wide": {"mode": "fsdp", "hidden": 5120, "layers": 8, "ffn": 13824, "heads": 40, "sequence": 4096, "micro": 1},
        "fsdp_deep": {"mode": "fsdp", "hidden": 2048, "layers": 24, "ffn": 5632, "heads": 16, "sequence": 4096, "micro": 2},
        "tp": {"mode": "tp", "hidden": 6144, "layers": 6, "ffn": 16384, "heads": 48, "sequence": 4096, "micro": 1},
        "tp2": {"mode": "tp", "hidden": 5120, "layers": 6, "ffn": 13824, "heads": 40, "sequence": 2048, "micro": 2,
                "microbatches": 2, "tensor": 2},
        "pp": {"mode": "pp", "hidden": 3072, "layers": 16, "ffn": 8192, "heads": 24, "sequence": 2048, "micro": 1, "microbatches": 8},
        "one_small": {"mode": "one", "hidden": 2048, "layers": 16, "ffn": 5632, "heads": 16, "sequence": 2048, "micro": 4},
        "one_wide": {"mode": "one", "hidden": 8192, "layers": 3, "ffn": 28672, "heads": 64, "sequence": 4096, "micro": 1},
        "one_long": {"mode": "one", "hidden": 4096, "layers": 4, "ffn": 11008, "heads": 32, "sequence": 16384, "micro": 1},
        "one_short": {"mode": "one", "hidden": 5120, "layers": 6, "ffn": 13824, "heads": 40, "sequence": 1024, "micro": 1},
    }
    for shape in shapes.values():
        mode = shape["mode"]
        shape.setdefault("microbatches", 1)
        shape["world"] = 1 if mode == "one" else world
        shape.setdefault("tensor", world if mode == "tp" else 1)
        shape["pipeline"] = world if mode == "pp" else 1
        shape["data"] = shape["world"] // shape["tensor"] // shape["pipeline"]
    return {name: shape for name, shape in shapes.items() if shape["world"] > 1 or shape["mode"] == "one"}


def tiny(shape):
    return {**shape, "hidden": 64 * shape["tensor"], "heads": 2 * shape["tensor"], "ffn": 64 * shape["tensor"], "sequence": 32}


# ---- One process of one configuration.

def model_of(shape, torch, dist, device, groups):
    """Layers, embedding and head of this rank, with every operator a kernel of its own."""
    from torch import nn
    functional, dtype = torch.nn.functional, torch.bfloat16
    tensor, group = shape["tensor"], groups.get("tensor")

    class Enter(torch.autograd.Function):
        """Into the part that is split: gradients are summed."""

        @staticmethod
        def forward(_, x):
            return x.view_as(x)

        @staticmethod
        def backward(_, gradient):
            gradient = gradient.contiguous()
            dist.all_reduce(gradient, group=group)
            return gradient

    class Leave(torch.autograd.Function):
        """Out of it: results are summed."""

        @staticmethod
        def forward(_, x):
            x = x.contiguous()
            dist.all_reduce(x, group=group)
            return x

        @staticmethod
        def backward(_, gradient):
            return gradient

    def enter(x):
        return Enter.apply(x) if tensor > 1 else x

    def leave(x):
        return Leave.apply(x) if tensor > 1 else x

    def linear(inputs, outputs):
        return nn.Linear(inputs, outputs, bias=False, device=device, dtype=dtype)

    class Norm(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width, device=device, dtype=dtype))

        def forward(self, x):
            return functional.rms_norm(x, self.weight.shape, self.weight, 1e-5)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            hidden, ffn = shape["hidden"], shape["ffn"]
            self.heads, self.width = shape["heads"] // tensor, hidden // shape["heads"]
            self.before_attention, self.before_ffn = Norm(hidden), Norm(hidden)
            self.projection, self.output = linear(hidden, 3 * hidden // tensor), linear(hidden // tensor, hidden)
            self.up, self.down = linear(hidden, 2 * ffn // tensor), linear(ffn // tensor, hidden)

        def forward(self, x):
            batch, tokens, _ = x.shape
            projected = self.projection(enter(self.before_attention(x)))
            query, key, value = projected.view(batch, tokens, 3, self.heads, self.width).permute(2, 0, 3, 1, 4)
            y = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + leave(self.output(y.transpose(1, 2).reshape(batch, tokens, self.heads * self.width)))
            gate, up = self.up(enter(self.before_ffn(x))).chunk(2, -1)
            return x + leave(self.down(functional.silu(gate) * up))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            stage, stages = groups["stage"], shape["pipeline"]
            first, last = stage == 0, stage == stages - 1
            self.embedding = nn.Embedding(VOCAB, shape["hidden"], device=device, dtype=dtype) if first else None
            self.layers = nn.ModuleList(Layer() for _ in range(shape["layers"] // stages))
            self.norm, self.head = (Norm(shape["hidden"]), linear(shape["hidden"], VOCAB)) if last else (None, None)

        def forward(self, x):
            if self.embedding is not None:
                x = self.embedding(x)
            for layer in self.layers:
                x = layer(x)
            return x if self.head is None else self.head(self.norm(x))

    return Model()


def step_of(shape, torch, dist, device, rank, world):
    """One training step as a function."""
    tensor = shape["tensor"]
    groups = {"stage": rank if shape["mode"] == "pp" else 0}
    if tensor > 1:
        for first in range(0, world, tensor):
            made = dist.new_group(list(range(first, first + tensor)))
            if first <= rank < first + tensor:
                groups["tensor"] = made
        for first in range(tensor):
            made = dist.new_group(list(range(first, world, tensor)))
            if rank % tensor == first:
                groups["data"] = made
    model = model_of(shape, torch, dist, device, groups)
    micro, microbatches = shape["micro"], shape["microbatches"]
    tokens = torch.randint(0, VOCAB, (micro * microbatches, shape["sequence"]), device=device)
    targets = tokens.roll(-1, 1)

    def loss(output, target):
        return torch.nn.functional.cross_entropy(output.view(-1, VOCAB).float(), target.reshape(-1))

    ids = [device.index] if device.type == "cuda" else None
    if shape["mode"] == "ddp" or (tensor > 1 and shape["data"] > 1):
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=ids, process_group=groups.get("data"),
                                                          gradient_as_bucket_view=True)
    elif shape["mode"] == "fsdp":
        from torch.distributed.fsdp import fully_shard
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
    schedule = None
    if shape["mode"] == "pp":
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B
        schedule = Schedule1F1B(PipelineStage(model, rank, world, device), microbatches, loss_fn=loss)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def backward(part):
        loss(model(tokens[part * micro:(part + 1) * micro]), targets[part * micro:(part + 1) * micro]).backward()

    def step():
        if schedule is not None:
            arguments = (tokens,) if rank == 0 else ()
            schedule.step(*arguments, **({"target": targets} if rank == world - 1 else {}))
        else:
            for part in range(microbatches):
                if part + 1 < microbatches and hasattr(model, "no_sync"):
                    with model.no_sync():
                        backward(part)
                else:
                    backward(part)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def work(options):
    import torch
    import torch.distributed as dist
    shape, rank = json.loads(options.shape), options.rank
    world, on_gpu = shape["world"], options.device == "cuda"
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port), NCCL_NVLS_ENABLE="0")
    device = torch.device("cuda", rank) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo", rank=rank, world_size=world,
                            timeout=datetime.timedelta(seconds=LIMIT_SECONDS))
    torch.manual_seed(1)
    step = step_of(shape, torch, dist, device, rank, world)
    wait = torch.cuda.synchronize if on_gpu else lambda: None

    for _ in range(WARM_UP if on_gpu else 1):
        step()
    wait()
    dist.barrier()
    times = []
    for _ in range(STEPS if on_gpu else 2):
        if on_gpu:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            step()
            end.record()
            wait()
            times.append(begin.elapsed_time(end))
        else:
            start = time.perf_counter()
            step()
            times.append(1e3 * (time.perf_counter() - start))
    # As many on every rank.
    count = torch.tensor([max(STEPS, int(LOOP_SECONDS * 1e3 / max(statistics.median(times), 1.0))) if on_gpu else 2], device=device)
    dist.all_reduce(count, op=dist.ReduceOp.MAX)
    wait()
    dist.barrier()
    loop_began, start = time.time(), time.perf_counter()
    for _ in range(int(count)):
        step()
    wait()
    steady = 1e3 * (time.perf_counter() - start) / int(count)
    result = {"rank": rank, "times_ms": times, "median_ms": statistics.median(times), "steady_ms": steady, "steps": int(count),
              "loop": [loop_began, time.time()], "torch": torch.__version__, "cuda": torch.version.cuda,
              "gpu": torch.cuda.get_device_name(device) if on_gpu else "cpu",
              "nccl": ".".join(map(str, torch.cuda.nccl.version())) if on_gpu else None,
              "peak_gib": torch.cuda.max_memory_allocated() / 2**30 if on_gpu else 0.0}
    target = pathlib.Path(options.folder, f"{rank}.json")
    target.write_text(json.dumps(result))
    dist.barrier()
    activities = [torch.profiler.ProfilerActivity.CPU] + ([torch.profiler.ProfilerActivity.CUDA] if on_gpu else [])
    with torch.profiler.profile(activities=activities) as profiler:
        step()
        wait()
    plain = pathlib.Path(options.folder, f"{rank}.trace")
    profiler.export_chrome_trace(str(plain))
    with gzip.open(pathlib.Path(options.folder, f"step.kineto.rank{rank}.json.gz"), "wb", 1) as file:
        file.write(plain.read_bytes())
    dist.barrier()
    dist.destroy_process_group()


# ---- The process that starts those.

def free_port():
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def watch(file):
    """nvidia-smi that writes clocks and power five times a second; None where there is none."""
    query = "timestamp,index,clocks.sm,power.draw,temperature.gpu"
    try:
        return subprocess.Popen(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", "-lms", "200"], stdout=file,
                                stderr=subprocess.DEVNULL)
    except OSError:
        return None


def seen(text, loop, world):
    """Medians over the loop, by GPU."""
    by_gpu = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        try:
            at = datetime.datetime.strptime(fields[0], "%Y/%m/%d %H:%M:%S.%f").timestamp()
            if loop[0] + 0.5 <= at <= loop[1] and int(fields[1]) < world:
                by_gpu.setdefault(int(fields[1]), []).append([float(field) for field in fields[2:5]])
        except (ValueError, IndexError):
            continue
    return [{"gpu": gpu, "sm_mhz": statistics.median(row[0] for row in rows), "watts": statistics.median(row[1] for row in rows),
             "temperature_c": statistics.median(row[2] for row in rows), "samples": len(rows)} for gpu, rows in sorted(by_gpu.items())]


def categories(folder):
    import trace_categories
    try:
        return trace_categories.summarize(sorted(pathlib.Path(folder).glob("step.kineto.rank*.json.gz")))["median_ms"]
    except Exception as error:  # pylint: disable=broad-except
        return {"error": repr(error)}


def measured(name, shape, options):
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        with open(pathlib.Path(folder, "smi.csv"), "w+") as smi:
            watcher = watch(smi) if options.device == "cuda" else None
            logs = [open(pathlib.Path(folder, f"{rank}.log"), "w+") for rank in range(shape["world"])]
            workers = [subprocess.Popen([sys.executable, __file__, "-", "--rank", str(rank), "--port", str(port), "--folder", folder,
                                         "--device", options.device, "--shape", json.dumps(shape)],
                                        stdout=log, stderr=subprocess.STDOUT) for rank, log in enumerate(logs)]
            end = time.time() + LIMIT_SECONDS
            while any(worker.poll() is None for worker in workers) and time.time() < end:
                if any(worker.poll() not in (None, 0) for worker in workers):
                    time.sleep(1)
                    break
                time.sleep(0.05)
            codes = [worker.poll() for worker in workers]
            for process in workers + ([watcher] if watcher else []):
                if process.poll() is None:
                    process.kill()
                process.wait()
            smi.seek(0)
            samples = smi.read()
        result = {"name": name, "shape": shape, "ranks": []}
        for rank, log in enumerate(logs):
            log.seek(0)
            told = pathlib.Path(folder, f"{rank}.json")
            if told.exists():
                result["ranks"].append(json.loads(told.read_text()))
            if codes[rank] != 0:
                result.setdefault("errors", []).append({"rank": rank, "code": codes[rank], "log": log.read()[-2000:]})
            log.close()
        if not result["ranks"]:
            return result
        first = result["ranks"][0]
        result.update({key: first[key] for key in ("gpu", "torch", "cuda", "nccl", "median_ms", "steady_ms")})
        result["clocks"] = seen(samples, first["loop"], shape["world"])
        result["categories_ms"] = categories(folder)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--world", type=int, help="GPUs; all (1, 2 or 4)")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--tiny", action="store_true")
    for key, kind in (("rank", int), ("port", int), ("folder", str), ("shape", str)):
        parser.add_argument(f"--{key}", type=kind, help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.rank is not None:
        work(options)
        return 0
    world = options.world
    if not world:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
        count = sum(line.startswith("GPU ") for line in listed.splitlines())
        world = 4 if count >= 4 else 2 if count >= 2 else 1
    results = []
    for name, shape in configurations(world).items():
        if options.names and name not in options.names:
            continue
        began = time.time()
        try:
            results.append(measured(name, tiny(shape) if options.tiny else shape, options))
        except Exception as error:  # pylint: disable=broad-except
            results.append({"name": name, "shape": shape, "errors": [repr(error)]})
        last = results[-1]
        print(f"{name:12} {last.get('median_ms', float('nan')):9.2f} ms, in a loop {last.get('steady_ms', float('nan')):9.2f}, "
              f"{time.time() - began:.0f} s{'  FAILED' if 'errors' in last else ''}", flush=True)
        for error in last.get("errors", []):
            print(error if isinstance(error, str) else error["log"][-500:], flush=True)
        pathlib.Path(options.out).write_text(json.dumps({"world": world, "steps": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
