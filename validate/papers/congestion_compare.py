#!/usr/bin/env python3
"""The same all-to-all of 64 hosts under PFC alone, DCQCN, HPCC and InfiniBand's credits (configs/scenarios/alltoall_*.yaml), and as
shares of links (flow fidelity): completion, pauses, marks and queues, over several choices of ECMP.

    validate/papers/congestion_compare.py PROGRAM [--seeds 3] [--bytes "32 MiB"] [--markdown]

Half a minute on two cores. The figures are medians over the seeds.
"""
import argparse

import runs

WAYS = {"PFC only": "pfc", "DCQCN": "dcqcn", "HPCC": "hpcc", "IB credits": "credits"}
COLUMNS = ("time (us)", "slower", "pauses", "paused (us)", "marks", "drops", "longest queue (kB)", "mean wait (us)")


def figures(result):
    """`mean wait`: of the packets of all ports, in their queues."""
    ports = result["ports"]
    packets = sum(port["packets"] for port in ports)
    return {
        "time (us)": result["makespan_ns"] / 1000,
        "pauses": len(result["pauses"]),
        "paused (us)": sum(port["paused_ns"] for port in ports) / 1000,
        "marks": sum(port["total_marks"] for port in ports),
        "drops": sum(port["total_drops"] for port in ports),
        "longest queue (kB)": max(port["peak_queue_bytes"] for port in ports) / 1000,
        "mean wait (us)": sum(port["mean_wait_ns"] * port["packets"] for port in ports) / max(packets, 1) / 1000,
    }


def text(value):
    return "-" if value is None else f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--bytes", default="32 MiB", help="per rank")
    parser.add_argument("--markdown", action="store_true", help="as docs/flow_and_packet.md has it")
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    size = f"workload.collectives[0].bytes={options.bytes}"

    def of_all(file, settings, reduce):
        scenario = runs.SCENARIOS / f"alltoall_{file}.yaml"
        return runs.run_all(options.program, [(scenario, (size, *settings), seed) for seed in seeds], reduce)

    flow = of_all("pfc", ("simulation.fidelity=flow",), lambda result: result["makespan_ns"] / 1000)
    shares = runs.median(flow)
    rows = [("shares of links (flow)", {"time (us)": shares})]
    for name, file in WAYS.items():
        found = of_all(file, (), figures)
        rows.append((name, {column: runs.median([one[column] for one in found]) for column in found[0]}))
    for _, row in rows:
        row["slower"] = row["time (us)"] / shares

    bar, edge = (" | ", "| ") if options.markdown else ("  ", "")
    print((edge + f"{f'alltoall of {options.bytes}':22}" + bar + bar.join(COLUMNS) + edge[::-1]).rstrip())
    if options.markdown:
        print("| --- |" + " ---: |" * len(COLUMNS))
    for name, row in rows:
        cells = bar.join(f"{text(row.get(column)):>{len(column)}}" for column in COLUMNS)
        print((edge + f"{name:22}" + bar + cells + edge[::-1]).rstrip())


if __name__ == "__main__":
    main()
