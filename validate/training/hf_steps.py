#!/usr/bin/env python3
"""Times training steps of Hugging Face's models (transformers, random weights) that no parameter of Weft has seen.

    validate/training/hf_steps.py OUT.json [NAME...] [--set later]

Needs PyTorch with CUDA and transformers 5; takes four minutes on one GPU. Five steps on one GPU: small and paced by the host, an 8B
shape with recomputation, compiled layers, a larger batch with norms of queries and keys, a mixture of experts. With two GPUs or
more, two further ones on two: DDP and FSDP2. Each runs in processes of its own: one that fails leaves the others, and its reason is
in the file. `--set later` has others of the same seven kinds, written after the first set had been scored. bf16 parameters and fused AdamW without master weights; random tokens, nothing read.

Of each: ten steps that end in a wait, one loop without waits of a second, and one profiled step by category
(trace_categories.py) with its kernels by name.
"""
import argparse
import collections
import datetime
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import new_steps

WARM_UP, STEPS, LOOP_SECONDS = 5, 10, 1.0
LIMIT_SECONDS = 100  # of a configuration

# Keys as in config.json; `family` is transformers' class.
SMALL = {"family": "Llama", "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 16, "num_attention_heads": 16,
         "num_key_value_heads": 16, "head_dim": 64, "vocab_size": 32000}
