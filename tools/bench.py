#!/usr/bin/env python3
"""Builds and runs the benchmarks and prints their medians, with ratios where there is a baseline.

    tools/bench.py [--build build/release] [--repetitions 5]

Event queues: the hold model, and the event stream of a run of Weft itself; baseline: the binary heap. Flow fabric: arrivals per
second against the number of transfers in flight, the cost of one transfer, allocations per event (0 in the steady state).
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run_benchmark(program, repetitions, environment=None):
    command = [str(program), f"--benchmark_repetitions={repetitions}", "--benchmark_report_aggregates_only=true",
               "--benchmark_format=json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    return [entry for entry in json.loads(done.stdout)["benchmarks"] if entry.get("aggregate_name") == "median"]


def print_queues(entries):
    """Rows by case, a column each queue; in brackets how many times faster than the binary heap."""
    cases, queues = {}, []
    for entry in entries:
        queue, case = entry["run_name"].split("/", 1)
        if queue not in queues:
            queues.append(queue)
        cases.setdefault(case, {})[queue] = entry["cpu_time"]
    print(f"{'ns per operation (ratio to the binary heap)':44}" + "".join(f"{queue:>26}" for queue in queues))
    for case, times in cases.items():
        base = times.get("binary_heap")
        cells = "".join(f"{times[queue]:16.1f} ({base / times[queue]:5.2f}x)" if queue in times else f"{'-':>26}" for queue in queues)
        print(f"{case:44}{cells}")


def print_fabric(entries):
    print(f"\n{'flow fabric':44}{'us per transfer':>18}{'arrivals/s':>14}{'flows/solve':>14}{'allocs/event':>14}")
    scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3}
    for entry in entries:
        print(f"{entry['run_name']:44}{entry['cpu_time'] * scale[entry['time_unit']]:18.2f}{entry['arrivals/s']:14.0f}"
              f"{entry['flows/solve']:14.1f}{entry['allocs/event']:14.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    targets = ["bench_event_queue", "bench_flow_fabric", "record_events"]
    subprocess.run(["cmake", "--build", str(options.build), "--target", *targets], check=True, stdout=subprocess.DEVNULL)
    bench = options.build / "tests/bench"
    with tempfile.TemporaryDirectory() as scratch:
        stream = pathlib.Path(scratch) / "events.bin"
        scenario = ROOT / "configs/scenarios/ring_and_alltoall_128_hosts.yaml"
        recorded = subprocess.run([bench / "record_events", scenario, stream], check=True, capture_output=True, text=True)
        print(f"recorded stream: {scenario.relative_to(ROOT)}, {recorded.stdout.strip()}\n")
        print_queues(run_benchmark(bench / "bench_event_queue", options.repetitions, {"WEFT_EVENT_RECORD": str(stream)}))
    print_fabric(run_benchmark(bench / "bench_flow_fabric", options.repetitions))


if __name__ == "__main__":
    main()
