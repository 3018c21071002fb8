#!/usr/bin/env python3
"""Measured and predicted times of collectives, and the error of every point, from a result of `weft validate --json`.

    weft validate --cluster configs/clusters/h200x4.yaml --json result.json tests/data/h200x4/all_reduce_4gpu.txt
    plots/validation.py result.json -o validation.png
"""
import argparse
import json
import pathlib

import style


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("validation.png"))
    options = parser.parse_args()
    points = [p for p in json.loads(options.result.read_text())["points"]
              if not p["in_place"] and p["bytes"] > 0 and p.get("relative_error") is not None]
    if not points:
        parser.error(f"{options.result}: no predicted points")

    figure, axes = style.figure()
    for colour, name in zip(style.COLOURS, sorted({p["file"] for p in points})):
        mine = sorted((p for p in points if p["file"] == name), key=lambda p: p["bytes"])
        label = pathlib.Path(name).stem
        axes.plot([p["bytes"] for p in mine], [100 * p["relative_error"] for p in mine], color=colour, linewidth=1, label=label)
        for training, face in ((False, colour), (True, "white")):
            some = [p for p in mine if p["training"] == training]
            axes.scatter([p["bytes"] for p in some], [100 * p["relative_error"] for p in some], s=18, color=face, edgecolors=colour, zorder=3)
    axes.axhline(0, color="#888888", linewidth=0.8)
    style.size_axis(axes, [p["bytes"] for p in points])
    axes.set_ylabel("predicted over measured, less 1 (%)")
    axes.set_title("Error of every point; hollow: the profile was fitted on it", loc="left", fontsize=9)
    axes.legend()
    figure.savefig(options.output, dpi=150)
    print(options.output)


if __name__ == "__main__":
    main()
