"""Stands in for PyTorch where there is none: shapes without numbers, and every replay takes 250 us.

FAKE_GPUS is how many GPUs it has (2), FAKE_MEMORY their bytes, FAKE_VERSION what it says it is. Where FAKE_FAILS is a number, a
product of so many rows fails. FAKE_SLEEP is seconds that a replay really takes.
"""

import os
import types

__version__ = os.environ.get("FAKE_VERSION", "2.11.0+cu130")
version = types.SimpleNamespace(cuda="13.0")
bfloat16, int32 = "bfloat16", "int32"


class Tensor:
    def __init__(self, *shape):
        self.shape = shape

    def __add__(self, other):
        assert self.shape == other.shape, (self.shape, other.shape)
        return Tensor(*self.shape)

    def __mul__(self, other):
        return Tensor(*self.shape)

    def __setitem__(self, place, value):
        assert place[2] == slice(-1, None)
        assert value.shape == (*self.shape[:2], 1, *self.shape[3:]), (self.shape, value.shape)

    def view(self, *shape):
        known = 1
        for size in shape:
            known *= max(size, 1)
        return Tensor(*(count(self.shape) // known if size == -1 else size for size in shape))

    reshape = view

    def transpose(self, a, b):
        shape = list(self.shape)
        shape[a], shape[b] = shape[b], shape[a]
        return Tensor(*shape)

    def split(self, sizes, axis):
        assert sum(sizes) == self.shape[axis], (sizes, self.shape)
        return [Tensor(*self.shape[:axis], size, *self.shape[axis + 1:]) for size in sizes]

    def chunk(self, parts, axis):
        assert axis == -1 and self.shape[-1] % parts == 0
        return [Tensor(*self.shape[:-1], self.shape[-1] // parts) for _ in range(parts)]


class State(Tensor):
    def __init__(self, values):
        super().__init__(len(values))
        self.values = list(values)

    def item(self):
        return self.values[0]


def count(shape):
    total = 1
    for size in shape:
        total *= size
    return total


def randn(*shape, device, dtype):
    return Tensor(*shape)


ones = randn


def tensor(values, device, dtype):
    return State(values)


def manual_seed(seed):
    pass


class device:
    def __init__(self, kind, index):
        self.index = index


class no_grad:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def linear(x, weight):
    rows, inner = weight.shape
    assert x.shape[-1] == inner, (x.shape, weight.shape)
    if os.environ.get("FAKE_FAILS") == str(count(x.shape[:-1])):
        raise RuntimeError("a kernel failed\nwith more to say")
    return Tensor(*x.shape[:-1], rows)


def rms_norm(x, shape, weight):
    assert weight.shape == shape
    return Tensor(*x.shape)


def scaled_dot_product_attention(q, k, v, is_causal=False, enable_gqa=False):
    assert enable_gqa and k.shape == v.shape and q.shape[1] % k.shape[1] == 0 and q.shape[3] == k.shape[3]
    assert is_causal == (q.shape[2] > 1)
    return Tensor(*q.shape)


nn = types.SimpleNamespace(functional=types.SimpleNamespace(linear=linear, rms_norm=rms_norm, silu=lambda x: x,
                                                            scaled_dot_product_attention=scaled_dot_product_attention))

from . import cuda, distributed  # noqa: E402
