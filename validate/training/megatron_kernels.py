#!/usr/bin/env python3
"""Times the kernels between the matrix products of Megatron-LM's layer as it was before FlashAttention, one by one.

    validate/training/megatron_kernels.py OUT.json      # one GPU, half a minute

Needs PyTorch with CUDA (2.11 was used). fp16. Softmax and dropout of scores and their gradients are PyTorch's, which Megatron's
softmax is made after; bias and GeLU are compiled by torch.jit, as there. Other kernels: the sum of QKV and its bias, the context's
copy to a contiguous tensor, the concatenation of the gradients of Q, K and V, a bias's gradient, a plain copy. Of each the median
kernel of 30, in us, after 256 MiB were written so that nothing lies in the L2.
"""
import json
import statistics
import sys

import torch
from torch.profiler import ProfilerActivity, profile

CALLS = 30
SHAPES = ((1024, 1, 5120, 40), (2048, 1, 6144, 64), (2048, 2, 3072, 32))  # sequence, batch, hidden, heads
HALF = torch.float16


@torch.jit.script
def bias_gelu(bias: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = bias + y
    return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


@torch.jit.script
def bias_gelu_backward(gradient: torch.Tensor, bias: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = bias + y
    t = torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))
    return (0.5 * x * ((1 - t * t) * (0.79788456 + 0.1070322243 * x * x)) + 0.5 * (1 + t)) * gradient


def timed(call):
    """Median us by kernel."""
    for _ in range(5):
        call()
    filler = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(CALLS):
            filler.zero_()
            call()
        torch.cuda.synchronize()
    kernels = {}
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA and "emset" not in event.name and "FillFunctor" not in event.name:
            kernels.setdefault(event.name[:90], []).append(event.device_time)
    return {name: statistics.median(times) for name, times in kernels.items()}


def scores(batch, sequence):
    x = torch.randn(batch, sequence, sequence, dtype=HALF, device="cuda")
    out, mask = torch.native_dropout(x, 0.1, True)
    shares = torch.softmax(x, -1)
    return {"elements": x.numel(), "copy": timed(lambda: out.copy_(x)), "softmax": timed(lambda: torch.softmax(x, -1)),
            "softmax backward": timed(lambda: torch.ops.aten._softmax_backward_data(out, shares, -1, HALF)),
            "dropout": timed(lambda: torch.native_dropout(x, 0.1, True)),
            "dropout backward": timed(lambda: torch.ops.aten.native_dropout_backward(out, mask, 1 / 0.9))}


def wide(tokens, hidden):
    x, bias = torch.randn(tokens, 4 * hidden, dtype=HALF, device="cuda"), torch.randn(4 * hidden, dtype=HALF, device="cuda")
    return {"elements": x.numel(), "bias and GeLU": timed(lambda: bias_gelu(bias, x)),
            "bias and GeLU backward": timed(lambda: bias_gelu_backward(x, bias, x)), "bias gradient": timed(lambda: x.sum(0))}


def attention_ends(sequence, batch, hidden, heads):
    qkv, bias = (torch.randn(*shape, dtype=HALF, device="cuda") for shape in ((sequence * batch, 3 * hidden), (3 * hidden,)))
    context = torch.randn(batch, heads, sequence, hidden // heads, dtype=HALF, device="cuda")
    parts = [torch.randn(sequence, batch, heads, hidden // heads, dtype=HALF, device="cuda") for _ in range(3)]
    return {"elements": context.numel(), "sum of QKV and bias (3 times as many)": timed(lambda: qkv + bias),
            "context to contiguous": timed(lambda: context.permute(2, 0, 1, 3).contiguous()),
            "gradients of QKV to one (3 times as many)": timed(lambda: torch.cat(parts, -1))}


def main():
    found = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "shapes": []}
    for sequence, batch, hidden, heads in SHAPES:
        found["shapes"].append({"sequence": sequence, "batch": batch, "hidden": hidden, "heads": heads,
                                "scores": scores(batch * heads, sequence), "wide": wide(sequence * batch, hidden),
                                "attention": attention_ends(sequence, batch, hidden, heads)})
    with open(sys.argv[1], "w") as file:
        json.dump(found, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
