#!/usr/bin/env python3
"""Queues and rates over time, as a scenario's `measure: {series: [queue, rate]}` records them: one panel a quantity.

    weft run configs/scenarios/mechanisms/incast_400g.yaml --set measure.series=[queue,rate] --set "measure.every=20 us" \\
        --json run.json
    plots/series.py run.json -o series
    plots/series.py run.json -o flows --of 0,1
"""
import style
from matplotlib import pyplot as plt

UNITS = {"queue": ("queue (KiB)", 1 / 1024), "rate": ("rate (Gb/s)", 1.0)}
NAMES = {"queue": "queues of ports", "rate": "rates of flows"}


def name_of(thing):
    """A flow has a number, a port its name."""
    return f"flow {thing}" if str(thing).isdigit() else str(thing)


def main():
    parser = style.options(__doc__, "series")
    parser.add_argument("--of", help="only what is measured of this port or flow; several with commas")
    arguments = parser.parse_args()
    series = style.read(arguments.result, parser, "series")["series"]
    if arguments.of:
        wanted = set(arguments.of.split(","))
        series = [one for one in series if str(one["of"]) in wanted]
    if not series:
        parser.error("no such series")
    quantities = list(dict.fromkeys(one["quantity"] for one in series))

    style.figure()
    plt.close("all")
    figure, panels = plt.subplots(len(quantities), 1, figsize=(8.0, 0.8 + 2.5 * len(quantities)), constrained_layout=True,
                                  sharex=True, squeeze=False)
    end = max(max(one["time_ns"], default=0) for one in series)
    unit, scale = ("ms", 1e6) if end >= 1e7 else ("µs", 1e3)
    for panel, quantity in zip(panels[:, 0], quantities):
        label, factor = UNITS.get(quantity, (quantity, 1.0))
        for index, one in enumerate(one for one in series if one["quantity"] == quantity):
            panel.plot([time / scale for time in one["time_ns"]], [factor * value for value in one["value"]],
                       color=style.colour(index), linewidth=1.1, linestyle=["-", "--", ":"][index // 8 % 3], label=name_of(one["of"]))
        panel.set_ylabel(label)
        panel.set_ylim(bottom=0)
        if len(panel.lines) <= 16:
            panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    panels[-1, 0].set_xlabel(f"time ({unit})")
    named = " and ".join(NAMES.get(quantity, quantity) for quantity in quantities)
    style.title(figure, f"{named[0].upper()}{named[1:]} over time")
    style.save(figure, arguments.output)


if __name__ == "__main__":
    main()
