#!/usr/bin/env python3
"""How far the times of libraries beside NCCL are off: vLLM's all-reduce, DeepEP's dispatch and combine.

    validate/libraries/score.py build/weft [TABLES] [TEXT...] [--side fitted|held-out|all] [--points] [--param KEY=VALUE]...

TABLES is a folder of measured tables, SYSTEM.OP.FRAMEWORK.csv.gz (../shared/reference/kernels where it is not named; its README says
what a number contains). Shapes are split by a hash of the shape: a fit may see two thirds of them, the score counts the others. TEXT
picks sets by name. Where the tables are not at hand, nothing runs.
"""
import argparse
import csv
import gzip
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT.parent / "shared" / "reference" / "kernels"
# System -> cluster of configs/clusters, its profile, GPUs of a node.
SYSTEMS = {
    "a100_sxm": ("dgx_a100", "a100_sxm", 8), "h100_sxm": ("dgx_h100", "h100_sxm", 8), "h200_sxm": ("dgx_h200", "h200_sxm", 8),
    "b200_sxm": ("dgx_b200", "b200", 8), "gb200": ("gb200_nvl72", "gb200", 4), "gb300": ("gb300_nvl72", "gb300", 4),
    "l40s": ("l40s_8gpu", "l40s", 8),
}
# The times of GB200 are those of custom kernels up to 8 MiB: symmetric memory was not to be had there (concluded from 4 MiB on 4).
WITHOUT_SYMMETRIC_MEMORY = ("gb200",)
# Without NVLink more than two GPUs are left to NCCL, whose times validate/nccl_public/score.py scores: they count in no total.
NCCL_ALONE = ("l40s vllm graph 4", "l40s vllm graph 8", "l40s vllm eager 4", "l40s vllm eager 8")


def is_fitted(*shape):
    """Two of three shapes; a shape is on the same side for all GPUs and for all that is swept of it."""
    text = " ".join(map(str, shape)).encode()
    return hashlib.sha256(text).digest()[0] % 3 != 2


