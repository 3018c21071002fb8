#!/usr/bin/env python3
"""How long the host takes to issue one layer of GPT in the manner of Megatron-LM before CUDA graphs.

    validate/training/host_pace.py OUT.json      # one GPU

Needs PyTorch (2.11 was used). A layer of tiny matrices: layer norm, QKV, scaled masked softmax between two batched products,
dropouts under a generator state of their own, GeLU and residual sums as scripted functions, fp16, weight gradients added to fp32
buffers by hooks; with full recomputation (torch.utils.checkpoint, reentrant) and without; with the all-reduces of tensor
parallelism, on a group of one rank, and without. Times are of the host alone: it never waits for the GPU within a pass, and the
GPU's own time is printed beside.
"""
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

HIDDEN, HEADS, SEQUENCE, BATCH, LAYERS, PASSES = 128, 4, 64, 1, 24, 30


@torch.jit.script
def bias_gelu(bias: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    y = bias + x
    return y * 0.5 * (1.0 + torch.tanh(0.79788456 * y * (1 + 0.044715 * y * y)))


@torch.jit.script
def bias_dropout_add(x: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    return residual + F.dropout(x + bias, p=0.1, training=True)


class AllReduceBackward(torch.autograd.Function):
    """Copy to the tensor-parallel ranks: nothing forward, a sum backward."""

    @staticmethod
    def forward(_, x):
        return x

    @staticmethod
    def backward(_, g):
        dist.all_reduce(g)
        return g


class AllReduceForward(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(_, g):
        return g


class OwnState:
    """Dropout of a tensor-parallel rank draws from a state of its own."""

    def __init__(self):
        self.state = torch.cuda.get_rng_state()

    def __enter__(self):
        self.saved = torch.cuda.get_rng_state()
        torch.cuda.set_rng_state(self.state)

    def __exit__(self, *_):
        self.state = torch.cuda.get_rng_state()
        torch.cuda.set_rng_state(self.saved)


class Layer(nn.Module):
    def __init__(self, tensor_parallel, own_state):
        super().__init__()
        self.tensor_parallel, self.own_state = tensor_parallel, own_state
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.proj = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

    def copied(self, x):
        return AllReduceBackward.apply(x) if self.tensor_parallel else x

    def summed(self, x):
        return AllReduceForward.apply(x) if self.tensor_parallel else x

    def forward(self, x, mask):
        s, b, h = x.shape
        q, k, v = self.qkv(self.copied(self.norm1(x))).view(s, b, HEADS, -1).chunk(3, dim=-1)
        q, k, v = (t.reshape(s, b * HEADS, -1) for t in (q, k, v))
        space = torch.empty(b * HEADS, s, s, dtype=q.dtype, device=q.device)
        scores = torch.baddbmm(space, q.transpose(0, 1), k.transpose(0, 1).transpose(1, 2), beta=0.0, alpha=0.125)
        scores = torch.softmax(scores.view(b, HEADS, s, s).masked_fill(mask, -10000.0), dim=-1)
        with self.own_state:
            scores = F.dropout(scores, 0.1)
        o = torch.bmm(scores.view(b * HEADS, s, s), v.transpose(0, 1)).view(b, HEADS, s, -1)
        o = o.permute(2, 0, 1, 3).contiguous().view(s, b, h)
        x = bias_dropout_add(self.summed(F.linear(o, self.proj.weight)), self.proj.bias, x)
        y = bias_gelu(self.up.bias, F.linear(self.copied(self.norm2(x)), self.up.weight))
        return bias_dropout_add(self.summed(F.linear(y, self.down.weight)), self.down.bias, x)


def build(tensor_parallel):
    layers = nn.ModuleList(Layer(tensor_parallel, OwnState()) for _ in range(LAYERS)).cuda().half()
    for parameter in layers.parameters():
        parameter.main_grad = torch.zeros_like(parameter, dtype=torch.float32)

        def add(p):
            p.main_grad.add_(p.grad)
            p.grad = None

        parameter.register_post_accumulate_grad_hook(add)
    return layers


def one_pass(layers, mask, recompute):
    x = torch.randn(SEQUENCE, BATCH, HIDDEN, device="cuda", dtype=torch.float16, requires_grad=True)
    start = time.perf_counter()
    for layer in layers:
        x = checkpoint(layer, x, mask, use_reentrant=True) if recompute else layer(x, mask)
    middle = time.perf_counter()
    x.backward(torch.ones_like(x))
    end = time.perf_counter()
    torch.cuda.synchronize()
    return middle - start, end - middle


def gpu_busy(layers, mask, recompute):
    """Of one pass: (milliseconds of kernels, kernels)."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        one_pass(layers, mask, recompute)
    kernels = [e.time_range.elapsed_us() for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    return sum(kernels) / 1e3, len(kernels)


def main():
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29513")
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=0, world_size=1)
    mask = torch.triu(torch.ones(SEQUENCE, SEQUENCE, dtype=torch.bool, device="cuda"), 1).view(1, 1, SEQUENCE, SEQUENCE)
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        processor = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    result = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "processor": processor, "runs": []}
    for tensor_parallel in (False, True):
        for recompute in (False, True):
            layers = build(tensor_parallel)
            for _ in range(10):
                one_pass(layers, mask, recompute)
            times = [one_pass(layers, mask, recompute) for _ in range(PASSES)]
            busy, kernels = gpu_busy(layers, mask, recompute)
            run = {"tensor_parallel": tensor_parallel, "recompute": recompute, "gpu_busy_ms_a_layer": round(busy / LAYERS, 4),
                   "kernels_a_layer": round(kernels / LAYERS, 1)}
            for i, name in enumerate(("forward_ms_a_layer", "backward_ms_a_layer")):
                run[name] = round(1e3 * statistics.median(t[i] for t in times) / LAYERS, 4)
            print(run, flush=True)
            result["runs"].append(run)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
