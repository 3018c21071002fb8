"""Public tables of kernel times as records of `weft measure` (docs/measurement_format.md), in rows to fit and rows to test.

Half of the shapes may be fitted to: those whose hash is even. A shape is (n, k) of a GEMM, the heads of attention, the sizes of a
layer of experts; so all rows of a weight are of one half. The tables' README says what each time contains; what is left out below
follows from it.
"""
import csv
import gzip
import hashlib
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared/reference/kernels"

# System of the tables -> GPU and cluster that Weft knows.
SYSTEMS = {
    "a100_sxm": ("a100_sxm", "dgx_a100"),
    "l40s": ("l40s", "l40s_8gpu"),
    "h100_sxm": ("h100_sxm", "dgx_h100"),
    "h200_sxm": ("h200_sxm", "dgx_h200"),
    "b200_sxm": ("b200", "dgx_b200"),
    "gb200": ("gb200", "gb200_nvl72"),
    "gb300": ("gb300", "gb300_nvl72"),
}
BLACKWELL = ("b200_sxm", "gb200", "gb300")

L2_MIB = {"a100_sxm": 40, "l40s": 96, "h100_sxm": 50, "h200_sxm": 50, "b200_sxm": 126, "gb200": 126, "gb300": 126}
GEMM_TYPES = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8", "nvfp4": "nvfp4", "int8_wo": "w8a16", "int4_wo": "w4a16",
              "sq": "int8"}
QUANTIZED = ("fp8", "fp8_block", "nvfp4")
# Attention and MLA below this are the pace of launching a graph of one call.
FLOOR_US = 30
# TensorRT's engines time layer by layer, in steps of 1.024 us. Their least row is 7.2 us (SmoothQuant, of a few KiB), where the least
# product in a graph on the same GPU takes 2.5. The difference is the timer's. Shorter rows are mostly it.
LAYER_TIMER_US = 4.7
LAYER_FLOOR_US = 20


def half(*shape):
    digest = hashlib.sha256(" ".join(map(str, shape)).encode()).digest()
    return "fit" if digest[0] % 2 == 0 else "test"


def gemm(system, framework, row):
    kind = row["gemm_dtype"]
    # Run eagerly, without a graph: host time. And a state of the software alone.
    if framework.startswith("vllm") and (kind == "fp8_block" or (system == "gb200" and kind == "bfloat16")):
        return None
    m, n, k = int(row["m"]), int(row["n"]), int(row["k"])
    record = {"kind": "gemm", "m": m, "n": n, "k": k, "type": GEMM_TYPES[kind], "operands": "nt"}
    # Copies of the weight that were used in turn: six, or as many as fill the L2, five at most.
    bits = {"bfloat16": 16, "nvfp4": 4.5, "int4_wo": 4}.get(kind, 8)
    if framework.startswith("vllm"):
        record["weight_copies"] = 6 if kind in ("bfloat16", "fp8") else 1
    else:
        record["weight_copies"] = max(1, min(5, math.ceil(L2_MIB[system] * 2**20 / (n * k * bits / 8))))
    if GEMM_TYPES[kind] == "fp8":
        record["scales"] = "block" if kind == "fp8_block" else "row" if framework.startswith("vllm") else "tensor"
    # Replays of a graph of six calls, 54 in all: beyond 50 ms of them the power decides the clock, where the tensor cores work.
    if m >= 512 and 54 * 1000 * float(row["latency"]) > 50e3:
        record["sustained"] = True
    if kind in QUANTIZED:
        record["quantized"] = True
    name = {"bfloat16": "bf16", "fp8_block": "fp8", "nvfp4": "fp4", "int8_wo": "weight only", "int4_wo": "weight only",
            "sq": "int8"}.get(kind, kind)
    return f"gemm {name}", half("gemm", n, k), record


def heads(row):
    number = int(row["num_heads"])
    return number, int(row["num_key_value_heads"]) or number, int(row["head_dim"])


def cache_type(row, framework=""):
    # In TensorRT-LLM 1.0.0 the type had no effect on MLA: rows of both take the same time.
    return "fp8" if row["kv_cache_dtype"] == "fp8" and framework != "trtllm_1.0.0" else "bf16"


def context_attention(system, _framework, row):
    number, shared, width = heads(row)
    tokens = int(row["isl"])
    record = {"kind": "attention", "method": "flash", "batch": int(row["batch_size"]), "heads": number, "kv_heads": shared,
              "sequence_length": tokens, "head_size": width, "causal": True, "window": int(row.get("window_size") or 0), "type": "bf16",
              "cache_type": cache_type(row)}
    # Triton's kernel, in place of the library's. Not fitted to.
    if width == 192 and record["cache_type"] == "fp8" and system in (*BLACKWELL, "l40s"):
        record["fallback"] = True
    return "context attention", half("attention", number, shared, width), record


