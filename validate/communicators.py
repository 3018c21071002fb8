#!/usr/bin/env python3
"""How far the calls of one NCCL communicator, and of one run, are off those of the next: one offset in time, whatever the call.

    validate/communicators.py RUN.jsonl RUN.jsonl... [-- RUN.jsonl RUN.jsonl...]

Each RUN is a `weft measure` of one kind of node; those of another kind follow after `--`. Of every protocol of a ring a run has one
communicator, or several (`communicator` in the records). The offset of one is the median, over the calls to 256 KiB in CUDA graphs that
all have, of its time less the mean over the communicators. Printed: the offsets, how much the calls of one scatter around it, and two
standard deviations: of communicators within a run, and of runs (Henderson, 1953: the variance of their means, less what the
communicators make of it). sim/measured/fit/calibrate.cpp takes a run and a communicator to be off by as much.
"""
import json
import pathlib
import statistics
import sys

MOST_BYTES = 256 * 1024
PROTOCOLS = ("LL", "LL128", "Simple")


def communicators(path):
    """Times in microseconds by call, of each protocol and number of communicator."""
    found = {}
    for record in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        is_call = record["kind"] == "collective" and record.get("launch") == "graph" and record.get("algorithm") == "Ring"
        if not is_call or record["bytes"] > MOST_BYTES or "channels" in record:
            continue
        times = found.setdefault((record["protocol"], record.get("communicator", 1)), {})
        times[(record["collective"], record["bytes"])] = record["median_us"]
    return found


def offsets(runs, protocol):
    """Of every communicator of a protocol in the runs, by name: run and number, offset, scatter of its calls."""
    named = {(run, number): times for run, found in runs.items() for (of, number), times in sorted(found.items()) if of == protocol}
    common = set.intersection(*(set(times) for times in named.values())) if len(named) > 1 else set()
    if not common:
        return {}
    mean = {call: statistics.mean(times[call] for times in named.values()) for call in common}
    differences = {name: [times[call] - mean[call] for call in common] for name, times in named.items()}
    return {name: (statistics.median(of), statistics.pstdev(of)) for name, of in differences.items()}


class Pooled:
    """A variance from several groups, each about its own mean."""

    def __init__(self):
        self.squares = 0.0
        self.freedom = 0

    def add(self, values):
        if len(values) > 1:
            self.squares += statistics.variance(values) * (len(values) - 1)
            self.freedom += len(values) - 1

    def variance(self):
        return self.squares / self.freedom if self.freedom else 0.0


def main():
    groups = [[]]
    for argument in sys.argv[1:]:
        if argument == "--":
            groups.append([])
        else:
            groups[-1].append(pathlib.Path(argument))
    if any(len(group) < 2 for group in groups):
        sys.exit(__doc__)
    within, between = Pooled(), Pooled()
    shares = []  # what a communicator counts in the mean of its run
    for group in groups:
        runs = {path.stem: communicators(path) for path in group}
        for protocol in PROTOCOLS:
            by_run = {}
            for (run, number), (offset, scatter) in offsets(runs, protocol).items():
                print(f"{protocol:7} {run:24} {number}  {offset:+.2f} us, its calls within {scatter:.2f}")
                by_run.setdefault(run, []).append(offset)
            for of_run in by_run.values():
                within.add(of_run)
                shares.append(1 / len(of_run))
            between.add([statistics.mean(of_run) for of_run in by_run.values()])
    if not shares:
        sys.exit("no calls in CUDA graphs that all runs have")
    of_runs = max(0.0, between.variance() - within.variance() * statistics.mean(shares))
    print(f"communicators of a run: standard deviation {within.variance() ** 0.5:.3f} us, {within.freedom} degrees of freedom")
    print(f"runs:                   standard deviation {of_runs ** 0.5:.3f} us, {between.freedom} degrees of freedom")


if __name__ == "__main__":
    main()
