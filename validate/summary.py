#!/usr/bin/env python3
"""How far predictions are off on the logs of the 4 x H200 node: median and 95th percentile per log, and over all logs that its
profile was not fitted to (out of place, no rows of 0 bytes, no logs taken with NCCL_DEBUG).

    validate/summary.py PROGRAM [options of weft validate]
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

MIB = 1 << 20
ROOT = pathlib.Path(__file__).resolve().parent.parent
BANDS = (("< 2 MiB", 0, 2 * MIB), ("2-32 MiB", 2 * MIB, 32 * MIB + 1), ("> 32 MiB", 32 * MIB + 1, 1 << 62))


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def text(errors):
    return f"{quantile(errors, 0.5):6.1f} {quantile(errors, 0.95):6.1f}" if errors else "     -      -"


def predict(program, options):
    logs = sorted(p for p in (ROOT / "tests" / "data" / "h200x4").glob("*.txt") if not p.name.startswith("info_"))
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result.json"
        cluster = ROOT / "configs" / "clusters" / "h200x4.yaml"
        subprocess.run(
            [program, "validate", "--cluster", cluster, "--json", result, *options, *logs], check=True, stdout=subprocess.DEVNULL
        )
        return json.loads(result.read_text(encoding="utf-8"))["points"]


def main():
    program, *options = sys.argv[1:]
    rows = collections.defaultdict(list)
    fitted = set()
    for point in predict(program, options):
        name = pathlib.Path(point["file"]).name
        if point["training"]:
            fitted.add(name)
        if not point["in_place"] and point["bytes"] > 0 and point["relative_error"] is not None:
            rows[name].append((point["bytes"], 100 * abs(point["relative_error"])))
    print("error in %, median and 95th percentile      all" + "".join(f"  {band:>14}" for band, _, _ in BANDS))
    for name in sorted(rows, key=lambda log: (log not in fitted, log)):
        line = f"{name:36} {'fitted' if name in fitted else '':6} {text([e for _, e in rows[name]])}"
        for _, low, high in BANDS:
            line += "  " + text([e for b, e in rows[name] if low <= b < high])
        print(line)
    others = [row for name, log in rows.items() if name not in fitted for row in log]
    everything = [e for _, e in others]
    large = [e for b, e in others if b >= 4 * MIB]
    print(
        f"not fitted: {len(others)} rows, median {quantile(everything, 0.5):.2f} %, 95th percentile "
        f"{quantile(everything, 0.95):.2f} %; from 4 MiB up median {quantile(large, 0.5):.2f} %"
    )


if __name__ == "__main__":
    main()
