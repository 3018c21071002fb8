#!/usr/bin/env python3
"""Builds and runs the benchmarks, prints their medians, and adds them to a history file.

    tools/bench.py [--build build/release] [--against OTHER_BUILD] [--turns 7] [--slower 1.05] [--history FILE]
    tools/bench.py --htsim HTSIM_UEC [--weft BINARY] [--turns 3] [--case incast W1_k8]
    tools/bench.py --threads [--weft BINARY] [--turns 5] [--case W1_k8 W1_k16 k32] [--most-threads 16] [--write docs/performance.md]

Event queues: the hold model, and the event stream of a run of Weft itself; baseline: the binary heap. Flow fabric: arrivals per
second against the number of transfers in flight, the cost of one transfer, allocations per event (0 in the steady state).

A time says something only beside another of the same machine and minute. With --against the two builds run in turns, and the exit
status is 1 where a case is slower than --slower says: in so many turns that chance alone would bring it about once in a hundred times.
With --threads it measures packet fidelity against the number of threads instead (tools/threads_table.py), with --htsim Ultra Ethernet
beside the consortium's simulator (tools/htsim_table.py).

The history holds a JSON object a run (commit, machine, median of every case, ratios to the other build). It is there to be read: no
complaint comes from it.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import htsim_table
import threads_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCHMARKS = ("bench_event_queue", "bench_flow_fabric")
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
CHANCE = 0.01


class Build:
    """One build's benchmarks, and every turn that they have run."""

    def __init__(self, folder, scratch):
        self.bench = folder / "tests/bench"
        targets = [*BENCHMARKS, "record_events"]
        subprocess.run(["cmake", "--build", str(folder), "--target", *targets], check=True, stdout=subprocess.DEVNULL)
        self.stream = pathlib.Path(scratch) / f"{folder.resolve().as_posix().replace('/', '_')}.bin"
        self.scenario = ROOT / "configs/scenarios/ring_and_alltoall_128_hosts.yaml"
        done = subprocess.run([self.bench / "record_events", self.scenario, self.stream], check=True, capture_output=True, text=True)
        self.recorded = done.stdout.strip()
        self.turns = []

    def run(self):
        entries = []
        for name in BENCHMARKS:
            done = subprocess.run([self.bench / name, "--benchmark_format=json"], check=True, capture_output=True, text=True,
                                  env={**os.environ, "WEFT_EVENT_RECORD": str(self.stream)})
            entries += [{**entry, "benchmark": name} for entry in json.loads(done.stdout)["benchmarks"]]
        self.turns.append({entry["name"]: entry for entry in entries})

    def times(self, case):
        """In ns, one a turn."""
        return [turn[case]["cpu_time"] * NANOSECONDS[turn[case]["time_unit"]] for turn in self.turns]

    def medians(self):
        return {case: statistics.median(self.times(case)) for case in self.turns[0]}

    def of(self, benchmark):
        return [entry for entry in self.turns[0].values() if entry["benchmark"] == benchmark]


def print_queues(build, medians):
    """Rows by case, a column each queue; in brackets how many times faster than the binary heap."""
    cases, queues = {}, []
    for entry in build.of("bench_event_queue"):
        queue, case = entry["name"].split("/", 1)
        if queue not in queues:
            queues.append(queue)
        cases.setdefault(case, {})[queue] = medians[entry["name"]]
    print(f"recorded stream: {build.scenario.relative_to(ROOT)}, {build.recorded}\n")
    print(f"{'ns per operation (ratio to the binary heap)':44}" + "".join(f"{queue:>26}" for queue in queues))
    for case, times in cases.items():
        base = times.get("binary_heap", math.nan)
        cells = "".join(f"{times[queue]:16.1f} ({base / times[queue]:5.2f}x)" if queue in times else f"{'-':>26}" for queue in queues)
        print(f"{case:44}{cells}")


def print_fabric(build, medians):
    print(f"\n{'flow fabric':44}{'us per transfer':>18}{'arrivals/s':>14}{'flows/solve':>14}{'allocs/event':>14}")
    for entry in build.of("bench_flow_fabric"):
        print(f"{entry['name']:44}{medians[entry['name']] / 1e3:18.2f}{entry['arrivals/s']:14.0f}"
              f"{entry['flows/solve']:14.1f}{entry['allocs/event']:14.4f}")


def chance_of(successes, turns):
    """Of at least so many heads in so many throws."""
    return sum(math.comb(turns, k) for k in range(successes, turns + 1)) / 2**turns


def paired_ratios(build, other):
    """This build over the other, turn by turn, of the cases that both have."""
    return {case: [mine / theirs for mine, theirs in zip(build.times(case), other.times(case))]
            for case in build.turns[0] if case in other.turns[0]}


def complaints(ratios, slower):
    for case, of_turns in ratios.items():
        above = sum(ratio > slower for ratio in of_turns)
        if chance_of(above, len(of_turns)) <= CHANCE:
            yield f"{case}: {statistics.median(of_turns):.2f} times as long as the other build, beyond {slower} in {above} of {len(of_turns)} turns"


def add_to_history(path, medians, ratios):
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    entry = {"commit": commit.stdout.strip(), "machine": f"{platform.node()}, {os.cpu_count()} x {platform.machine()}", "ns": medians}
    if ratios:
        entry["ratios"] = {case: statistics.median(of_turns) for case, of_turns in ratios.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--against", type=pathlib.Path, metavar="BUILD", help="another build, of the commit before, to run in turns with")
    parser.add_argument("--turns", type=int, default=7, help="of each build; with fewer than 7 no case can be told from chance")
    parser.add_argument("--threads", action="store_true", help="packet fidelity against the number of threads")
    parser.add_argument("--weft", type=pathlib.Path, default=ROOT / "build/weft", help="the program, with --threads and --htsim")
    parser.add_argument("--htsim", type=pathlib.Path, metavar="HTSIM_UEC", help="the program of a uet-htsim that is built")
    parser.add_argument("--case", nargs="+", choices=sorted({*threads_table.CASES, *htsim_table.CASES, *htsim_table.OWN}), help="with --threads and --htsim")
    parser.add_argument("--most-threads", type=int, help="with --threads; else as many as there are processors")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE", help="with --threads: the page whose table it replaces")
    parser.add_argument("--slower", type=float, default=1.05, metavar="RATIO", help="what a case may take of its time in the other build")
    parser.add_argument("--history", type=pathlib.Path, default=ROOT / "build/bench_history.jsonl")
    options = parser.parse_args()
    for case in options.case or []:
        if case not in ({*htsim_table.CASES, *htsim_table.OWN} if options.htsim else threads_table.CASES):
            parser.error(f"--case {case} is not one of {'--htsim' if options.htsim else '--threads'}")
    if options.htsim:
        htsim_table.bench_htsim(options)
        return
    if options.threads:
        options.case = options.case or ["W1_k8", "W1_k16"]
        threads_table.bench_threads(options)
        return
    with tempfile.TemporaryDirectory() as scratch:
        builds = [Build(folder, scratch) for folder in (options.build, options.against) if folder]
        for turn in range(options.turns):
            for build in builds if turn % 2 == 0 else reversed(builds):
                build.run()
    medians = builds[0].medians()
    print_queues(builds[0], medians)
    print_fabric(builds[0], medians)
    ratios = paired_ratios(*builds) if options.against else {}
    add_to_history(options.history, medians, ratios)
    wrong = list(complaints(ratios, options.slower))
    for text in wrong:
        print(text, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
