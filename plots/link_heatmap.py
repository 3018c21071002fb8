#!/usr/bin/env python3
"""How busy the links between devices were: sender down, receiver across. Of a large topology, devices of one kind and host (or
tier) are joined, and the busiest link between two of them counts.

    weft run configs/scenarios/alltoall_dcqcn.yaml --json run.json
    plots/link_heatmap.py run.json -o links
"""
import math
import re

import style

MOST = 40  # rows


def links(result):
    """(from, to): utilization, of the busiest of parallel links."""
    found = {}
    for link in result.get("ports") or result["hottest_links"]:
        if "->" not in link["name"] or link["utilization"] is None:
            continue
        ends = tuple(end.split("#")[0] for end in link["name"].split("->", 1))
        found[ends] = max(found.get(ends, 0.0), link["utilization"])
    return found


def joined(name):
    """n0.gpu3 -> n0 gpu; leaf12 -> leaf."""
    host, _, device = name.rpartition(".")
    kind = re.sub(r"\d+$", "", device)
    return f"{host} {kind}" if host else kind


def natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def main():
    parser = style.options(__doc__, "links")
    arguments = parser.parse_args()
    found = links(style.read(arguments.result, parser, "ports", "hottest_links"))
    if not found:
        parser.error(f"{arguments.result}: no links between devices")
    shorten = [lambda name: name, joined, lambda name: joined(name).split()[-1]]
    for form in shorten:
        merged = {}
        for (source, target), share in found.items():
            key = (form(source), form(target))
            merged[key] = max(merged.get(key, 0.0), share)
        rows = sorted({source for source, _ in merged}, key=natural)
        columns = sorted({target for _, target in merged}, key=natural)
        if max(len(rows), len(columns)) <= MOST:
            break
    grid = [[100 * merged.get((row, column), math.nan) for column in columns] for row in rows]

    figure, axes = style.figure(2.4 + 0.34 * len(columns), 1.8 + 0.3 * len(rows))
    image = axes.imshow(grid, cmap=style.HEAT, vmin=0, vmax=100, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right", fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.grid(visible=False)
    axes.set_xlabel("to")
    axes.set_ylabel("from")
    if len(rows) * len(columns) <= 256:
        for y, row in enumerate(grid):
            for x, share in enumerate(row):
                if not math.isnan(share):
                    axes.text(x, y, f"{share:.0f}", ha="center", va="center", fontsize=6, color="white" if share < 55 else "black")
    style.title(figure, "How busy links were, sender down, receiver across")
    figure.colorbar(image, ax=axes, label="utilization (%)")
    style.save(figure, arguments.output)


if __name__ == "__main__":
    main()