def read(tables, system, op):
    for file in sorted(tables.glob(f"{system}.{op}.*.csv.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from csv.DictReader(lines)


def all_reduce_points(tables, system):
    """(set, side, key, measured us): `key` is what weft is asked for. message_size counts elements of two bytes."""
    for row in read(tables, system, "custom_allreduce"):
        ranks, size, mode = int(row["num_gpus"]), 2 * int(row["message_size"]), row["backend"].removeprefix("vllm_")
        yield (f"{system} vllm {mode} {ranks}", is_fitted("all_reduce", ranks, size), ("all_reduce", ranks, size, mode),
               1000 * float(row["latency"]))


def expert_points(tables, system, mode):
    """All token counts of a shape, and all SMs, are on one side."""
    op = "wideep_deepep_ll" if mode == "low_latency" else "wideep_deepep_normal"
    for row in read(tables, system, op):
        hidden, topk, experts, tokens = (int(row[key]) for key in ("hidden_size", "num_topk", "num_experts", "num_token"))
        fitted = is_fitted("deepep", hidden, topk, experts)
        for step in ("dispatch", "combine"):
            time = row[f"{step}_avg_t_us"] if mode == "low_latency" else row[f"{step}_transmit_us"]
            sms = 0 if mode == "low_latency" else int(row[f"{step}_sms"])
            yield (f"{system} deepep {mode} {step}", fitted, (mode, step, hidden, topk, experts, tokens, sms), float(time))


def run(program, arguments, cluster, profile, parameters):
    with tempfile.TemporaryDirectory() as folder:
        result, file = pathlib.Path(folder, "result.json"), pathlib.Path(folder, "profile.yaml")
        command = [program, *arguments, "-q", "--cluster", ROOT / "configs/clusters" / (cluster + ".yaml"), "--json", result]
        if parameters:
            lines = [f"extends: {ROOT / 'configs/profiles' / (profile + '.yaml')}", "name: overlay", "parameters:"]
            lines += [f"  {key}: {{value: {value}, source: assumed}}" for key, value in parameters.items()]
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            command += ["--profile", file]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
        return json.loads(result.read_text(encoding="utf-8"))


def predict_all_reduce(program, system, keys, options):
    cluster, profile, _ = SYSTEMS[system]
    found = {}
    for ranks, mode in sorted({(key[1], key[3]) for key in keys}):
        sizes = sorted(key[2] for key in keys if (key[1], key[3]) == (ranks, mode))
        arguments = ["collective", "all_reduce", "-t", ranks, "-d", "bfloat16", "-b", sizes[0], "-e", sizes[-1], "-f", 2, "-n", 5]
        library = "vllm_custom" if options.engine == "vllm" and system in WITHOUT_SYMMETRIC_MEMORY else options.engine
        arguments += ["--library", library] if library else []
        arguments += ["-G"] if mode == "graph" else []
        result = run(program, arguments, cluster, profile, options.parameters)
        for point in result["points"]:
            found[("all_reduce", ranks, point["bytes"], mode)] = point["time_us"]
    return found


def predict_experts(program, system, keys, options):
    cluster, profile, ranks = SYSTEMS[system]
    found = {}
    shapes = sorted({key[:5] + key[6:] for key in keys})
    for mode, step, hidden, topk, experts, sms in shapes:
        tokens = sorted(key[5] for key in keys if key[:5] + key[6:] == (mode, step, hidden, topk, experts, sms))
        arguments = ["experts", step, "--mode", mode, "--ranks", ranks, "--hidden", hidden, "--topk", topk, "--experts", experts]
        arguments += ["--tokens", ",".join(map(str, tokens))]
        arguments += ["--sms", sms] if sms else []
        # A100's GPUs have no FP8; there dispatch is in BF16 (the tables' README).
        arguments += ["--dispatch-type", "bf16"] if system == "a100_sxm" else []
        result = run(program, arguments, cluster, profile, options.parameters)
        for point in result["points"]:
            found[(mode, step, hidden, topk, experts, point["tokens"], sms)] = point["time_us"]
    return found


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("tables", nargs="?", type=pathlib.Path, default=TABLES)
    parser.add_argument("text", nargs="*")
    parser.add_argument("--side", choices=("fitted", "held-out", "all"), default="held-out")
    parser.add_argument("--points", action="store_true")
    parser.add_argument("--param", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--library", dest="engine", default="vllm", help="of the all-reduces; empty: NCCL alone")
    parser.add_argument("--smallest", type=int, default=1, metavar="N", help="tokens of DeepEP's points, at least")
    options = parser.parse_intermixed_args()
    options.parameters = dict(pair.split("=", 1) for pair in options.param)
    if not options.tables.is_dir():
        print(f"no tables at {options.tables}")
        return
    print(f"{'set, ' + options.side:44} {'points':>6}  {'median':>7}  {'95 %':>7}  {'mean':>7}")
    everything = {}
    for system in SYSTEMS:
        kinds = [("all-reduce", list(all_reduce_points(options.tables, system)), predict_all_reduce)]
        kinds += [(f"deepep {mode}", [point for point in expert_points(options.tables, system, mode) if point[2][5] >= options.smallest],
                   predict_experts) for mode in ("low_latency", "normal")]
        for kind, points, predict in kinds:
            points = [point for point in points if options.side == "all" or point[1] == (options.side == "fitted")]
            points = [point for point in points if not options.text or all(text in point[0] for text in options.text)]
            if not points:
                continue
            found = predict(options.program, system, [point[2] for point in points], options)
            for name in dict.fromkeys(point[0] for point in points):
                rows = [(key, measured, found[key]) for of, _, key, measured in points if of == name]
                errors = [100 * (seen / measured - 1) for _, measured, seen in rows]
                sizes = [abs(error) for error in errors]
                total = kind + (" in graphs" if " graph " in name else " in streams" if " eager " in name else "")
                if name not in NCCL_ALONE:
                    everything.setdefault(total, []).extend(sizes)
                print(f"{name:44} {len(rows):6}  {quantile(sizes, 0.5):5.1f} %  {quantile(sizes, 0.95):5.1f} %  "
                      f"{sum(errors) / len(errors):+5.1f} %", flush=True)
                if options.points:
                    for (key, measured, seen), error in zip(rows, errors):
                        print(f"    {' '.join(map(str, key)):44} {measured:10.2f} {seen:10.2f} us {error:+7.1f} %")
    for kind, sizes in everything.items():
        print(f"{'all: ' + kind:44} {len(sizes):6}  {quantile(sizes, 0.5):5.1f} %  {quantile(sizes, 0.95):5.1f} %")


if __name__ == "__main__":
    main()
