#!/usr/bin/env python3
"""How work scales with the number of GPUs: throughput or time of one result for each size, beside ideal scaling, and the
efficiency. Training steps give tokens/s, collectives bus bandwidth of the largest message, other runs the time.

    for n in 1 2 4 8; do weft collective all_reduce --cluster dgx_h100 --set nodes=$n -b 256M -e 256M --json $n.json; done
    plots/scaling.py 1.json 2.json 4.json 8.json -o scaling
"""
import style


def endpoints(result):
    """GPUs of the run; of a collective, its ranks."""
    if result.get("gpus"):
        return result["gpus"]
    if result.get("points"):
        return max(point["ranks"] for point in result["points"])
    return result.get("ranks") or result.get("endpoints")


def measure(result):
    """(value, what it is, True where more is better and ideal grows with the GPUs)."""
    if result.get("tokens_per_second"):
        return result["tokens_per_second"], "tokens/s", True
    if result.get("points"):
        largest = max(result["points"], key=lambda point: point["bytes"])
        return largest["busbw_GBps"] * largest["ranks"], f"bus bandwidth × ranks at {style.size_text(largest['bytes'])} (GB/s)", True
    return result["makespan_ns"] / 1e6, "time (ms)", False


def main():
    parser = style.options(__doc__, "scaling", several=True)
    arguments = parser.parse_args()
    rows = []
    for path in arguments.result:
        result = style.read(path, parser, "tokens_per_second", "points", "makespan_ns")
        count = endpoints(result)
        if not count:
            parser.error(f"{path}: the result does not say how many GPUs took part")
        rows.append((count, *measure(result)))
    if len({label for _, _, label, _ in rows}) != 1:
        parser.error("results of different kinds cannot stand in one figure")
    rows.sort()
    counts = [count for count, *_ in rows]
    if len(set(counts)) == 1:
        parser.error("one number of GPUs is no scaling: give a result for each of several")
    values = [value for _, value, *_ in rows]
    label, grows = rows[0][2:]
    ideal = [values[0] * (count / counts[0] if grows else 1) for count in counts]
    efficiency = [100 * (value / best if grows else best / value) for value, best in zip(values, ideal)]

    figure, (left, right) = style.figure(8.4, 3.8, columns=2)
    left.plot(counts, ideal, color=style.colour(7), linestyle="--", linewidth=1, label="ideal")
    left.plot(counts, values, color=style.colour(0), marker="o", markersize=4, label="simulated")
    left.set_ylabel(label)
    left.set_yscale("log", base=2)
    ticks = sorted(set(ideal)) if grows else sorted(set(values))
    left.set_yticks(ticks, [f"{tick:,.4g}" if tick < 1e4 else f"{tick:,.0f}" for tick in ticks])
    left.legend()
    right.plot(counts, efficiency, color=style.colour(1), marker="s", markersize=4)
    right.set_ylabel("efficiency (%)")
    right.set_ylim(0, max(105.0, 1.05 * max(efficiency)))
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.minorticks_off()
        axes.set_xlabel("GPUs")
    style.title(figure, "Scaling with the number of GPUs")
    style.save(figure, arguments.output)


if __name__ == "__main__":
    main()
