#!/usr/bin/env python3
"""PFC's unfairness and its victim flows, and what DCQCN makes of them, on the testbed of the DCQCN paper (Zhu et al., SIGCOMM 2015;
models/network §8): the paper's figures beside ours, over many choices of ECMP. Exit status 1 where one is off by over a factor of
two.

    validate/papers/dcqcn.py PROGRAM [--seeds 16] [--out DIR]

writes DIR/dcqcn.json and DIR/dcqcn.png. A minute on two cores. The scenarios also run alone: `weft run
configs/scenarios/papers/dcqcn_victim.yaml`.
"""
import argparse
import json
import pathlib
import sys

import runs

UNFAIRNESS = runs.SCENARIOS / "papers" / "dcqcn_unfairness.yaml"
VICTIM = runs.SCENARIOS / "papers" / "dcqcn_victim.yaml"
SENDERS = ("h0", "h5", "h10", "h15")
NEIGHBOUR = 3  # the flow from under the receiver's switch, in UNFAIRNESS
VICTIM_FLOW = 4
REMOTE = (5, 6)  # the senders that join, in VICTIM
# PFC's shares stand after the first pauses; DCQCN takes some 10 ms to find its own.
CONTROLS = {
    "PFC": (*runs.PFC_ONLY, "simulation.until=15 ms", "measure.from=5 ms"),
    "DCQCN": ("simulation.until=35 ms", "measure.from=15 ms"),
}


def rates(result):
    """Gb/s on the wire of every flow, as the paper's figures are to be read, and the number of pauses."""
    lost = sum(port["total_drops"] for port in result["ports"])
    if lost > 0:
        sys.exit(f"{lost} packets lost under PFC")
    return {"gbps": [flow["wire_rate_gbps"] for flow in result["flows"]], "pauses": len(result["pauses"])}


def unfairness(program, seeds):
    jobs = [(UNFAIRNESS, settings, seed) for settings in CONTROLS.values() for seed in seeds]
    results = runs.run_all(program, jobs, rates)
    count = len(seeds)
    return {control: results[i * count : (i + 1) * count] for i, control in enumerate(CONTROLS)}


def victim(program, seeds, most):
    """By control, for 0 to `most` senders that join: the victim's rate of each seed."""
    cases = [(control, joined) for control in CONTROLS for joined in range(most + 1)]
    jobs = []
    for control, joined in cases:
        # A flow that starts after the end of the run sends nothing.
        absent = tuple(f"workload.flows[{flow}].start=1 s" for flow in REMOTE[joined:])
        jobs += [(VICTIM, CONTROLS[control] + absent, seed) for seed in seeds]
    results = runs.run_all(program, jobs, lambda result: rates(result)["gbps"][VICTIM_FLOW])
    found = {control: [] for control in CONTROLS}
    for i, (control, _) in enumerate(cases):
        found[control].append(results[i * len(seeds) : (i + 1) * len(seeds)])
    return found


def checks(fair, hurt):
    neighbour = {control: [one["gbps"][NEIGHBOUR] for one in fair[control]] for control in CONTROLS}
    others = {control: [rate for one in fair[control] for rate in one["gbps"][:NEIGHBOUR]] for control in CONTROLS}
    rows = [
        ("PFC only: sender beside the receiver, at most", "Gb/s", 20, max(neighbour["PFC"])),
        ("PFC only: the three others, at least", "Gb/s", 20 / 3, min(others["PFC"])),
        ("DCQCN: sender beside the receiver, median", "Gb/s", 10, runs.median(neighbour["DCQCN"])),
        ("DCQCN: the three others, median", "Gb/s", 10, runs.median(others["DCQCN"])),
        ("PFC only: victim, nobody joins, median", "Gb/s", 10, runs.median(hurt["PFC"][0])),
    ]
    if len(hurt["PFC"]) > 2:
        rows.append(("PFC only: victim, two join, median", "Gb/s", 10, runs.median(hurt["PFC"][2])))
    for joined, found in enumerate(hurt["DCQCN"]):
        rows.append((f"DCQCN: victim, {joined} join, median", "Gb/s", 20, runs.median(found)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    fair = unfairness(options.program, seeds)
    hurt = victim(options.program, seeds, len(REMOTE))
    print(f"rates on the wire in Gb/s: least, median, most of {options.seeds} choices of ECMP; pauses: median of a run\n")
    for control, found in fair.items():
        columns = zip(*(one["gbps"] for one in found))
        text = "   ".join(f"{name:>3} {min(c):4.1f} {runs.median(c):4.1f} {max(c):4.1f}" for name, c in zip(SENDERS, columns))
        print(f"unfairness  {control:5}  {text}   pauses {runs.median([one['pauses'] for one in found])}")
    for control, found in hurt.items():
        text = "   ".join(f"{joined} join {min(c):4.1f} {runs.median(c):4.1f} {max(c):4.1f}" for joined, c in enumerate(found))
        print(f"victim      {control:5}  {text}")
    print()
    right = runs.print_checks(checks(fair, hurt))
    options.out.mkdir(parents=True, exist_ok=True)
    result = options.out / "dcqcn.json"
    result.write_text(json.dumps({"senders": SENDERS, "unfairness": fair, "victim": hurt}), encoding="utf-8")
    runs.draw("dcqcn.py", result, options.out / "dcqcn.png")
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