LLAMA_8B = {"family": "Llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 4, "num_attention_heads": 32,
            "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256}
LLAMA_1B = {"family": "Llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 12, "num_attention_heads": 32,
            "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 32000}
QWEN = {"family": "Qwen3", "hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 6, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 32000}
EXPERTS = {"family": "Qwen3Moe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 32,
           "num_experts_per_tok": 8, "norm_topk_prob": True, "decoder_sparse_step": 1, "num_hidden_layers": 6,
           "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 32000}
TINY = {"family": "Llama", "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 12,
        "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 32000}
QWEN_8B = {"family": "Qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 4, "num_attention_heads": 32,
           "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}
LLAMA_3B = {"family": "Llama", "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 8, "num_attention_heads": 24,
            "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 32000}
LLAMA_2B = {"family": "Llama", "hidden_size": 2560, "intermediate_size": 6912, "num_hidden_layers": 10, "num_attention_heads": 20,
            "num_key_value_heads": 20, "head_dim": 128, "vocab_size": 50304}
FEW_EXPERTS = {"family": "Qwen3Moe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 1024, "num_experts": 16,
               "num_experts_per_tok": 4, "norm_topk_prob": True, "decoder_sparse_step": 1, "num_hidden_layers": 8,
               "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 32000}
FIRST = {
    "small": {"model": SMALL, "sequence": 512, "micro": 1},
    "recomputed": {"model": LLAMA_8B, "sequence": 4096, "micro": 2, "recompute": True},
    "compiled": {"model": LLAMA_1B, "sequence": 4096, "micro": 2, "compile": True},
    "batch": {"model": QWEN, "sequence": 2048, "micro": 6},
    "experts": {"model": EXPERTS, "sequence": 4096, "micro": 1},
    "ddp": {"model": LLAMA_1B, "sequence": 2048, "micro": 2, "world": 2, "mode": "ddp"},
    "fsdp": {"model": LLAMA_8B, "sequence": 2048, "micro": 2, "world": 2, "mode": "fsdp"},
}
LATER = {
    "small": {"model": TINY, "sequence": 1024, "micro": 1},
    "recomputed": {"model": QWEN_8B, "sequence": 2048, "micro": 4, "recompute": True},
    "compiled": {"model": LLAMA_3B, "sequence": 2048, "micro": 4, "compile": True},
    "batch": {"model": LLAMA_2B, "sequence": 1024, "micro": 12},
    "experts": {"model": FEW_EXPERTS, "sequence": 2048, "micro": 3},
    "ddp": {"model": LLAMA_2B, "sequence": 2048, "micro": 2, "world": 2, "mode": "ddp"},
    "fsdp": {"model": QWEN_8B, "sequence": 4096, "micro": 1, "world": 2, "mode": "fsdp"},
}
SETS = {"first": FIRST, "later": LATER}


def configurations(world, which="first"):
    found = {name: {"world": 1, "mode": "one", "recompute": False, "compile": False, **shape} for name, shape in SETS[which].items()}
    return {name: shape for name, shape in found.items() if shape["world"] <= world}


def model_of(shape, torch, device):
    import transformers
    keys = dict(shape["model"])
    family = keys.pop("family")
    config = getattr(transformers, family + "Config")(max_position_embeddings=shape["sequence"], use_cache=False,
                                                     tie_word_embeddings=False, **keys)
    config._attn_implementation = "sdpa"  # pylint: disable=protected-access
    with torch.device(device):
        model = getattr(transformers, family + "ForCausalLM")(config).to(torch.bfloat16)
    model.train()
    if shape["recompute"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if shape["compile"]:
        for layer in model.model.layers:
            layer.compile()
    return model


def step_of(shape, torch, device):
    model = model_of(shape, torch, device)
    if shape["mode"] == "ddp":
        wrapped = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index], gradient_as_bucket_view=True)
    else:
        wrapped = model
    if shape["mode"] == "fsdp":
        from torch.distributed.fsdp import fully_shard
        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    tokens = torch.randint(0, shape["model"]["vocab_size"], (shape["micro"], shape["sequence"]), device=device)

    def step():
        wrapped(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def kernels_of(trace):
    """[name, count, microseconds] of a profiled step, longest first."""
    sums = collections.defaultdict(lambda: [0, 0.0])
    for event in json.loads(trace)["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            each = sums[event["name"][:160]]
            each[0] += 1
            each[1] += float(event["dur"])
    return sorted(([name, count, round(total, 1)] for name, (count, total) in sums.items()), key=lambda row: -row[2])[:70]


def work(options):
    import torch
    import torch.distributed as dist
    import transformers
    shape, rank = json.loads(options.shape), options.rank
    world = shape["world"]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port), NCCL_NVLS_ENABLE="0")
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    if world > 1:
        dist.init_process_group("nccl", rank=rank, world_size=world, timeout=datetime.timedelta(seconds=LIMIT_SECONDS))
    barrier = dist.barrier if world > 1 else lambda: None
    torch.manual_seed(1)
    step = step_of(shape, torch, device)
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    barrier()
    times = []
    for _ in range(STEPS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        step()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    peak = torch.cuda.max_memory_allocated() / 2**30
    count = torch.tensor([max(STEPS, int(LOOP_SECONDS * 1e3 / max(statistics.median(times), 1.0)))], device=device)
    if world > 1:
        dist.all_reduce(count, op=dist.ReduceOp.MAX)
    loops = int(count)
    barrier()
    loop_began, start = time.time(), time.perf_counter()
    for _ in range(loops):
        step()
    torch.cuda.synchronize()
    steady = 1e3 * (time.perf_counter() - start) / loops
    result = {"rank": rank, "times_ms": times, "median_ms": statistics.median(times), "steady_ms": steady, "steps": loops,
              "loop": [loop_began, time.time()], "torch": torch.__version__, "transformers": transformers.__version__,
              "cuda": torch.version.cuda, "gpu": torch.cuda.get_device_name(device), "peak_gib": peak,
              "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
    pathlib.Path(options.folder, f"{rank}.json").write_text(json.dumps(result))
    barrier()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        step()
        torch.cuda.synchronize()
    plain = pathlib.Path(options.folder, f"{rank}.trace")
    profiler.export_chrome_trace(str(plain))
    with gzip.open(pathlib.Path(options.folder, f"step.kineto.rank{rank}.json.gz"), "wb", 1) as file:
        file.write(plain.read_bytes())
    barrier()
    if world > 1:
        dist.destroy_process_group()


def measured(name, shape):
    with tempfile.TemporaryDirectory() as folder:
        port = new_steps.free_port()
        with open(pathlib.Path(folder, "smi.csv"), "w+") as smi:
            watcher = new_steps.watch(smi)
            logs = [open(pathlib.Path(folder, f"{rank}.log"), "w+") for rank in range(shape["world"])]
            workers = [subprocess.Popen([sys.executable, __file__, "-", "--rank", str(rank), "--port", str(port), "--folder", folder,
                                         "--shape", json.dumps(shape)], stdout=log, stderr=subprocess.STDOUT)
                       for rank, log in enumerate(logs)]
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
        result.update({key: first[key] for key in ("gpu", "torch", "transformers", "cuda", "nccl", "median_ms", "steady_ms")})
        result["peak_gib"] = statistics.median(each["peak_gib"] for each in result["ranks"])
        result["clocks"] = new_steps.seen(samples, first["loop"], shape["world"])
        result["categories_ms"] = new_steps.categories(folder)
        trace = pathlib.Path(folder, "0.trace")
        result["kernels"] = kernels_of(trace.read_text()) if trace.exists() else []
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--set", choices=SETS, default="first", help="which steps")
    for key, kind in (("rank", int), ("port", int), ("folder", str), ("shape", str)):
        parser.add_argument(f"--{key}", type=kind, help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.rank is not None:
        work(options)
        return 0
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    world = sum(line.startswith("GPU ") for line in listed.splitlines())
    results = []
    for name, shape in configurations(world, options.set).items():
        if options.names and name not in options.names:
            continue
        began = time.time()
        try:
            results.append(measured(name, shape))
        except Exception as error:  # pylint: disable=broad-except
            results.append({"name": name, "shape": shape, "errors": [repr(error)]})
        last = results[-1]
        print(f"{name:12} {last.get('median_ms', float('nan')):9.2f} ms, in a loop {last.get('steady_ms', float('nan')):9.2f}, "
              f"{last.get('peak_gib', float('nan')):6.2f} GiB, {time.time() - began:.0f} s{'  FAILED' if 'errors' in last else ''}",
              flush=True)
        for error in last.get("errors", []):
            print(error if isinstance(error, str) else error["log"][-800:], flush=True)
        pathlib.Path(options.out).write_text(json.dumps({"gpus": world, "set": options.set, "steps": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
