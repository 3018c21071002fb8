#!/usr/bin/env python3
"""Durations of kernels from Kineto traces, and from the micro-benchmarks beside them, as JSON lines for `weft calibrate`.

    tools/extract_kernels.py trace ddp.kineto.rank*.json.gz > ddp.jsonl       # the ranks of one step
    tools/extract_kernels.py micro micro.json overlap.json > micro.jsonl

One line for each kernel with its shape (the fields of sim/workloads/kernels/kernel.h). Of its occurrences beside no collective:
`us` at full clock, which is the 10th percentile of a rank, and of the ranks the median; `median_us` and `count` of all. Of those that a collective was resident for from
before their start to after their end: `beside_us` the median, `beside_ctas` the SMs the collective held. `static`: a GEMM for
which no counter of tiles is set before it, so that its blocks share out tiles in advance. Then what the clocks did, a line for
each step: `slowdown` of GEMMs and attention at its end on the slowest rank, beside the shares of a step that does not wait.
Shapes come from the operators that launched the kernels. No step time is read.
"""
import argparse
import collections
import gzip
import json
import math
import statistics
import sys


SEPARATORS = " \n\r\t,"


def events(path):
    """The elements of traceEvents, one by one."""
    decoder = json.JSONDecoder()
    with (gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")) as file:
        text = ""
        while '"traceEvents"' not in text:
            chunk = file.read(1 << 16)
            if not chunk:
                sys.exit(f"{path}: no traceEvents")
            text += chunk
        text = text[text.index("[", text.index('"traceEvents"')) + 1:]
        text = text.lstrip(SEPARATORS)
        while not text.startswith("]"):
            try:
                event, end = decoder.raw_decode(text)
            except json.JSONDecodeError:
                chunk = file.read(1 << 20)
                if not chunk:
                    sys.exit(f"{path}: cut short")
                text += chunk
                continue
            yield event
            text = text[end:].lstrip(SEPARATORS)


def product(dims):
    return math.prod(dims)


def gemm_shape(dims, name):
    a, b = dims[0], dims[1]
    batch = a[0] if len(a) == 3 else 1
    # nvjet's names end in the layouts of A, B and C; a weight gradient's A is transposed.
    return {"kind": "gemm", "m": a[-2], "n": b[-1], "k": a[-1], "batch": batch, "weight_gradient": name[-3:].startswith("NT")}


def attention_shape(dims, backward):
    batch, heads, tokens, width = dims[0]
    kind = "attention_backward" if backward else "attention_forward"
    return {"kind": kind, "m": tokens, "n": tokens, "k": width, "batch": batch * heads}


def strided(elements, kind, bytes_per_element):
    return {"kind": "strided", "strided": kind, "elements": elements, "bytes": elements * bytes_per_element}


def contiguous(elements, bytes_per_element):
    return {"kind": "elementwise", "elements": elements, "bytes": elements * bytes_per_element}


def shape_of(operator, dims, name, grid):
    """What a kernel of bf16 tensors computes; None where no class of kernels is meant for it."""
    short = operator.removeprefix("aten::")
    if "nvjet" in name:
        return None if "splitK" in name else gemm_shape(dims, name)
    if "flash_fprop" in name or "flash_bprop" in name:
        return attention_shape(dims, "bprop" in name)
    if "compute_dot_do_o" in name or "convert_dq" in name:
        return strided(product(dims[0]), "attention_ends", 4 if "dot" in name else 6)
    if "multi_tensor_apply" in name and short == "_fused_adamw_":
        # A launch of 320 blocks takes 320 chunks of 65536 parameters; others may be partly filled.
        return {"kind": "optimizer", "elements": 320 * 65536} if grid[0] == 320 else None
    if "vectorized_layer_norm" in name:
        return {"kind": "norm_forward", "elements": product(dims[0])}
    if "layer_norm_grad_input" in name:
        return {"kind": "norm_backward", "elements": product(dims[0])}
    if "GammaBeta" in name:
        return {"kind": "norm_weight_grad", "elements": product(dims[0])}
    if "vectorized_gather" in name:
        return {"kind": "embedding_forward", "elements": product(dims[2])}
    if short == "embedding_dense_backward":
        return {"kind": "embedding_backward", "elements": product(dims[0])}
    if short == "_log_softmax":
        return {"kind": "softmax_loss", "elements": product(dims[0]), "bytes": 8 * product(dims[0])}
    if short == "_log_softmax_backward_data":
        return {"kind": "softmax_loss", "elements": product(dims[0]), "bytes": 12 * product(dims[0])}
    return elementwise_shape(short, dims, name)


def elementwise_shape(short, dims, name):
    if short == "cat":
        elements = sum(product(d) for d in dims[0])
        return contiguous(elements, 4) if "_vectorized" in name else strided(elements, "stack", 4)
    if not dims or not dims[0] or short == "sum":
        return None
    elements = product(dims[0])
    vectorized = "vectorized_elementwise_kernel" in name
    if short == "fill_":
        # Logits' gradients are fp32, an embedding's are bf16 and have more rows than columns.
        return {"kind": "memset", "elements": elements, "bytes": elements * (2 if dims[0][0] > dims[0][-1] else 4)}
    if short in ("add", "add_") and vectorized:
        return contiguous(elements, 6)
    if short == "mul" and vectorized:
        return contiguous(elements, 4 if dims[1] == [] else 6)
    if short in ("silu", "mul"):
        return strided(elements, "forward", 4 if short == "silu" else 6)
    if short == "silu_backward":
        return strided(elements, "activation_backward", 6)
    if short == "copy_" and "unrolled_elementwise" in name:
        return strided(elements, "forward", 6)  # logits to fp32
    if short == "copy_":
        return contiguous(elements, 6) if vectorized else strided(elements, "copy", 4)
    return None


SHORTEST_US = 5  # kernels that never take this long are left out


class Rank:
    """The kernels of one trace, in order of start: (operator, start, end, shape, name, static)."""

    def __init__(self, path):
        operators, gpu = {}, []
        self.device = ""
        for event in events(path):
            category = event.get("cat")
            if category == "cpu_op":
                operators[event["args"].get("External id")] = event
            elif category in ("kernel", "gpu_memset", "gpu_memcpy"):
                gpu.append(event)
        gpu.sort(key=lambda e: e["ts"])
        self.kernels, self.collectives, self.gaps = [], [], []
        first_adam = None
        before = None
        scatter = {}
        for event in gpu:
            begin, end, name = event["ts"], event["ts"] + event["dur"], event["name"]
            if "nccl" in name:
                self.collectives.append((begin, end, event["args"]["grid"][0]))
                continue
            if before is not None and event["args"]["stream"] == before["args"]["stream"]:
                self.gaps.append(begin - before["ts"] - before["dur"])
            same = before is not None and before["args"].get("External id") == event["args"].get("External id")
            counted = same and before["name"].startswith("Memset")
            before = event
            operator = operators.get(event["args"].get("External id"))
            if event["cat"] != "kernel" or operator is None:
                continue
            dims = operator["args"].get("Input Dims")
            shape = shape_of(operator["name"], dims, name, event["args"]["grid"])
            if shape is None:
                continue
            if shape["kind"] == "gemm":
                shape["static"] = not counted
            if shape["kind"] == "embedding_backward":  # several kernels for one operator
                scatter.setdefault(event["args"]["External id"], [begin, end, 0.0, shape])
                scatter[event["args"]["External id"]][1] = end
                scatter[event["args"]["External id"]][2] += event["dur"]
                continue
            if shape["kind"] == "optimizer":
                first_adam = first_adam or event["dur"]
                # The embedding comes first, and takes its own time.
                shape["mostly_zero"] = event["dur"] > 0.85 * first_adam
                if shape["mostly_zero"]:
                    first_adam = event["dur"]
            self.kernels.append((begin, end, event["dur"], shape))
        self.kernels += [tuple(entry) for entry in scatter.values()]
        self.kernels.sort(key=lambda k: k[0])

    def beside(self, begin, end):
        """SMs held by collectives: 0 for none at any time, None where it changes."""
        held = {c for a, b, c in self.collectives if a < begin and b > end}
        if held:
            return max(held)
        return None if any(a < end and b > begin for a, b, _ in self.collectives) else 0


def percentile(values, share):
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def full_clock(of_rank):
    """Of a GPU in the middle of its like: the 10th percentile of each rank's durations, and of those the median."""
    return statistics.median(percentile(values, 0.1) for values in of_rank.values())


def slowdown_of(rank, seen):
    """Of GEMMs and attention in the last third of their time, beside full clock under the same conditions."""
    compute = [k for k in rank.kernels if k[3]["kind"].startswith(("gemm", "attention"))]
    begin, end = compute[0][0], compute[-1][1]
    late = [k for k in compute if k[0] > begin + (end - begin) * 2 / 3]
    reference = actual = 0.0
    for start, stop, duration, shape in late:
        key = (json.dumps(shape), rank.beside(start, stop))
        if key[1] is not None and sum(map(len, seen[key].values())) >= 16:
            reference += full_clock(seen[key])
            actual += duration
    return actual / reference


def shares_of(rank):
    """Of the span of all kernels: GEMMs and attention, and those of them beside collectives."""
    begin = rank.kernels[0][0]
    end = rank.kernels[-1][1]
    compute = overlap = 0.0
    for start, stop, duration, shape in rank.kernels:
        if shape["kind"].startswith(("gemm", "attention")):
            compute += duration
            overlap += sum(max(0.0, min(stop, b) - max(start, a)) for a, b, _ in rank.collectives)
    return compute / (end - begin), overlap / (end - begin)


def from_traces(paths):
    ranks = [Rank(path) for path in paths]
    seen = collections.defaultdict(lambda: collections.defaultdict(list))  # (shape, SMs held beside it) -> rank -> durations
    for rank in ranks:
        for begin, end, duration, shape in rank.kernels:
            seen[json.dumps(shape), rank.beside(begin, end)][rank].append(duration)
    for key in sorted({key for key, _ in seen}):
        every = {held: [d for of_rank in seen[key, held].values() for d in of_rank] for k, held in sorted(seen, key=str) if k == key}
        if max(map(max, every.values())) < SHORTEST_US:
            continue
        line = json.loads(key)
        for held, values in every.items():
            if held == 0:
                line |= {"us": round(full_clock(seen[key, 0]), 3), "median_us": round(statistics.median(values), 3),
                         "count": len(values)}
            elif held is not None:
                line |= {"beside_us": round(statistics.median(values), 3), "beside_count": len(values), "beside_ctas": held}
        if "us" in line or "beside_us" in line:
            print(json.dumps(line))
    gaps = [gap for rank in ranks for gap in rank.gaps if 0 < gap < 20]
    print(json.dumps({"kind": "gap", "us": round(statistics.median(gaps), 3), "count": len(gaps)}))
    # The rank that came last waits for nobody: its collectives last as long as they must. The slowest rank paces the others.
    compute, overlap = shares_of(min(ranks, key=lambda rank: sum(b - a for a, b, _ in rank.collectives)))
    slowest = max(slowdown_of(rank, seen) for rank in ranks)
    print(json.dumps({"kind": "clock", "compute_share": round(compute, 4), "overlap_share": round(overlap, 4),
                      "slowdown": round(slowest, 4)}))


# Rows shorter than this measure the host's launches; GEMMs beyond, the clocks that their random operands bring down. Inner
# dimensions that are no multiple of 64 leave tensor cores idle, which no rule of kernel_times.h knows.
LAUNCHES_US, LARGEST_FLOP, ALIGNED = 20.0, 50e9, 64


def from_micro(micro, overlap):
    rows = json.load(open(micro, encoding="utf-8"))
    for row in rows["gemm_bf16"]:
        if row["us"][1] > LAUNCHES_US and 2.0 * row["m"] * row["n"] * row["k"] < LARGEST_FLOP and row["k"] % ALIGNED == 0:
            print(json.dumps({"kind": "gemm", "m": row["m"], "n": row["n"], "k": row["k"], "us": row["us"][1], "count": 8}))
    for row in rows["memory"]:
        if row["op"] in ("copy", "add") and row["us"][1] > LAUNCHES_US:
            moved = row["mib"] * 2**20 * (2 if row["op"] == "copy" else 3)
            kind = "copy" if row["op"] == "copy" else "elementwise"
            print(json.dumps({"kind": kind, "bytes": moved, "us": row["us"][1], "count": 20}))
    sustained = [us / row["n"] for row in json.load(open(overlap, encoding="utf-8")) if row["what"] == "gemm 8192 alone"
                 for rank in row["us"] for us in rank]
    print(json.dumps({"kind": "gemm", "m": 8192, "n": 8192, "k": 8192, "sustained_us": round(statistics.median(sustained), 3)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", default="h200_sxm", help="as `weft explain kernels` knows it")
    parser.add_argument("--machine", default="NVIDIA H200")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("trace").add_argument("files", nargs="+")
    micro = commands.add_parser("micro")
    micro.add_argument("micro")
    micro.add_argument("overlap")
    arguments = parser.parse_args()
    print(json.dumps({"weft_kernels": 1, "gpu": arguments.gpu, "machine": arguments.machine}))
    if arguments.command == "trace":
        from_traces(arguments.files)
    else:
        from_micro(arguments.micro, arguments.overlap)


if __name__ == "__main__":
    main()
