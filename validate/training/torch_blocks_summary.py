#!/usr/bin/env python3
"""What measured blocks of Llama-3 8B under PyTorch (torch_blocks.py) say of a GPU: times by layer, rates at full clock, power.

    validate/training/torch_blocks_summary.py validate/measured/h100x1_torch.json validate/measured/h200x2_torch.json

A layer's time is the difference between the steps of six and of two layers, over four. A rate at full clock is the measured one
times a slow-down that goes with the share of the step in matrix products and attention, a line fitted to the steps of
models/training_steps §7. Power: a product alone takes P W while the clock is f; where it runs a share d of the time and another
kernel waits for the rest at P_wait, the mean is d P + (1 - d) P_wait, so that the limit is met at higher clocks with smaller d.
"""
import argparse
import json
import math
import pathlib
import statistics

import trace_categories

PEAK = {"bf16": 989.4e12, "fp8": 1978.9e12}  # FLOP/s, dense (models/workloads §4.5)
HIDDEN, FFN, KV = 4096, 14336, 1024
FREE_SHARE, LOAD_SLOPE = 0.48, 0.33  # of that line
POWER_LIMIT = 700.0


def category(kernel):
    """That of trace_categories.py, with attention in its parts and the gradients' clipping beside the optimizer."""
    kind, name = trace_categories.category(kernel), kernel.lower()
    if kind == "attention":
        ends = "dot_do_o" in name or "convert_dq" in name
        return "attention ends" if ends else "attention forward" if "fwd" in name else "attention backward"
    return "optimizer and clipping" if kind == "optimizer" or "multi_tensor" in name else kind


def categories(run):
    """Milliseconds of a step."""
    total = {}
    for microseconds, _, name in run["kernels"]:
        total[category(name)] = total.get(category(name), 0.0) + microseconds / 1e3
    return total


def slowdown(run):
    parts = categories(run)
    share = sum(parts.get(key, 0.0) for key in ("gemm", "attention forward", "attention backward")) / run["steady_ms"]
    return 1 + LOAD_SLOPE * max(0.0, share - FREE_SHARE)


def by_layer(runs):
    """Pairs of runs that differ in layers alone: (settings, milliseconds of a layer, by category)."""
    pairs = {}
    for run in runs:
        key = json.dumps({k: v for k, v in run["config"].items() if k != "layers"}, sort_keys=True)
        pairs.setdefault(key, {})[run["config"]["layers"]] = run
    for key, found in pairs.items():
        if {2, 6} <= set(found):
            few, many = categories(found[2]), categories(found[6])
            parts = {name: (many[name] - few.get(name, 0.0)) / 4 for name in many}
            yield json.loads(key), (found[6]["steady_ms"] - found[2]["steady_ms"]) / 4, parts


def attention_rates(runs):
    """FLOP/s at full clock of causal FlashAttention-2: {sequence: (forward, backward)}, medians over runs that split no layer."""
    found = {}
    for run in runs:
        config = run["config"]
        if config.get("tp") or config.get("cp"):
            continue
        forward = 2.0 * config["batch"] * config["seq"] ** 2 * HIDDEN * config["layers"]
        parts = categories(run)
        again = 2 if config.get("ac") == "full" else 1
        rates = (forward * again / parts["attention forward"], 2.5 * forward / parts["attention backward"])
        found.setdefault(config["seq"], []).append([1e3 * rate * slowdown(run) for rate in rates])
    return {seq: tuple(statistics.median(column) for column in zip(*rows)) for seq, rows in sorted(found.items())}


def gemm_rate(runs, fp8):
    """FLOP/s at full clock of the linear layers' products, from pairs of runs."""
    for config, _, parts in by_layer(runs):
        if bool(config.get("fp8")) != fp8 or not config.get("compile") or config.get("tp"):
            continue
        tokens = config["batch"] * config["seq"]
        forward = 2.0 * tokens * (2 * HIDDEN * HIDDEN + 2 * HIDDEN * KV + 3 * HIDDEN * FFN)
        again = 0.0
        if config.get("ac") == "op" and not fp8:  # K, output and up projection are computed twice
            again = 2.0 * tokens * (HIDDEN * KV + HIDDEN * HIDDEN + HIDDEN * FFN)
        many = next(run for run in runs if run["config"] == {**config, "layers": 6})
        return (3 * forward + again) / parts["gemm"] * 1e3 * slowdown(many)
    return None


def power_exponent(points):
    """Power above that of a kernel that waits goes with this power of the product's speed: least squares of the logarithms."""
    waiting = next(p["watts"] for p in points if p["sleep_us"] < 0)
    limited = [p for p in points if p["sleep_us"] >= 0 and p["watts"] > 0.96 * POWER_LIMIT]
    xs = [-math.log(p["gemm_ms"]) for p in limited]
    ys = [math.log((p["watts"] - (1 - p["duty"]) * waiting) / p["duty"] - waiting) for p in limited]
    mean_x, mean_y = statistics.mean(xs), statistics.mean(ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)
    return slope, waiting


def speed_at(points, watts):
    """Of a product under a limit of `watts`, over that at the limit of the measured GPU."""
    exponent, waiting = power_exponent(points)
    return ((watts - waiting) / (POWER_LIMIT - waiting)) ** (1 / exponent)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    for file in parser.parse_args().files:
        data = json.loads(file.read_text())
        runs = [run for run in data["runs"] if "kernels" in run]
        print(f"{file.name}: {data['world']} x {data['device']}, PyTorch {data['torch']}\n\nmilliseconds of a layer")
        for config, total, parts in by_layer(runs):
            named = " ".join(f"{key}={value}" for key, value in config.items())
            print(f"  {named}: {total:.2f}: " + ", ".join(f"{key} {value:.2f}" for key, value in parts.items()))
        print("rates at full clock")
        for seq, (forward, backward) in attention_rates(runs).items():
            print(f"  FlashAttention-2, {seq} tokens: {forward / 1e12:.0f} and {backward / 1e12:.0f} TFLOP/s, "
                  f"{forward / PEAK['bf16']:.3f} and {backward / PEAK['bf16']:.3f} of the peak")
        for name, fp8 in (("bf16", False), ("fp8", True)):
            rate = gemm_rate(runs, fp8)
            if rate is not None:
                print(f"  products in {name}: {rate / 1e12:.0f} TFLOP/s, {rate / PEAK[name]:.3f} of the peak")
        for run in data["runs"]:
            if run["config"].get("duty"):
                exponent, waiting = power_exponent(run["power"])
                print(f"power: above {waiting:.0f} W as speed to the {exponent:.2f}; "
                      f"at 500 W {speed_at(run['power'], 500):.3f} of the speed at {POWER_LIMIT:.0f} W")
        print()


if __name__ == "__main__":
    main()
