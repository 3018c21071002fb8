#!/usr/bin/env python3
"""How fast is a large profile of PyTorch read, in how much memory, and how long does one rank's step take on 1,024 ranks?

    trace_speed.py WEFT [--megabytes 200] [--wanted 100]

The profile is one rank's real step, over and over, later each time. With --wanted the exit status says whether it is read at so
many MB/s (median of three, unpacked) and the 1,024 ranks run in a minute.
"""
import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STEP = ROOT / "tests/data/traces/ddp_h4096_l8_s2048.kineto.rank0.json.gz"
CLUSTER = ROOT / "configs/clusters/dgx_h100_superpod.yaml"
STEP_US = 70_000
NUMBERS = ("correlation", "External id", "Record function id")  # differ from copy to copy


def write_profile(path, size):
    with gzip.open(STEP, "rt", encoding="utf-8") as packed:
        profile = json.load(packed)
    events = profile.pop("traceEvents")
    with open(path, "w", encoding="utf-8") as out:
        out.write(json.dumps(profile)[:-1] + ', "traceEvents": [\n')
        copy = 0
        while out.tell() < size:
            for number, event in enumerate(events):
                later = dict(event)
                if "ts" in later:
                    later["ts"] = round(later["ts"] + copy * STEP_US, 3)
                if "args" in later:
                    later["args"] = {key: value + copy * 1_000_000 if key in NUMBERS else value for key, value in later["args"].items()}
                out.write((",\n" if copy + number else "") + json.dumps(later))
            copy += 1
        out.write("]}\n")
    return copy


def run(*command):
    """Seconds, and the largest resident size in MiB."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"trace_speed: {command} failed")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--wanted", type=float)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "profile.json"
        copies = write_profile(path, options.megabytes * 1e6)
        size = path.stat().st_size / 1e6
        runs = [run(options.weft, "trace", "info", path, "--quiet") for _ in range(3)]
    rate = size / statistics.median(seconds for seconds, _ in runs)
    print(f"profile of {size:.0f} MB ({copies} steps): {rate:.0f} MB/s, {max(memory for _, memory in runs):.0f} MiB")
    seconds, memory = run(options.weft, "replay", STEP, "--cluster", CLUSTER, "--set", "nodes=128", "--replicas", "256", "--quiet")
    print(f"4 ranks, one of them traced, as 1,024: {seconds:.1f} s, {memory:.0f} MiB")
    return 1 if options.wanted and (rate < options.wanted or seconds > 60) else 0


if __name__ == "__main__":
    sys.exit(main())
