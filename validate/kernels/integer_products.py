#!/usr/bin/env python3
"""Times products with weights of integers under PyTorch, and bf16 beside them, as records of `weft measure`.

    validate/kernels/integer_products.py -o records.jsonl [--seconds N]     needs a GPU, torch and triton; three minutes

Shapes are the matrices of Llama-3 8B and 70B on 1, 4 and 8 GPUs, with 1 to 4,096 rows. The libraries: cuBLASLt in bf16 and INT8
(torch._int_mm, INT32 out), PyTorch's own product with weights of 4 bits (tinygemm), and Triton kernels here that turn weights of
8 and 4 bits into bf16, with a scale for 128, the fastest of some tiles and splits.

A time is the lesser mean of two rows of 6 replays of a CUDA graph of 6 calls, each with a weight of its own: as the public tables
are timed (sets.py), so that large weights come from HBM and A lies in the L2.

`set` says what a fit may see: half of the shapes, by hash (fit, test). `slow` are rows that no serving engine would run so:
weights alone in more than 16 rows, where these kernels take several times as long as Marlin and Machete, and 4 bits in Triton.
"""
import argparse
import json
import time

import sets

ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
COPIES = 6
REPLAYS = 6
GROUP = 128  # weights that share a scale
# Rows of a tile: columns, warps, stages.
TILES = {16: ((64, 4, 4), (128, 4, 4), (32, 2, 5)), 32: ((64, 4, 4), (128, 4, 4)), 64: ((64, 4, 4), (128, 4, 4)),
         128: ((128, 8, 3), (256, 8, 3))}


