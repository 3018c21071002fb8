#!/usr/bin/env python3
"""PFC's unfairness and its victim flow with PFC alone and with DCQCN, from the result of validate/papers/dcqcn.py.

    validate/papers/dcqcn.py $(which weft) --out results
    plots/dcqcn.py results/dcqcn.json -o dcqcn.png
"""
import argparse
import json
import pathlib

import style


def spread(axes, place, values, colour, label):
    """Least to most as a line, the median as a dot."""
    ordered = sorted(values)
    axes.vlines(place, ordered[0], ordered[-1], color=colour, linewidth=4, alpha=0.35)
    axes.scatter([place], [ordered[(len(ordered) - 1) // 2]], s=26, color=colour, zorder=3, label=label)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("dcqcn.png"))
    options = parser.parse_args()
    result = json.loads(options.result.read_text(encoding="utf-8"))

    figure, (left, right) = style.figure(8.4, 3.6, columns=2)
    for shift, colour, control in zip((-0.12, 0.12), (style.COLOURS[1], style.COLOURS[0]), result["unfairness"]):
        runs = result["unfairness"][control]
        for sender in range(len(result["senders"])):
            spread(left, sender + shift, [run["gbps"][sender] for run in runs], colour, None if sender else control)
        for joined, rates in enumerate(result["victim"][control]):
            spread(right, joined + shift, rates, colour, None if joined else control)
    left.set_xticks(range(len(result["senders"])), [*result["senders"][:-1], f"{result['senders'][-1]}\n(beside the receiver)"])
    left.set_title("Unfairness: four senders, one receiver", loc="left", fontsize=9)
    left.set_ylabel("rate on the wire (Gb/s)")
    right.set_xticks(range(len(result["victim"]["PFC"])))
    right.set_xlabel("senders that join the incast elsewhere")
    right.set_title("Victim: a flow to an idle host", loc="left", fontsize=9)
    for axes in (left, right):
        axes.set_ylim(bottom=0)
        axes.grid(axis="x", visible=False)
    left.legend(title="median; least to most", loc="upper left", alignment="left")
    style.title(figure, "Rates with PFC alone and with DCQCN")
    style.save(figure, options.output)


if __name__ == "__main__":
    main()
