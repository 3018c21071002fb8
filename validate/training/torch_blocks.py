#!/usr/bin/env python3
"""Times blocks of Llama-3 8B under PyTorch on the GPUs present, as torchtitan runs them, kernel by kernel.

    validate/training/torch_blocks.py OUT.json                                    # one GPU
    torchrun --nproc-per-node 2 validate/training/torch_blocks.py OUT.json        # rank 0 writes
    torchrun --nproc-per-node 2 validate/training/torch_blocks.py OUT.json later  # steps that torch_steps_later.md predicts

Needs PyTorch (2.11 was used) on Hopper, and nvidia-ml-py. One GPU: eager and compiled, bf16 and fp8 (dynamic scales of whole
tensors), with recomputation by operators, in full and without; several: the same under FSDP2, tensor parallel with sequence
parallelism (DTensor), and context parallel (ring). FlashAttention-2 throughout. First, one large product that runs a share of the
time only: what power and clock do. Weights are random and the optimizer runs; no input is read. Takes three to four minutes.

torch_blocks_summary.py says what a file means; validate/measured has those of an H100 and of two H200.
"""
import gc
import json
import os
import statistics
import sys
import time

import pynvml
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

import trace_categories

HIDDEN, HEADS, KV_HEADS, FFN, VOCAB = 4096, 32, 8, 14336, 16384
HEAD = HIDDEN // HEADS
WARM_UP, STEPS = 4, 10


def pairs(**settings):
    """Two and six layers: their difference is four layers."""
    return [{"layers": layers, "seq": 8192, **settings} for layers in (2, 6)]


ONE_GPU = [{"duty": True}, *pairs(batch=2, ac="op"), *pairs(batch=2, ac="op", compile=True),
           *pairs(batch=2, ac="op", compile=True, fp8=True), *pairs(batch=2, compile=True),
           {"layers": 2, "seq": 32768, "batch": 1, "ac": "full", "compile": True, "fp8": True}]
SEVERAL = [{"duty": True}, *pairs(batch=2, ac="op"), *pairs(batch=2, ac="op", compile=True),
           *pairs(batch=2, ac="op", compile=True, fp8=True), *pairs(batch=4, ac="op", tp=True),
           *pairs(batch=4, ac="op", tp=True, compile=True),
           {"layers": 2, "seq": 65536, "batch": 1, "ac": "full", "cp": True},
           {"layers": 2, "seq": 65536, "batch": 1, "ac": "full", "cp": True, "compile": True}]
# On two GPUs; not measured when they were written.
LATER = [{"layers": 4, "seq": 4096, "batch": 4, "ac": "full", "compile": True},
         {"layers": 4, "seq": 4096, "batch": 2, "ac": "op", "tp": True, "compile": True}]


