#!/usr/bin/env python3
"""The same workloads on several clusters, as bars: time, shorter is better.

    weft compare configs/scenarios/all_reduce_and_alltoall_64.yaml --clusters A.yaml B.yaml --json compare.json
    plots/comparison.py compare.json -o comparison
"""
import pathlib

import style


def workload_name(workload):
    scenario = pathlib.Path(workload["scenario"]).stem
    return f"{workload['collective']} {style.size_text(workload['bytes'])}" if workload.get("collective") else scenario


def main():
    parser = style.options(__doc__, "comparison")
    parser.add_argument("--relative", action="store_true", help="times over the first cluster's")
    arguments = parser.parse_args()
    result = style.read(arguments.result, parser, "workloads")
    clusters = [cluster["name"] for cluster in result["clusters"]]
    workloads = result["workloads"]
    height = 0.8 / len(clusters)

    figure, axes = style.figure(8.0, 1.3 + 0.34 * len(workloads) * len(clusters))
    for index, cluster in enumerate(clusters):
        places, times = [], []
        for place, workload in enumerate(workloads):
            run = workload["runs"][index]
            first = workload["runs"][0]
            if run is None or (arguments.relative and first is None):
                continue
            places.append(place + (index - (len(clusters) - 1) / 2) * height)
            times.append(run["time_us"] / first["time_us"] if arguments.relative else run["time_us"] / 1e3)
        bars = axes.barh(places, times, height=0.9 * height, color=style.colour(index), label=cluster)
        axes.bar_label(bars, fmt="%.3g", padding=3, fontsize=7)
    axes.set_yticks(range(len(workloads)), [workload_name(workload) for workload in workloads])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"time over that on {clusters[0]}" if arguments.relative else "time (ms)")
    style.legend_below(figure, axes, 3)
    style.save(figure, arguments.output)


if __name__ == "__main__":
    main()
