#!/usr/bin/env python3
"""Measured and predicted times, and the error of every point, from a result of `weft validate --json` (or its report.json).

    weft validate --cluster h200x4 --json result.json tests/data/h200x4/all_reduce_4gpu.txt
    plots/validation.py result.json -o validation
"""
import pathlib

import style


def main():
    parser = style.options(__doc__, "validation")
    parser.add_argument("--kind", default="collective", help="which points: collective, gemm, copy, ... (default: %(default)s)")
    arguments = parser.parse_args()
    points = [p for p in style.read(arguments.result, parser, "points")["points"]
              if p["kind"] == arguments.kind and not p["in_place"] and p["bytes"] > 0 and p.get("relative_error") is not None]
    if not points:
        parser.error(f"{arguments.result}: no predicted points of kind {arguments.kind}")

    figure, (left, right) = style.figure(10.0, 4.6, columns=2)
    for index, name in enumerate(sorted({p["file"] for p in points})):
        mine = sorted((p for p in points if p["file"] == name), key=lambda p: p["bytes"])
        colour, marker = style.colour(index), style.marker(index)
        sizes = [p["bytes"] for p in mine]
        is_curve = arguments.kind == "collective"
        if is_curve:
            left.plot(sizes, [p["predicted_us"] for p in mine], color=colour, linewidth=1)
            right.plot(sizes, [100 * p["relative_error"] for p in mine], color=colour, linewidth=0.8, alpha=0.6)
        else:
            left.scatter(sizes, [p["predicted_us"] for p in mine], color=colour, marker="_", s=30, linewidths=1)
        for training, face in ((False, colour), (True, "white")):
            some = [p for p in mine if p["training"] == training]
            look = {"s": 16, "color": face, "edgecolors": colour, "marker": marker, "linewidths": 0.9, "zorder": 3}
            left.scatter([p["bytes"] for p in some], [p["measured_us"] for p in some], **look)
            right.scatter([p["bytes"] for p in some], [100 * p["relative_error"] for p in some],
                          label=pathlib.Path(name).stem if some and (training is False or len(some) == len(mine)) else None, **look)
    right.axhline(0, color="#888888", linewidth=0.8)
    for axes in (left, right):
        style.size_axis(axes, [p["bytes"] for p in points])
    left.set_yscale("log")
    left.set_ylabel("time (µs)")
    left.set_title("Dots: measured; lines: predicted", loc="left", fontsize=9)
    right.set_ylabel("predicted over measured, less 1 (%)")
    right.set_title("Error of every point; hollow: the profile was fitted on it", loc="left", fontsize=9)
    style.title(figure, f"Measured and predicted times: {style.words(arguments.kind)}")
    style.legend_below(figure, right)
    style.save(figure, arguments.output)


if __name__ == "__main__":
    main()
