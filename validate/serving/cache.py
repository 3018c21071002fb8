"""Says how far off Weft's KV caches are from those that engines print, by engine: python3 cache.py WEFT [--json FILE].

With --fit it prints what engine_memory.cpp has from the half of the rows that it is fitted to, as that half gives it.
"""

import argparse
import hashlib
import json
import os
import re
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GIB = 2 ** 30
HALVES = ("fitted to", "held")


def half(row, sources):
    """The half of a row. Rows of one source, engine, GPU, model and plan are in the same one."""
    keys = (sources[row["source"]]["url"], row["engine"], row["gpu"], row["model"], row["tensor"], row.get("pipeline", 1))
    address = "/".join(str(key) for key in keys)
    return HALVES[hashlib.sha256(address.encode()).digest()[0] % 2]


def scenario(row, models, folder):
    model = row["model"]
    if model in models:
        path = os.path.join(folder, model + ".yaml")
        with open(path, "w") as file:
            json.dump({"kind": "model", "name": model, "description": model, **models[model]}, file)
        model = path
    return {"cluster": os.path.join(ROOT, "configs", "clusters", "dgx_h100.yaml"),
            "workload": {"inference": {
                "model": model, "library": row["engine"],
                "parallelism": {"tensor": row["tensor"], "pipeline": row.get("pipeline", 1)},
                "precision": {"weights": row.get("weights", "bf16")},
                "kv_cache": {"precision": row.get("cache", "bf16"), "utilization": row["utilization"],
                             "block": row.get("block", 16)},
                "requests": {"rate": "1 /s", "count": 1, "prompt": 16, "output": 1},
                "scheduler": {"token_budget": row["token_budget"], "max_batch": row["max_batch"]}}}}


def predict(weft, row, models, folder):
    path = os.path.join(folder, "scenario.yaml")
    with open(path, "w") as file:
        json.dump(scenario(row, models, folder), file)
    command = [weft, "run", path, "--set", f"cluster.gpu={row['gpu']}", "--quiet", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[0]
    return json.loads(done.stdout)["memory_per_gpu_bytes"], ""


def compare(row, memory):
    """Relative error of the cache, and what it is too large by, in GB of one GPU."""
    block = memory["kv_block"] / row.get("block", 16)
    predicted = memory["kv_cache"]
    measured = row["tokens"] * block if "tokens" in row else row["cache_gib"] * GIB
    return predicted / measured - 1, (predicted - measured) / 1e9


def summary(rows, name):
    errors = [abs(row["error"]) for row in rows if row["error"] is not None]
    missed = len(rows) - len(errors)
    if not errors:
        return
    apart = statistics.mean(abs(row["gb"]) for row in rows if row["error"] is not None)
    bias = statistics.mean(row["gb"] for row in rows if row["error"] is not None)
    note = f"; {missed} without a cache" if missed else ""
    print(f"{name:28} {len(errors):3} rows: median error {100 * statistics.median(errors):5.2f} %, "
          f"mean {100 * statistics.mean(errors):5.1f} %, {apart:5.2f} GB off, {bias:+5.2f} too large{note}")


def is_new(row):
    """vLLM has other kernels of sampling since 0.17, which take less."""
    return row["version"].startswith(("0.17", "0.18", "0.19", "0.2x"))


def shape(row, models):
    """Hidden width and vocabulary of a row's model."""
    if row["model"] in models:
        return models[row["model"]]["hidden"], models[row["model"]]["vocab"]
    with open(os.path.join(ROOT, "configs", "models", row["model"] + ".yaml")) as file:
        text = file.read()
    return tuple(int(re.search(rf"^{key}: (\d+)", text, re.MULTILINE).group(1)) for key in ("hidden", "vocab"))


def fit(rows, models):
    """What the half that is fitted to says of vLLM since 0.17 and of TensorRT-LLM since 1.0, in GB and bytes."""
    logs = [row for row in rows if row["engine"] == "vllm" and "activations_gib" in row.get("log", {})]
    logs = [row for row in logs if is_new(row) and "pipeline" not in row]
    for name, is_shared in (("one GPU", False), ("several GPUs", True)):
        taken = [row["log"]["non_torch_gib"] * GIB / 1e9 for row in logs if (row["tensor"] > 1) == is_shared]
        print(f"vLLM's runtime, {name}: {statistics.mean(taken):.2f} GB ({len(taken)} logs)")
    each = []
    for row in logs:
        hidden, vocab = shape(row, models)
        if row["model"] not in models or "moe" not in models[row["model"]]:
            sampling = row["log"]["activations_gib"] * GIB - 2 * row["token_budget"] * hidden
            each.append(sampling / (row["max_batch"] * vocab))
    print(f"vLLM's sampling: {statistics.median(each):.1f} bytes a logit, {min(each):.1f} to {max(each):.1f} ({len(each)} logs)")
    left = []
    for row in rows:
        if row["engine"] == "tensorrt_llm" and row["version"] == "1.x":
            memory = row["memory"]
            cache = row["tokens"] * memory["kv_block"] / row["block"]
            left.append((memory["capacity"] - memory["weights"] - memory["activations"] - cache / row["utilization"]) / 1e9)
    print(f"TensorRT-LLM's runtime, several GPUs: {statistics.mean(left):.2f} GB ({len(left)} rows)\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--fit", action="store_true", help="prints what the constants are fitted to")
    parser.add_argument("--json", help="writes the rows there")
    args = parser.parse_args()
    with open(os.path.join(HERE, "cache_published.json")) as file:
        published = json.load(file)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in published["rows"]:
            memory, problem = predict(args.weft, row, published["models"], folder)
            row = row | {"half": half(row, published["sources"]), "memory": memory, "problem": problem, "error": None, "gb": None}
            if memory:
                row["error"], row["gb"] = compare(row, memory)
            rows.append(row)
            name = f"{row['engine']} {row['version']} {row['gpu']} {row['model']} tp{row['tensor']} {row.get('weights', 'bf16')}"
            text = f"{100 * row['error']:+7.2f} %, {row['gb']:+6.2f} GB" if memory else problem
            print(f"{name:60} {row['half']:9} {text}", flush=True)
    print()
    if args.fit:
        fit([row for row in rows if row["half"] == HALVES[0]], published["models"])
    for where in (*HALVES, ""):
        chosen = [row for row in rows if where in ("", row["half"])]
        for engine in ("vllm", "sglang", "tensorrt_llm", ""):
            summary([row for row in chosen if engine in ("", row["engine"])], f"{engine or 'all'}, {where or 'both halves'}")
    vllm = [row for row in rows if row["engine"] == "vllm"]
    summary([row for row in vllm if is_new(row)], "vllm since 0.17")
    summary([row for row in vllm if not is_new(row)], "vllm before 0.17")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
