#!/usr/bin/env python3
"""The queue of an incast over time, and how long short flows take under load, with HPCC and with DCQCN: a result of
validate/papers/hpcc.py.

    validate/papers/hpcc.py $(which weft) --out results
    plots/hpcc.py results/hpcc.json -o hpcc.png
"""
import argparse
import json
import pathlib

import style


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("hpcc.png"))
    options = parser.parse_args()
    result = json.loads(options.result.read_text(encoding="utf-8"))

    figure, (left, right) = style.figure(8.4, 3.6, columns=2)
    colours = dict(zip(result["incast"], style.COLOURS))
    for control, run in result["incast"].items():
        trace = run["trace"]
        left.plot([t / 1000 for t in trace["time_us"]], [q / 1000 for q in trace["queue_kB"]], color=colours[control], label=control)
    left.set_xlabel("time (ms)")
    left.set_ylabel("queue before the receiver (MB)")
    left.set_title("16 senders of 500 kB join a long flow", loc="left", fontsize=9)
    left.set_ylim(bottom=0)
    left.legend()

    groups = list(result["loads"])
    for at, name in enumerate(groups):
        for shift, (control, run) in zip((-0.13, 0.13), result["loads"][name].items()):
            times = run["short_fct_us"]
            right.vlines(at + shift, times["50"], times["99"], color=colours[control], linewidth=4, alpha=0.35)
            for marker, share in (("o", "50"), ("_", "95"), ("^", "99")):
                right.scatter([at + shift], [times[share]], marker=marker, s=30, color=colours[control], zorder=3)
    for marker, share in (("o", "50th"), ("_", "95th"), ("^", "99th")):
        right.scatter([], [], marker=marker, s=30, color="#666666", label=share)
    right.set_yscale("log")
    right.set_xlim(-0.5, len(groups) - 0.5)
    right.set_xticks(range(len(groups)), [name.replace(" ", "\n", 1).replace(" and ", "\nand ") for name in groups])
    right.set_ylabel("flows of up to 30 kB take (us)")
    right.set_title("Short flows under load", loc="left", fontsize=9)
    right.grid(axis="x", visible=False)
    right.set_ylim(top=right.get_ylim()[1] * 6)
    right.legend(title="percentile", loc="upper left", ncol=3, alignment="left")
    style.title(figure, "Queues and short flows with HPCC and with DCQCN")
    style.save(figure, options.output)


if __name__ == "__main__":
    main()
