#!/usr/bin/env python3
"""Times training steps of GPT in Megatron-LM's manner on two GPUs; megatron_steps_predict.py has what Weft says of them.

    torchrun --nproc-per-node 2 validate/training/megatron_steps.py OUT.json     # rank 0 writes; a minute
    torchrun --nproc-per-node 2 validate/training/megatron_steps.py OUT.json later    # two other shapes

Needs PyTorch 2.8 or later with CUDA. Two steps: tensor and sequence parallel, and two replicas with an optimizer that is sharded
over them (one fp32 buffer of gradients, reduce-scattered after the backward pass, parameters gathered after the optimizer).
As there: fused norm, FlashAttention, bias and GeLU as one compiled kernel, bias and residual as another, weight gradients added in
fp32 by their product, the input's gather again and the gradient's reduction beside the weight gradient. bf16, fused Adam on fp32
masters. Random tokens, a vocabulary small enough that the loss hardly counts. With one rank it runs without collectives.
"""
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

CONFIGURATIONS = {
    "tensor": {"tensor": 2, "data": 1, "layers": 8, "hidden": 6144, "heads": 48, "sequence": 4096, "micro": 1, "microbatches": 2},
    "data": {"tensor": 1, "data": 2, "layers": 8, "hidden": 3072, "heads": 24, "sequence": 2048, "micro": 2, "microbatches": 2},
}
LATER = {
    "wide": {"tensor": 2, "data": 1, "layers": 6, "hidden": 5120, "heads": 40, "sequence": 8192, "micro": 1, "microbatches": 2},
    "small": {"tensor": 1, "data": 2, "layers": 16, "hidden": 2048, "heads": 16, "sequence": 2048, "micro": 4, "microbatches": 2},
}
VOCAB = 2048
WARM_UP, STEPS = 4, 10


class Split(torch.autograd.Function):
    """x w^T. Column: x is gathered over the tokens first; row: the result is reduce-scattered over them. Group None: neither."""

    @staticmethod
    def forward(ctx, x, w, column, group):
        ctx.column, ctx.group, ctx.w = column, group, w
        ctx.save_for_backward(x)
        y = torch.mm(gathered(x, group)[0] if column else x, w.t())
        return y if column else scattered(y, group)[0]

    @staticmethod
    def backward(ctx, g):
        x, w, group = *ctx.saved_tensors, ctx.w, ctx.group
        g = g.contiguous()
        whole, again = gathered(x, group, wait=False) if ctx.column else (x, None)
        if not ctx.column:
            g = gathered(g, group)[0]
        gradient = torch.mm(g, w)
        done = None
        if ctx.column:
            gradient, done = scattered(gradient, group, wait=False)
        if again is not None:
            again.wait()
        torch.addmm(w.main, g.t(), whole, out_dtype=torch.float32, out=w.main)
        if done is not None:
            done.wait()
        return gradient, None, None, None


def gathered(x, group, wait=True):
    if group is None:
        return x, None
    whole = x.new_empty(x.shape[0] * group.size(), x.shape[1])
    work = dist.all_gather_into_tensor(whole, x, group=group, async_op=True)
    if wait:
        work.wait()
    return whole, work


