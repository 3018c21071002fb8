#!/usr/bin/env python3
"""Draws a timeline (Chrome trace): of a training step one row per rank and stream, of a collective one per rank and channel.

    weft run configs/scenarios/training/gpt_1f1b.yaml --timeline step.json
    plots/timeline.py step.json -o step.png --streams compute,pp
    weft collective all_reduce --cluster h200x4 -b 1M -e 1M --grain chunk --timeline calls.json
    plots/timeline.py calls.json -o calls.png --iteration 0 --ranks 2

An iteration of a collective is a call of the loop; of several sizes the last is drawn.
"""
import argparse
import json
import pathlib

import style
from matplotlib.patches import Patch

CATEGORIES = {  # category: (label, colour)
    "gemm": ("GEMM", style.COLOURS[0]),
    "attention": ("attention", style.COLOURS[2]),
    "other compute": ("other compute", style.COLOURS[4]),
    "optimizer": ("optimizer", style.COLOURS[3]),
    "communication": ("communication", style.COLOURS[1]),
    "step": ("moves data", style.COLOURS[0]),
    "wait": ("waits for data, a slot or another lane", "0.85"),
    "synchronise": ("warps synchronise", style.COLOURS[1]),
}


def kind_of(span):
    category = span["cat"]
    return "communication" if category.endswith(" comm") else category


def read(path):
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    return processes, threads, [e for e in events if e["ph"] == "X"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("timeline.png"))
    parser.add_argument("--iteration", type=int, help="the one to draw; by default the last")
    parser.add_argument("--ranks", type=int, default=8, help="ranks drawn, from the first")
    parser.add_argument("--streams", help="names of streams, with commas; by default all that have something")
    options = parser.parse_args()
    processes, threads, spans = read(options.trace)
    key = "iteration" if "iteration" in spans[0]["args"] else "call"
    unit, per_unit = ("ms", 1e3) if key == "iteration" else ("us", 1)
    if key == "call":
        last_size = max((span["ts"] for span in spans if span["cat"] == "collective" and span["tid"] == 0), default=0)
        last_size = min((span["ts"] for span in spans if key in span["args"] and span["ts"] >= last_size), default=0)
        spans = [span for span in spans if key in span["args"] and span["ts"] >= last_size]
        if not spans:
            parser.error("no steps in this timeline: only the chunk grain has them (--grain chunk)")
    last = max(span["args"][key] for span in spans)
    iteration = last if options.iteration is None else options.iteration
    spans = [span for span in spans if span["args"][key] == iteration]
    if not spans:
        parser.error(f"no iteration {iteration}: the last one is {last}")
    ranks = sorted({span["pid"] for span in spans})[: options.ranks]
    wanted = set(options.streams.split(",")) if options.streams else None
    used = {(span["pid"], span["tid"]) for span in spans}
    rows = [key for key in sorted(threads) if key[0] in ranks and key in used and (wanted is None or threads[key] in wanted)]
    begin = min(span["ts"] for span in spans)

    figure, axes = style.figure(10, 0.9 + 0.28 * len(rows))
    height = 0.8
    drawn = set()
    for place, row in enumerate(rows):
        by_kind = {}
        for span in spans:
            if (span["pid"], span["tid"]) != row:
                continue
            waited = span["args"].get("waited_us", 0.0)
            by_kind.setdefault(kind_of(span), []).append(((span["ts"] - begin + waited) / per_unit, (span["dur"] - waited) / per_unit))
        for kind, bars in by_kind.items():
            colour = CATEGORIES.get(kind, ("", "0.6"))[1]
            edge = 0.5 if kind == "communication" else 0.0  # a message is thinner than a pixel
            axes.broken_barh(bars, (place - height / 2, height), facecolor=colour, edgecolor=colour, linewidth=edge)
            drawn.add(kind)
    axes.set_yticks(range(len(rows)), [f"{processes[pid]} {threads[pid, tid]}" for pid, tid in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=0, right=max((span["ts"] + span["dur"] - begin) / per_unit for span in spans))
    axes.set_xlabel(f"{unit} from the start of the {key}")
    axes.grid(axis="y", visible=False)
    axes.legend(handles=[Patch(color=colour, label=label) for kind, (label, colour) in CATEGORIES.items() if kind in drawn],
                loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, fontsize=7, frameon=False)
    style.title(figure, f"Ranks and their {'streams' if key == 'iteration' else 'channels'} over time, {key} {iteration}")
    style.save(figure, options.output)


if __name__ == "__main__":
    main()
