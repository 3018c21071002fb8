#!/usr/bin/env python3
"""The same scenarios at both fidelities: one where they agree, and those where they must not. docs/flow_and_packet.md explains each.

    validate/papers/flow_and_packet.py PROGRAM [--markdown]

A quarter of a minute on two cores.
"""
import argparse

import runs

BENCH = runs.ROOT / "configs" / "bench"
PAPERS = runs.SCENARIOS / "papers"
SHORT_RUN = ("simulation.until=15 ms", "measure.from=5 ms")


def last(result):
    return max(flow["fct_ns"] for flow in result["flows"]) / 1000


def first(result):
    return min(flow["fct_ns"] for flow in result["flows"]) / 1000


def rate_of(flow):
    return lambda result: result["flows"][flow]["rate_gbps"]


def total_rate(result):
    return sum(flow["rate_gbps"] for flow in result["flows"])


# What, unit, scenario, settings, seed, figure.
CASES = [
    ("nothing collides: last flow ends after", "us", BENCH / "w1_k8_shift.yaml", (), 1, last),
    ("incast of 32: last flow ends after", "us", BENCH / "w2_incast.yaml", (), 1, last),
    ("incast of 32: first flow ends after", "us", BENCH / "w2_incast.yaml", (), 1, first),
    ("PFC only, sender beside the receiver", "Gb/s", PAPERS / "dcqcn_unfairness.yaml", (*runs.PFC_ONLY, *SHORT_RUN), 3, rate_of(3)),
    ("PFC only, a sender elsewhere", "Gb/s", PAPERS / "dcqcn_unfairness.yaml", (*runs.PFC_ONLY, *SHORT_RUN), 3, rate_of(0)),
    ("PFC only, victim of an incast", "Gb/s", PAPERS / "dcqcn_victim.yaml", (*runs.PFC_ONLY, *SHORT_RUN), 2, rate_of(4)),
    ("DCQCN, first 5 ms, all flows", "Gb/s", PAPERS / "dcqcn_unfairness.yaml", ("measure={from: 0 us, to: 5 ms}", "simulation.until=5 ms"),
     1, total_rate),
    ("DCQCN, 20 to 60 ms, all flows", "Gb/s", PAPERS / "dcqcn_unfairness.yaml", (), 1, total_rate),
    ("DCQCN, 20 to 60 ms, victim of an incast", "Gb/s", PAPERS / "dcqcn_victim.yaml", (), 2, rate_of(4)),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--markdown", action="store_true", help="as docs/flow_and_packet.md has it")
    options = parser.parse_args()
    jobs = []
    for _, _, scenario, settings, seed, _ in CASES:
        jobs += [(scenario, (*settings, f"simulation.fidelity={fidelity}"), seed) for fidelity in ("flow", "packet")]
    results = runs.run_all(options.program, jobs, lambda result: {"flows": result["flows"]})

    bar, edge = (" | ", "| ") if options.markdown else ("  ", "")
    print((edge + bar.join((f"{'':40}", "unit", "    flow", "  packet", "packet/flow", "scenario, seed")) + edge[::-1]).rstrip())
    if options.markdown:
        print("| --- | --- | ---: | ---: | ---: | --- |")
    for i, (what, unit, scenario, _, seed, figure) in enumerate(CASES):
        flow, packet = figure(results[2 * i]), figure(results[2 * i + 1])
        cells = (f"{what:40}", f"{unit:4}", f"{flow:8.2f}", f"{packet:8.2f}", f"{packet / flow:11.3f}", f"{scenario.stem}, {seed}")
        print((edge + bar.join(cells) + edge[::-1]).rstrip())


if __name__ == "__main__":
    main()
