#!/usr/bin/env python3
"""Measured training steps beside what Weft predicts for them: time, memory and categories, and the errors.

    validate/training/steps.py build/weft [NAME...] [--json FILE]

Scenarios: configs/validation/h200x4/NAME.yaml. Measured: tests/data/h200x4/train (train.py on four H200, iteration time the
median of ten on rank 0, memory the median rank; categories from one profiled step, trace_categories.py). The profile was fitted
on kernels of the ddp, tp4 and ep4 traces and on NCCL's logs, never on a step's time; the other traces are not in it.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/h200x4/train"
CATEGORIES = ("gemm", "attention", "other", "optimizer", "nccl", "exposed_nccl")


def predicted(weft, name):
    file = ROOT / "configs/validation/h200x4" / f"{name}.yaml"
    text = subprocess.run([weft, "run", str(file), "--json", "-", "--quiet"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)


def categories_of(result):
    """Milliseconds by category: the median over ranks, as the measured ones are."""
    rows = []
    for rank in result["ranks"]:
        part = {key: value / 1e6 for key, value in rank["breakdown_ns"].items()}
        row = {key: part.get(key, 0.0) for key in ("gemm", "attention", "optimizer")}
        row["other"] = part.get("other_compute", 0.0)
        row["nccl"] = sum(value for key, value in part.items() if key.endswith("_comm") and not key.startswith("exposed_"))
        row["exposed_nccl"] = sum(value for key, value in part.items() if key.startswith("exposed_") and key.endswith("_comm"))
        rows += [row] * int(rank["stands_for"])
    return {key: statistics.median(row[key] for row in rows) for key in CATEGORIES}


def memory_of(result):
    peaks = []
    for rank in result["ranks"]:
        peaks += [rank["peak_bytes"]] * int(rank["stands_for"])
    return statistics.median(peaks) / 2**30


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json")
    options = parser.parse_args()
    measured = json.loads((DATA / "measured.json").read_text())
    categories = json.loads((DATA / "categories.json").read_text())
    names = options.names or list(measured)
    rows = []
    print(f"{'step':28} {'measured ms':>12} {'predicted':>10} {'error':>8} {'GiB':>7} {'predicted':>10} {'error':>8}")
    for name in names:
        result = predicted(options.weft, name)
        time = measured[name]["iter_ms_median"][0]
        own = result["iteration_time_ns"] / 1e6
        memory = statistics.median(measured[name]["peak_mem_gib"])
        held = memory_of(result)
        row = {"name": name, "measured_ms": time, "predicted_ms": own, "error": own / time - 1, "measured_gib": memory,
               "predicted_gib": held, "memory_error": held / memory - 1}
        if name in categories:
            seen = categories[name]["median_ms"]
            said = categories_of(result)
            row["categories"] = {key: {"measured_ms": seen[key], "predicted_ms": said[key]} for key in CATEGORIES}
        rows.append(row)
        print(f"{name:28} {time:12.2f} {own:10.2f} {row['error']:+8.1%} {memory:7.2f} {held:10.2f} {row['memory_error']:+8.1%}")
    print(f"\n{'category, ms':28}" + "".join(f"{key:>22}" for key in CATEGORIES))
    for row in rows:
        if "categories" not in row:
            continue
        cells = []
        for key in CATEGORIES:
            seen, said = row["categories"][key]["measured_ms"], row["categories"][key]["predicted_ms"]
            off = abs(said - seen) > max(0.15 * seen, 1.0)
            cells.append(f"{seen:7.1f} {said:7.1f} {(said / seen - 1 if seen else 0):+5.0%}{'*' if off else ' '}")
        print(f"{row['name']:28}" + "".join(f"{cell:>22}" for cell in cells))
    print("(measured, predicted, error; * more than 15 % and 1 ms)")
    errors = [abs(row["error"]) for row in rows]
    print(f"\nmean error of time {statistics.mean(errors):.1%}, largest {max(errors):.1%}; "
          f"largest of memory {max(abs(row['memory_error']) for row in rows):.1%}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