def generation_attention(system, framework, row):
    number, shared, width = heads(row)
    # Tables of 0.14 count the query among the keys.
    keys = int(row["step"]) + (0 if "0.14" in framework else 1)
    record = {"kind": "attention", "method": "flash", "batch": int(row["batch_size"]), "heads": number, "kv_heads": shared,
              "sequence_length": 1, "keys": max(keys, 1), "head_size": width, "causal": True, "window": int(row.get("window_size") or 0),
              "type": "bf16", "cache_type": cache_type(row)}
    # FlashAttention-2 has a block for each head and sequence there: up to ten times as long. Not fitted to.
    if system in ("a100_sxm", "l40s") and record["window"] and record["cache_type"] == "bf16":
        record["fallback"] = True
    return "decode attention", half("attention", number, shared, width), record


# DeepSeek-V3: queries and keys 192 wide, values 128; absorbed, one key of 576 for all heads, of which 512 are the value.
def context_mla(_system, framework, row):
    if framework.startswith("vllm"):
        return None
    number = int(row["num_heads"])
    record = {"kind": "attention", "method": "flash", "batch": int(row["batch_size"]), "heads": number,
              "sequence_length": int(row["isl"]), "head_size": 192, "value_head_size": 128, "causal": True, "type": "bf16",
              "cache_type": cache_type(row, framework)}
    return "context mla", half("mla", number), record


def generation_mla(_system, framework, row):
    if framework.startswith("vllm"):
        return None
    number = int(row["num_heads"])
    record = {"kind": "attention", "method": "flash", "batch": int(row["batch_size"]), "heads": number, "kv_heads": 1,
              "sequence_length": 1, "keys": int(row["step"]) + 1, "head_size": 576, "value_head_size": 512, "causal": True,
              "type": "bf16", "cache_type": cache_type(row, framework), "keys_hold_values": True}
    return "decode mla", half("mla", number), record


MOE_TYPES = {"bfloat16": "bf16", "fp8": "fp8", "fp8_block": "fp8", "nvfp4": "nvfp4", "int4_wo": "w4a16", "w4a16_mxfp4": "w4a16",
             "w4a8_mxfp4_mxfp8": "w4a8"}


def moe(system, _framework, row):
    # On Hopper a scale a tensor is a state of the software alone, twice as slow as bf16.
    if row["moe_dtype"] not in MOE_TYPES or (row["moe_dtype"] == "fp8" and system in ("h100_sxm", "h200_sxm")):
        return None
    hidden, inner = int(row["hidden_size"]), int(row["inter_size"])
    experts, top_k = int(row["num_experts"]), int(row["topk"])
    record = {"kind": "moe", "tokens": int(row["num_tokens"]), "hidden": hidden, "ffn": inner, "experts": experts, "top_k": top_k,
              "tensor": int(row["moe_tp_size"]), "expert": int(row["moe_ep_size"]), "type": MOE_TYPES[row["moe_dtype"]],
              "gated": (hidden, inner) not in ((2688, 1856), (2048, 5120))}
    if row["moe_dtype"] == "fp8_block":
        record["scales"] = "block"
    if record["type"] == "w4a16":
        record["library"] = next((name for name in ("marlin", "flashinfer", "triton") if name in row["kernel_source"]), "other")
    if row["distribution"].startswith("power_law_"):
        record["power_law"] = float(row["distribution"].removeprefix("power_law_"))
    name = "moe weight only" if record["type"] == "w4a16" else "moe"
    return name, half("moe", hidden, inner, experts, top_k), record


OPERATIONS = {"gemm": gemm, "context_attention": context_attention, "generation_attention": generation_attention,
              "context_mla": context_mla, "generation_mla": generation_mla, "moe": moe}


def rows(system, operations=tuple(OPERATIONS)):
    """Yields (table, class, half, record) of each row that counts."""
    for file in sorted(SHARED.glob(f"{system}.*.csv.gz")):
        _, operation, framework = file.name.removesuffix(".csv.gz").split(".", 2)
        if operation not in operations:
            continue
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                us = 1000 * float(row["latency"])
                if row.get("kernel_source", "").startswith("trt_flow"):
                    if us < LAYER_FLOOR_US:
                        continue
                    us -= LAYER_TIMER_US
                if us <= 0 or (operation not in ("gemm", "moe") and us < FLOOR_US):
                    continue
                found = OPERATIONS[operation](system, framework, row)
                if found is not None:
                    yield (f"{operation}.{framework}", found[0], found[1], found[2] | {"launch": "graph", "median_us": us})


def write_records(gpu, records, file):
    """As `weft measure` would have written them."""
    import json
    with open(file, "w", encoding="utf-8") as out:
        header = {"weft_measurements": 1, "kind": "header", "tool": "tables", "machine": {"gpus": [{"index": 0, "name": gpu}]}}
        out.write(json.dumps(header) + "\n")
        for number, record in enumerate(records):
            out.write(json.dumps({"id": str(number)} | record) + "\n")
        out.write('{"kind": "end", "reason": "finished"}\n')
