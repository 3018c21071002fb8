#!/usr/bin/env python3
"""Hybrid fidelity against packets throughout: times, errors and speed. docs/flow_and_packet.md has the table.

    validate/papers/hybrid.py PROGRAM [--markdown]

Collectives of 64 GPUs have packets between their nodes and flows inside; `hybrid_incast` has them at the incast's leaf. Runs follow each
other, so that their seconds can be compared: some ten seconds, half of them the all-to-all of flows.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import runs

CLUSTERS = runs.ROOT / "configs" / "clusters"
EIGHT_NODES = CLUSTERS / "dgx_h100_8_nodes.yaml"
FIDELITIES = ("flow", "packet", "hybrid")
INCAST = 15  # the last flows of hybrid_incast


def collective(kind, size, *options):
    return ["collective", kind, "--cluster", str(EIGHT_NODES), "-b", size, "-e", size, *options]


def time_us(result):
    return result["points"][0]["time_us"]


def first_of_incast(result):
    return min(flow["fct_ns"] for flow in result["flows"][-INCAST:]) / 1000


def last_of_incast(result):
    return max(flow["fct_ns"] for flow in result["flows"][-INCAST:]) / 1000


def mean_of_others(result):
    others = [flow["fct_ns"] for flow in result["flows"][:-INCAST]]
    return sum(others) / len(others) / 1000


INCAST_RUN = ["run", str(runs.SCENARIOS / "hybrid_incast.yaml")]
# What, command, figures in us.
CASES = [
    (collective("all_reduce", "16M", "--algo", "Ring"), [("all_reduce, ring, 16 MiB", time_us)]),
    (collective("all_reduce", "16M", "--algo", "Tree"), [("all_reduce, tree, 16 MiB", time_us)]),
    (collective("all_gather", "4M"), [("all_gather, 4 MiB", time_us)]),
    (collective("reduce_scatter", "16M"), [("reduce_scatter, 16 MiB", time_us)]),
    (collective("alltoall", "16M"), [("alltoall, 16 MiB", time_us)]),
    (INCAST_RUN, [("incast of 15, first flow ends", first_of_incast), ("incast of 15, last flow ends", last_of_incast),
                  ("flows elsewhere, mean", mean_of_others)]),
]


def run(program, command, fidelity):
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result.json"
        done = subprocess.run([program, *command, "--fidelity", fidelity, "--quiet", "--json", str(result)], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} --fidelity {fidelity}\n{done.stderr}")
        return json.loads(result.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--markdown", action="store_true", help="as docs/flow_and_packet.md has it")
    options = parser.parse_args()
    bar, edge = (" | ", "| ") if options.markdown else ("  ", "")

    def row(*cells):
        print((edge + bar.join(cells) + edge[::-1]).rstrip(), flush=True)

    row(f"{'all times in us':30}", "    flow", "  packet", "  hybrid", "hybrid/packet", "packets", "wall s: flow", "packet", "hybrid", "faster")
    if options.markdown:
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for command, figures in CASES:
        results = {fidelity: run(options.program, command, fidelity) for fidelity in FIDELITIES}
        walls = [results[fidelity]["wall_s"] for fidelity in FIDELITIES]
        for i, (what, figure) in enumerate(figures):
            flow, packet, hybrid = (figure(results[fidelity]) for fidelity in FIDELITIES)
            speed = [f"{results['hybrid']['hybrid']['packet_share']:7.1%}", f"{walls[0]:12.2f}", f"{walls[1]:6.2f}", f"{walls[2]:6.2f}",
                     f"{walls[1] / walls[2]:5.1f}x"]
            row(f"{what:30}", f"{flow:8.2f}", f"{packet:8.2f}", f"{hybrid:8.2f}", f"{hybrid / packet:13.4f}",
                *(speed if i == 0 else [" " * len(cell) for cell in speed]))


if __name__ == "__main__":
    main()
