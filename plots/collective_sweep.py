#!/usr/bin/env python3
"""Bus bandwidth and time of collectives over message size, a curve for each result or choice in it.

    weft collective all_reduce --cluster h200x4 -b 8 -e 4G --json chosen.json
    weft collective all_reduce --cluster h200x4 -b 8 -e 4G --nccl NCCL_ALGO=Tree --json tree.json
    plots/collective_sweep.py chosen.json tree.json -o sweep
"""
import style


def curves(path, result):
    """Points by what they are, in the order met."""
    found = {}
    for point in result["points"]:
        if point.get("in_place") or point["bytes"] == 0 or not point.get("time_us"):
            continue
        found.setdefault((path.stem, point["collective"], point["ranks"]), []).append(point)
    return found


def main():
    parser = style.options(__doc__, "collective_sweep", several=True)
    arguments = parser.parse_args()
    found = {}
    for path in arguments.result:
        found.update(curves(path, style.read(path, parser, "points")))
    if not found:
        parser.error("no points of more than 0 bytes")
    if max(len({point["bytes"] for point in points}) for points in found.values()) == 1:
        parser.error("one size is no curve: -b and -e of weft collective give several")
    one_collective = len({key[1:] for key in found}) == 1

    figure, (left, right) = style.figure(9.0, 4.2, columns=2)
    for index, ((name, collective, ranks), points) in enumerate(found.items()):
        points = sorted(points, key=lambda point: point["bytes"])
        sizes = [point["bytes"] for point in points]
        label = name if one_collective else f"{style.words(collective)}, {ranks} ranks"
        look = {"color": style.colour(index), "marker": style.marker(index), "markersize": 3.5, "linewidth": 1.3}
        left.plot(sizes, [point["busbw_GBps"] for point in points], label=label, **look)
        right.plot(sizes, [point["time_us"] for point in points], **look)
    sizes = [point["bytes"] for points in found.values() for point in points]
    for axes in (left, right):
        style.size_axis(axes, sizes)
    left.set_ylim(bottom=0)
    left.set_ylabel("bus bandwidth (GB/s)")
    right.set_yscale("log")
    right.set_ylabel("time (µs)")
    if one_collective:
        (_, collective, ranks) = next(iter(found))
        style.title(figure, f"{style.words(collective)} among {ranks} ranks, by message size")
    else:
        style.title(figure, "Collectives by message size")
    style.legend_below(figure, left)
    style.save(figure, arguments.output)


if __name__ == "__main__":
    main()
