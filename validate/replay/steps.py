#!/usr/bin/env python3
"""Traced training steps replayed on the hardware they were recorded on: step and categories, traced and predicted.

    validate/replay/steps.py build/weft TRACES_FOLDER [NAME...] [--json FILE] [--max 0.05]

TRACES_FOLDER holds NAME.kineto.rankN.json.gz, as validate/training/trace_categories.py takes them. Compute kernels keep their
recorded time; what NCCL does is simulated. The unprofiled step is the median of ten iterations
(tests/data/h200x4/train/measured.json); a traced step stands beside it to show what profiling did.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "configs/clusters/h200x4.yaml"
MEASURED = ROOT / "tests/data/h200x4/train/measured.json"
FIGURES = ("compute", "nccl", "exposed_nccl")


def trace_sets(folder):
    sets = {}
    for path in sorted(pathlib.Path(folder).glob("*.kineto.rank*.json.gz")):
        sets.setdefault(re.sub(r"\.kineto\.rank\d+\.json\.gz$", "", path.name), []).append(path)
    return sets


def replay(weft, files, cluster, *more):
    command = [weft, "replay", *map(str, files), "--cluster", str(cluster), "--json", "-", "--quiet", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json")
    parser.add_argument("--max", type=float, default=None, help="exit 1 where a step or a category is off by more (and 0.5 ms)")
    options = parser.parse_args()
    sets = trace_sets(options.folder)
    measured = json.loads(MEASURED.read_text())
    rows, worst = [], 0.0
    print(f"{'step, ms':26}{'traced':>9}{'replayed':>10}{'error':>8}{'unprofiled':>12}{'traced':>8}" +
          "".join(f"{name:>26}" for name in FIGURES))
    for name in options.names or sets:
        result = replay(options.weft, sets[name], CLUSTER, "--as-recorded")
        traced, own = result["traced_step_ns"] / 1e6, result["iteration_time_ns"] / 1e6
        plain = measured[name]["iter_ms_median"][0] if name in measured else float("nan")
        figures = {f["name"]: (f["traced_ns"] / 1e6, f["predicted_ns"] / 1e6) for f in result["categories"]}
        worst = max(worst, abs(own / traced - 1))
        cells = []
        for figure in FIGURES:
            seen, said = figures[figure]
            off = said / seen - 1 if seen else 0.0
            if abs(said - seen) > 0.5:
                worst = max(worst, abs(off))
            cells.append(f"{seen:9.2f}{said:9.2f}{off:+8.1%}")
        print(f"{name:26}{traced:9.2f}{own:10.2f}{own / traced - 1:+8.1%}{plain:12.2f}{traced / plain - 1:+8.1%}" + "".join(cells))
        rows.append({"name": name, "traced_ms": traced, "replayed_ms": own, "unprofiled_ms": plain,
                     "categories": {key: {"traced_ms": a, "replayed_ms": b} for key, (a, b) in figures.items()},
                     "collectives": result["collectives"]})
    print("(each of compute, nccl, exposed: traced, replayed, error; medians over ranks)")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if options.max is not None and worst > options.max else 0


if __name__ == "__main__":
    sys.exit(main())