def shapes():
    found = []
    for hidden, qkv, ffn in ((4096, 6144, 14336), (8192, 10240, 28672)):
        for gpus in (1, 4, 8):
            for shape in ((qkv // gpus, hidden), (hidden, hidden // gpus), (2 * ffn // gpus, hidden), (hidden, ffn // gpus)):
                if shape not in found:
                    found.append(shape)
    return found


def which_set(library, kind, m, n, k):
    if kind == "bf16":
        return "bf16"
    if kind != "int8" and (m > 16 or (kind == "w4a16" and (library != "tinygemm" or m > 1))):
        return "slow"
    return sets.half("gemm", n, k)


def kernels():
    """Triton's, compiled where a GPU is."""
    import triton
    import triton.language as tl

    @triton.jit
    def product(a, b, s, c, M, N, K, SPLIT: tl.constexpr, BITS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                BK: tl.constexpr):
        # a (M,K) bf16; b (N,K) int8, or (N,K/2) uint8 with the first half of each group in the low bits; s (N,K/BK).
        tile = tl.program_id(0)
        rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
        width = 8 * columns
        first = tile // width * 8
        size = tl.minimum(rows - first, 8)
        row, column = first + (tile % width) % size, (tile % width) // size
        part = tl.program_id(1)
        m = (row * BM + tl.arange(0, BM)) % M
        n = (column * BN + tl.arange(0, BN)) % N
        total = tl.zeros((BM, BN), tl.float32)
        steps = tl.cdiv(K, BK)
        each = tl.cdiv(steps, SPLIT)
        for i in range(part * each, tl.minimum(steps, (part + 1) * each)):
            scale = tl.load(s + n * (K // BK) + i).to(tl.float32)
            if BITS == 8:
                k = i * BK + tl.arange(0, BK)
                x = tl.load(a + m[:, None] * K + k[None, :])
                w = tl.load(b + n[None, :].to(tl.int64) * K + k[:, None])
                total += tl.dot(x, w.to(tl.bfloat16)) * scale[None, :]
            else:
                HALF: tl.constexpr = BK // 2
                k = i * BK + tl.arange(0, HALF)
                packed = tl.load(b + n[None, :].to(tl.int64) * (K // 2) + (i * HALF + tl.arange(0, HALF))[:, None])
                low = ((packed & 15).to(tl.int8) - 8).to(tl.bfloat16)
                high = ((packed >> 4).to(tl.int8) - 8).to(tl.bfloat16)
                found = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), low)
                found = tl.dot(tl.load(a + m[:, None] * K + (k + HALF)[None, :]), high, found)
                total += found * scale[None, :]
        m = row * BM + tl.arange(0, BM)
        n = column * BN + tl.arange(0, BN)
        inside = (m[:, None] < M) & (n[None, :] < N)
        at = m[:, None].to(tl.int64) * N + n[None, :]
        if SPLIT == 1:
            tl.store(c + at, total.to(tl.bfloat16), mask=inside)
        else:
            tl.store(c + part * M * N + at, total, mask=inside)

    @triton.jit
    def add_parts(parts, c, size, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for part in range(SPLIT):
            total += tl.load(parts + part * size + i, mask=i < size)
        tl.store(c + i, total.to(tl.bfloat16), mask=i < size)

    return product, add_parts


class Bench:
    def __init__(self, output):
        import torch
        import triton

        self.torch, self.triton, self.output = torch, triton, output
        self.product, self.add_parts = kernels()
        self.parts = torch.empty(16 * 128 * 65536, device="cuda", dtype=torch.float32)
        gpu = torch.cuda.get_device_properties(0).name
        self.put({"weft_measurements": 1, "kind": "header", "tool": "validate/kernels/integer_products.py",
                  "date": time.strftime("%Y-%m-%d"), "torch": torch.__version__, "triton": triton.__version__,
                  "machine": {"gpus": [{"index": 0, "name": gpu}]}})

    def put(self, record):
        self.output.write(json.dumps(record) + "\n")
        self.output.flush()

    def graph_us(self, call, replays=REPLAYS):
        torch = self.torch
        for i in range(3):
            call(i)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(COPIES):
                call(i)
        for _ in range(3):
            graph.replay()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        found = []
        for _ in range(2):
            begin.record()
            for _ in range(replays):
                graph.replay()
            end.record()
            torch.cuda.synchronize()
            found.append(1000 * begin.elapsed_time(end) / replays / COPIES)
        return min(found)

    def measure(self, library, kind, m, n, k, call):
        try:
            us = self.graph_us(call)
        except RuntimeError as error:
            self.put({"kind": "error", "id": f"{library} {kind} {m} {n} {k}", "reason": str(error)[:200]})
            return
        self.put({"kind": "gemm", "id": f"{library} {kind} {m} {n} {k}", "set": which_set(library, kind, m, n, k),
                  "library": library, "type": kind, "m": m, "n": n, "k": k, "operands": "nt", "weight_copies": COPIES,
                  "launch": "graph", "median_us": round(us, 3)})

    def by_triton(self, bits, x, weight, scales, n, k, tile):
        rows, columns, warps, stages, split = tile
        m = x.shape[0]
        out = self.torch.empty(m, n, device="cuda", dtype=self.torch.bfloat16)
        grid = (self.triton.cdiv(m, rows) * self.triton.cdiv(n, columns), split)
        self.product[grid](x, weight, scales, out if split == 1 else self.parts, m, n, k, SPLIT=split, BITS=bits, BM=rows,
                           BN=columns, BK=GROUP, num_warps=warps, num_stages=stages)
        if split > 1:
            self.add_parts[(self.triton.cdiv(m * n, 1024),)](self.parts, out, m * n, SPLIT=split, BLOCK=1024)
        return out

    def tiles(self, m, n, k):
        heights = [16] if m <= 16 else [32, 16] if m <= 32 else [64] if m <= 64 else [64, 128] if m <= 256 else [128]
        for height in heights:
            for columns, warps, stages in TILES[height]:
                count = self.triton.cdiv(m, height) * self.triton.cdiv(n, columns)
                splits = [s for s in (2, 4, 8, 16) if m <= 128 and count * s <= 4 * 132 and k // GROUP >= 2 * s]
                for split in (1, *splits[-3:]):
                    yield height, columns, warps, stages, split

    def shape(self, n, k):
        torch = self.torch
        bf16 = [torch.randn(n, k, device="cuda").bfloat16() for _ in range(COPIES)]
        eight = [torch.randint(-127, 127, (n, k), device="cuda", dtype=torch.int8) for _ in range(COPIES)]
        four = [torch.randint(0, 256, (n, k // 2), device="cuda", dtype=torch.uint8) for _ in range(COPIES)]
        scales = torch.rand(n, k // GROUP, device="cuda").bfloat16()
        packed = [torch.ops.aten._convert_weight_to_int4pack(w, 8) for w in four]
        scales_and_zeros = torch.rand(k // GROUP, n, 2, device="cuda").bfloat16()
        for m in ROWS:
            x = torch.randn(m, k, device="cuda").bfloat16()
            self.measure("cublaslt", "bf16", m, n, k, lambda i: torch.nn.functional.linear(x, bf16[i]))
            if m >= 16:
                rows = max(m, 24)  # the least that torch._int_mm takes
                x8 = torch.randint(-127, 127, (rows, k), device="cuda", dtype=torch.int8)
                self.measure("cublaslt", "int8", rows, n, k, lambda i: torch._int_mm(x8, eight[i].t()))
            if m <= 1024:
                self.measure("tinygemm", "w4a16", m, n, k,
                             lambda i: torch.ops.aten._weight_int4pack_mm(x, packed[i], GROUP, scales_and_zeros))
            for bits, weights in ((8, eight), (4, four)):
                timed = [(self.graph_us(lambda i: self.by_triton(bits, x, weights[i], scales, n, k, tile), 2), tile)
                         for tile in self.tiles(m, n, k)]
                best = min(timed)[1]
                self.measure("triton", f"w{bits}a16", m, n, k,
                             lambda i: self.by_triton(bits, x, weights[i], scales, n, k, best))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds
    with open(options.output, "w", encoding="utf-8") as output:
        bench = Bench(output)
        for n, k in shapes():
            if time.monotonic() > deadline:
                bench.put({"kind": "end", "reason": "out of time"})
                return
            bench.shape(n, k)
        bench.put({"kind": "end", "reason": "finished"})


if __name__ == "__main__":
    main()