def scattered(x, group, wait=True):
    if group is None:
        return x, None
    part = x.new_empty(x.shape[0] // group.size(), x.shape[1])
    work = dist.reduce_scatter_tensor(part, x, group=group, async_op=True)
    if wait:
        work.wait()
    return part, work


def add_to_main(p):
    p.main.add_(p.grad)
    p.grad = None


@torch.compile
def bias_gelu(x, bias):
    return F.gelu(x + bias, approximate="tanh")


@torch.compile
def bias_residual(x, bias, residual):
    return residual + x + bias


class Layer:
    def __init__(self, config, parameters):
        h, t = config["hidden"], config["tensor"]
        self.heads, self.width = config["heads"] // t, h // config["heads"]
        self.qkv, self.proj = parameters(3 * h // t, h), parameters(h, h // t)
        self.up, self.down = parameters(4 * h // t, h), parameters(h, 4 * h // t)
        self.biases = [parameters(n) for n in (3 * h // t, h, 4 * h // t, h)]
        self.norms = [parameters(h) for _ in range(4)]

    def __call__(self, x, batch, group):
        h = x.shape[-1]
        y = Split.apply(F.layer_norm(x, (h,), *self.norms[:2]), self.qkv, True, group) + self.biases[0]
        q, k, v = y.view(-1, batch, self.heads, 3 * self.width).permute(1, 2, 0, 3).chunk(3, -1)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = bias_residual(Split.apply(o.permute(2, 0, 1, 3).reshape(-1, self.heads * self.width), self.proj, False, group),
                          self.biases[1], x)
        y = bias_gelu(Split.apply(F.layer_norm(x, (h,), *self.norms[2:]), self.up, True, group), self.biases[2])
        return bias_residual(Split.apply(y, self.down, False, group), self.biases[3], x)


def measured(config, world):
    tensor = dist.new_group(range(config["tensor"])) if world > 1 and config["tensor"] > 1 else None
    data = dist.new_group(range(config["data"])) if world > 1 and config["data"] > 1 else None
    if world == 1:
        config = {**config, "tensor": 1, "data": 1}
    made = []

    def parameters(*shape):
        made.append(torch.nn.Parameter(0.02 * torch.randn(*shape, device="cuda", dtype=torch.bfloat16)))
        return made[-1]

    torch.manual_seed(0)
    table, head = parameters(VOCAB, config["hidden"]), parameters(VOCAB, config["hidden"])
    layers = [Layer(config, parameters) for _ in range(config["layers"])]
    elements = sum(p.numel() for p in made)
    elements += -elements % config["data"]
    weights, gradients = (torch.zeros(elements, device="cuda", dtype=dtype) for dtype in (torch.bfloat16, torch.float32))
    at = 0
    for p in made:
        weights[at:at + p.numel()].copy_(p.data.flatten())
        p.data, p.main = weights[at:at + p.numel()].view_as(p), gradients[at:at + p.numel()].view_as(p)
        at += p.numel()
        if p.dim() == 1 or p is table or p is head:
            p.register_post_accumulate_grad_hook(add_to_main)
    size = elements // config["data"]
    first = size * dist.get_rank() if data is not None else 0
    masters = weights[first:first + size].float().requires_grad_()
    optimizer = torch.optim.Adam([masters], lr=1e-5, fused=True)
    b, s = config["micro"], config["sequence"]
    tokens = torch.randint(0, VOCAB, (s, b), device="cuda")
    mine = tokens.flatten().chunk(config["tensor"])[dist.get_rank() if tensor is not None else 0]

    def step():
        gradients.zero_()
        for _ in range(config["microbatches"]):
            x = F.embedding(mine, table)
            for layer in layers:
                x = layer(x, b, tensor)
            F.cross_entropy(F.linear(x, head).float(), mine).backward()
        shard = gradients[first:first + size]
        if data is not None:
            dist.reduce_scatter_tensor(shard, gradients, op=dist.ReduceOp.AVG, group=data)
        masters.grad = shard
        optimizer.step()
        weights[first:first + size].copy_(masters.detach())
        if data is not None:
            dist.all_gather_into_tensor(weights, weights[first:first + size].clone(), group=data)

    times = []
    for i in range(WARM_UP + STEPS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        if i >= WARM_UP:
            times.append(1e3 * (time.perf_counter() - start))
    return {"median_ms": round(statistics.median(times), 3), "times": [round(each, 3) for each in times],
            "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 3)}


def main():
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29512")):
        os.environ.setdefault(name, value)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    found = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "world": world, "steps": []}
    for name, config in (LATER if sys.argv[2:] == ["later"] else CONFIGURATIONS).items():
        found["steps"].append({"name": name, **measured(config, world)})
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        if rank == 0:
            print(found["steps"][-1], flush=True)
            with open(sys.argv[1], "w", encoding="utf-8") as file:
                json.dump(found, file, indent=1)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
