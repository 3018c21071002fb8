#!/usr/bin/env python3
"""Measures packet fidelity against the number of threads and writes the table of docs/performance.md.

    tools/bench.py --threads [--weft build/release/bin/weft] [--turns 5] [--case W1_k8 ...] [--write docs/performance.md]

Each turn runs a case in one part, then in parts on 1, 2, 4, ... threads, up to the processors there are, so that all see the same
machine. The table has medians. A run's CPU time is that of its own process, user and system.
"""
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- written by tools/bench.py --threads -->", "<!-- end of what tools/bench.py writes -->"
K32 = """cluster:
  nodes: 8192
  node: {type: host}
  fabric:
    type: fat_tree
    k: 32
    link: {type: ethernet, rate: 400 Gb/s, latency: 1 us, mtu: 4096 B}
    routing: spray
    pfc: {xoff: 200 kB, xon: 190 kB}
    transport: {acks: packets, ack_size: 86 B, reliability: none}
workload: {traffic: [{pattern: permutation, bytes: 1 MiB}]}
simulation: {fidelity: packet, seed: 1}
"""
# By name: a file or the text of one, and how the table calls it.
CASES = {
    "W1_k8": (ROOT / "configs/bench/w1_k8.yaml", "k=8, 128 hosts, 32 MiB each"),
    "W1_k16": (ROOT / "configs/bench/w1_k16.yaml", "k=16, 1,024 hosts, 4 MiB each"),
    "k32": (K32, "k=32, 8,192 hosts, 1 MiB each"),
}


def run(weft, scenario, partitions, threads):
    """Wall and CPU seconds, the peak in MiB, and of the result the digest, the parts and the hops."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "result.json"
        path = scenario
        if isinstance(scenario, str):
            path = pathlib.Path(folder) / "scenario.yaml"
            path.write_text(scenario, encoding="utf-8")
        command = [weft, "run", path, "-j", str(threads), "--quiet", "--json", out]
        if partitions:
            command += ["--set", f"simulation.partitions={partitions}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}")
        result = json.loads(out.read_text(encoding="utf-8"))
    return {"wall": result["wall_s"], "cpu": usage.ru_utime + usage.ru_stime, "mib": usage.ru_maxrss / 1024,
            "digest": result["digest"], "parts": result["parts"], "hops": result["packet_hops"]}


def thread_counts(most):
    counts = [1]
    while counts[-1] * 2 <= most:
        counts.append(counts[-1] * 2)
    return counts


def measure(weft, scenario, turns, threads):
    """Rows by number of threads, 0 that of one part, each of medians."""
    seen = {}
    for _ in range(turns):
        seen.setdefault(0, []).append(run(weft, scenario, 1, 1))
        for count in threads:
            seen.setdefault(count, []).append(run(weft, scenario, None, count))
    digests = {one["digest"] for count in threads for one in seen[count]}
    if len(digests) != 1:
        raise SystemExit(f"the digest depends on the number of threads: {sorted(digests)}")
    return {count: {**runs[0], **{key: statistics.median(one[key] for one in runs) for key in ("wall", "cpu", "mib")}}
            for count, runs in seen.items()}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "an unknown processor"


def table(rows_of_cases, turns):
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    load = os.getloadavg()[0]
    lines = [f"{datetime.date.today().isoformat()}, {commit.stdout.strip()}, {os.cpu_count()} x {processor()}, load {load:.1f} before "
             f"the end, medians of {turns} in turn:", "",
             "| run | parts | threads | wall | faster than one part | CPU | of one part's | hops a second of CPU | peak |",
             "|---|---|---|---|---|---|---|---|---|"]
    for name, rows in rows_of_cases.items():
        one = rows[0]
        for count, row in rows.items():
            lines.append(f"| {CASES[name][1]} | {row['parts']} | {max(count, 1)} | {row['wall']:.2f} s | {one['wall'] / row['wall']:.2f} | "
                         f"{row['cpu']:.2f} s | {row['cpu'] / one['cpu']:.2f} | {row['hops'] / row['cpu'] / 1e6:.2f} M | {row['mib']:.0f} MiB |")
    return "\n".join(lines) + "\n"


def write(path, text):
    """Between the two marks."""
    page = path.read_text(encoding="utf-8")
    if BEGIN not in page or END not in page:
        raise SystemExit(f"{path} has no place for the table: {BEGIN}")
    head, rest = page.split(BEGIN, 1)
    path.write_text(f"{head}{BEGIN}\n{text}{END}{rest.split(END, 1)[1]}", encoding="utf-8")


def bench_threads(options):
    threads = thread_counts(options.most_threads or os.cpu_count())
    rows = {name: measure(options.weft, CASES[name][0], options.turns, threads) for name in options.case}
    text = table(rows, options.turns)
    print(text, end="")
    if options.write:
        write(options.write, text)