def rotations(length):
    frequency = 1.0 / (500000.0 ** (torch.arange(0, HEAD, 2).float() / HEAD))
    return torch.polar(torch.ones(length, HEAD // 2), torch.outer(torch.arange(length), frequency))


def rotated(x, by):
    as_complex = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(as_complex * by.view(1, x.shape[1], 1, -1)).flatten(3).type_as(x)


def scale_of(x, largest):
    return x.abs().amax().float().clamp(min=1e-12) / largest


class Fp8Product(torch.autograd.Function):
    """x w^T and both gradients in fp8, every operand scaled by its own largest element."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        x_scale, w_scale = scale_of(x, 448.0), scale_of(w, 448.0)
        x8, w8 = (x.float() / x_scale).to(torch.float8_e4m3fn), (w.float() / w_scale).to(torch.float8_e4m3fn)
        return torch._scaled_mm(x8, w8.t(), scale_a=x_scale, scale_b=w_scale, out_dtype=torch.bfloat16, use_fast_accum=True)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g = g.contiguous()
        g_scale, w_scale, x_scale = scale_of(g, 57344.0), scale_of(w, 448.0), scale_of(x, 448.0)
        g8 = (g.float() / g_scale).to(torch.float8_e5m2)
        w8 = (w.t().contiguous().float() / w_scale).to(torch.float8_e4m3fn)
        input_gradient = torch._scaled_mm(g8, w8.t(), scale_a=g_scale, scale_b=w_scale, out_dtype=torch.bfloat16)
        g8 = (g.t().contiguous().float() / g_scale).to(torch.float8_e5m2)
        x8 = (x.t().contiguous().float() / x_scale).to(torch.float8_e4m3fn)
        return input_gradient, torch._scaled_mm(g8, x8.t(), scale_a=g_scale, scale_b=x_scale, out_dtype=torch.bfloat16)


class Linear(nn.Linear):
    fp8 = False

    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs, bias=False)

    def forward(self, x):
        if not self.fp8:
            return super().forward(x)
        return Fp8Product.apply(x.reshape(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wo = Linear(HIDDEN, HIDDEN), Linear(HIDDEN, HIDDEN)
        self.wk, self.wv = Linear(HIDDEN, KV_HEADS * HEAD), Linear(HIDDEN, KV_HEADS * HEAD)

    def forward(self, x, by):
        b, s, _ = x.shape
        q, k, v = (linear(x).view(b, s, -1, HEAD) for linear in (self.wq, self.wk, self.wv))
        q, k = rotated(q, by), rotated(k, by)
        k, v = (t[:, :, :, None, :].expand(b, s, -1, HEADS // KV_HEADS, HEAD).reshape(b, s, -1, HEAD) for t in (k, v))
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
            o = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.wo(o.transpose(1, 2).contiguous().view(b, s, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2, self.w3 = Linear(HIDDEN, FFN), Linear(FFN, HIDDEN), Linear(HIDDEN, FFN)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(HIDDEN, eps=1e-5), nn.RMSNorm(HIDDEN, eps=1e-5)

    def forward(self, x, by):
        h = x + self.attention(self.attention_norm(x), by)
        return h + self.feed_forward(self.ffn_norm(h))


class Model(nn.Module):
    def __init__(self, layers, sequence):
        super().__init__()
        self.tok_embeddings, self.output = nn.Embedding(VOCAB, HIDDEN), nn.Linear(HIDDEN, VOCAB, bias=False)
        self.layers, self.norm = nn.ModuleList(Block() for _ in range(layers)), nn.RMSNorm(HIDDEN, eps=1e-5)
        self.register_buffer("by", rotations(sequence), persistent=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h, self.by)
        return self.output(self.norm(h))


KEPT = {torch.ops.aten.mm.default, torch.ops.aten._scaled_mm.default, torch.ops.aten._scaled_dot_product_flash_attention.default,
        torch.ops._c10d_functional.reduce_scatter_tensor.default}


def by_operators():
    """Attention, every second product and what was reduced are kept, all else is computed again."""
    products = {}

    def policy(context, function, *_, **__):
        if function == torch.ops.aten.mm.default:
            products[context.is_recompute] = products.get(context.is_recompute, 0) + 1
            keep = products[context.is_recompute] % 2 == 1
        else:
            keep = function in KEPT
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def split_over(mesh, model):
    """Tensor and sequence parallel."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                                   parallelize_module)
    parallelize_module(model, mesh, {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)), "norm": SequenceParallel(),
        "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)})
    for block in model.layers:
        parallelize_module(block, mesh, {
            "attention_norm": SequenceParallel(), "ffn_norm": SequenceParallel(),
            "attention": PrepareModuleInput(input_layouts=(Shard(1), None), desired_input_layouts=(Replicate(), None)),
            "attention.wq": ColwiseParallel(), "attention.wk": ColwiseParallel(), "attention.wv": ColwiseParallel(),
            "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
            "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "feed_forward.w1": ColwiseParallel(), "feed_forward.w3": ColwiseParallel(),
            "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1))})


def build(config, mesh):
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = Model(config["layers"], config["seq"])
    for module in model.modules():
        if isinstance(module, Linear):
            module.fp8 = bool(config.get("fp8"))
    if config.get("tp"):
        split_over(mesh, model)
    for i, block in enumerate(model.layers):
        if config.get("ac") == "op":
            block = checkpoint_wrapper(block, context_fn=by_operators, preserve_rng_state=False)
        elif config.get("ac") == "full":
            block = checkpoint_wrapper(block, preserve_rng_state=False)
        model.layers[i] = torch.compile(block, fullgraph=not config.get("cp")) if config.get("compile") else block
    if config.get("tp"):
        model = model.to(torch.bfloat16)
        model.by = rotations(config["seq"]).cuda()
        return model
    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for i, block in enumerate(model.layers):
        fully_shard(block, mesh=mesh, mp_policy=precision, reshard_after_forward=i + 1 < len(model.layers))
    fully_shard(model, mesh=mesh, mp_policy=precision)
    return model


def cross_entropy(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(0, 1))


def stepper(config, mesh, model):
    """One training step as a function."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    shape = (config["batch"], config["seq"])
    tokens, labels = torch.randint(0, VOCAB, shape, device="cuda"), torch.randint(0, VOCAB, shape, device="cuda")
    loss = torch.compile(cross_entropy) if config.get("compile") and not config.get("tp") else cross_entropy

    def backward():
        if config.get("cp"):
            from torch.distributed.tensor.experimental import context_parallel
            t, l = tokens.clone(), labels.clone()
            with context_parallel(mesh, buffers=[t, l, model.by], buffer_seq_dims=[1, 1, 0], no_restore_buffers={t, l}):
                loss(model(t), l).backward()
        elif config.get("tp"):
            from torch.distributed.tensor.parallel import loss_parallel
            with loss_parallel():
                loss(model(tokens), labels).backward()
        else:
            loss(model(tokens), labels).backward()

    def step():
        backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad()

    return step


def profiled(step):
    """Kernels of one step, [microseconds, calls, name]; the time in which any runs; the span from first to last."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        step()
        torch.cuda.synchronize()
    kernels, spans = {}, []
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA and event.time_range.elapsed_us() > 0:
            entry = kernels.setdefault(event.name[:120], [0.0, 0])
            entry[0] += event.time_range.elapsed_us()
            entry[1] += 1
            spans.append((event.time_range.start, event.time_range.end))
    busy, merged = trace_categories.union(spans)
    listed = sorted(([round(us, 1), calls, name] for name, (us, calls) in kernels.items() if us >= 30), reverse=True)
    return listed, round(busy / 1e3, 3), round((merged[-1][1] - merged[0][0]) / 1e3, 3)


def milliseconds(step, count):
    start = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start) / count


def measured(config, rank, mesh, gpu):
    step = stepper(config, mesh, build(config, mesh))
    milliseconds(step, WARM_UP)
    times = [round(milliseconds(step, 1), 3) for _ in range(STEPS)]
    steady = milliseconds(step, STEPS)
    kernels, busy, span = profiled(step)
    return {"config": config, "rank": rank, "times": times, "median_ms": statistics.median(times), "steady_ms": round(steady, 3),
            "sm_mhz": pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM), "busy_ms": busy, "span_ms": span,
            "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 3), "kernels": kernels}


def duty(gpu):
    """Clock and power of one product that runs a share of the time, the rest a kernel that only waits; -1: that one alone."""
    torch.manual_seed(1)
    x, y = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    points = []
    for wait in (0, 150, 300, 450, 600, 900, 1200, 1600, 2400, 4000, -1):
        clocks, watts, events = [], [], []
        start = time.perf_counter()
        while time.perf_counter() - start < 5.0:
            for _ in range(20):
                if wait < 0:
                    torch.cuda._sleep(3_000_000)
                    continue
                begin, middle, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
                begin.record()
                x @ y
                middle.record()
                if wait:
                    torch.cuda._sleep(1500 * wait)
                end.record()
                events.append((begin, middle, end))
            clocks.append(pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM))
            watts.append(pynvml.nvmlDeviceGetPowerUsage(gpu) / 1e3)
            if len(clocks) % 4 == 0:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
        late = events[len(events) // 2:]
        product = statistics.median(b.elapsed_time(m) for b, m, _ in late) if late else 0.0
        waited = statistics.median(m.elapsed_time(e) for _, m, e in late) if late else 0.0
        points.append({"sleep_us": wait, "gemm_ms": round(product, 4), "wait_ms": round(waited, 4),
                       "duty": round(product / (product + waited), 4) if late else 0.0,
                       "mhz": statistics.median(clocks[len(clocks) // 2:]), "watts": statistics.median(watts[len(watts) // 2:]),
                       "samples": len(clocks)})
    return points


def main():
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29511")):
        os.environ.setdefault(name, value)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    pynvml.nvmlInit()
    gpu, mesh = pynvml.nvmlDeviceGetHandleByIndex(rank), init_device_mesh("cuda", (world,))
    result = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "world": world, "runs": []}
    for config in LATER if sys.argv[2:] == ["later"] else ONE_GPU if world == 1 else SEVERAL:
        run = {"config": config, "power": duty(gpu)} if config.get("duty") else measured(config, rank, mesh, gpu)
        result["runs"].append(run)
        if rank == 0:
            print({key: value for key, value in run.items() if key not in ("kernels", "times", "power")}, flush=True)
            with open(sys.argv[1], "w", encoding="utf-8") as file:
                json.dump(result, file)
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
