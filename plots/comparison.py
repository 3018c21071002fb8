#!/usr/bin/env python3
"""The same workloads on several clusters, as bars: time, shorter is better.

    weft compare configs/scenarios/training/gpt_1f1b.yaml configs/scenarios/known_answers/k23_ring_all_reduce.yaml \\
        --clusters h200x4 dgx_h100 --json compare.json
    plots/comparison.py compare.json -o comparison
"""
import pathlib

import style


def workload_name(workload):
    kind = workload.get("collective")
    if not kind or kind in ("training", "inference"):
        return pathlib.Path(workload["scenario"]).stem
    return f"{style.words(kind)} {style.size_text(workload['bytes'])}"


def time_unit(times_us):
    """That in which the longest has one to four digits, and its size in 1/us."""
    longest = max(times_us, default=0)
    return ("s", 1e-6) if longest >= 1e7 else ("ms", 1e-3) if longest >= 1e3 else ("us", 1)


def main():
    parser = style.options(__doc__, "comparison")
    parser.add_argument("--relative", action="store_true", help="times over the first cluster's")
    arguments = parser.parse_args()
    result = style.read(arguments.result, parser, "workloads")
    clusters = [cluster["name"] for cluster in result["clusters"]]
    workloads = result["workloads"]
    height = 0.8 / len(clusters)
    unit, per_us = time_unit(run["time_us"] for workload in workloads for run in workload["runs"] if run)

    figure, axes = style.figure(8.0, 1.3 + 0.34 * len(workloads) * len(clusters))
    for index, cluster in enumerate(clusters):
        places, times = [], []
        for place, workload in enumerate(workloads):
            run = workload["runs"][index]
            first = workload["runs"][0]
            if run is None or (arguments.relative and first is None):
                continue
            places.append(place + (index - (len(clusters) - 1) / 2) * height)
            times.append(run["time_us"] / first["time_us"] if arguments.relative else run["time_us"] * per_us)
        bars = axes.barh(places, times, height=0.9 * height, color=style.colour(index), label=cluster)
        axes.bar_label(bars, fmt="%.3g", padding=3, fontsize=7)
    axes.set_yticks(range(len(workloads)), [workload_name(workload) for workload in workloads])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"time over that on {clusters[0]}" if arguments.relative else f"time ({unit})")
    what = "Time" if not arguments.relative else f"Time, over that on {clusters[0]}"
    style.title(figure, f"{what}; shorter is better")
    style.legend_below(figure, axes, 3)
    style.save(figure, arguments.output)


if __name__ == "__main__":
    main()
