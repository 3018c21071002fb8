#!/usr/bin/env python3
"""How many more points a second do two threads run than one? In turns: one thread, two threads, and two processes of one thread
side by side, which share nothing but the machine; medians of the ratios.

    sweep_threads.py WEFT [--turns 5] [--points 400] [--wanted 1.8] [--instructions]

The points are small (a few milliseconds each), so that what is serial (reading files, the database) shows. Two cores that are
threads of one, or that others use too, give two processes less than twice the work of one: `of the machine` is what two threads
reach of that. --instructions counts what is executed instead, under valgrind, and how much of it is beside the threads that run
points; it depends on no clock and no neighbour. With --wanted the exit status says whether the ratio (with --instructions: the
one that the counts allow) reaches it; by the clock that asks for two idle cores.
"""
import argparse
import pathlib
import re
import resource
import statistics
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

SWEEP = """\
kind: sweep
scenario:
  cluster: {root}/configs/clusters/dgx_h100.yaml
  workload: {{collectives: [{{kind: all_reduce, bytes: 1 MiB}}]}}
grid:
  cluster.nodes: [1, 2]
  workload.collectives[0].bytes: {{from: 8 KiB, to: 256 KiB, count: {count}}}
"""


def clean(folder):
    for file in folder.glob("*.sqlite*"):
        file.unlink()


def run(weft, folder, threads):
    """(points a second, processor seconds used)"""
    clean(folder)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([weft, "sweep", "sweep.yaml", "-j", str(threads)], cwd=folder, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rate = float(re.search(r"\(([\d.]+)/s\)", done.stdout).group(1))
    return rate, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_two_processes(weft, folders, points):
    """Points a second of both together."""
    for folder in folders:
        clean(folder)
    begin = time.monotonic()
    both = [subprocess.Popen([weft, "sweep", "sweep.yaml"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for folder in folders]
    if any([one.wait() for one in both]):
        sys.exit("a sweep failed")
    return 2 * points / (time.monotonic() - begin)


def instructions(weft, folder, threads):
    """By thread, the first is the one that reads, hands out and writes."""
    clean(folder)
    command = ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=counts", weft, "sweep", "sweep.yaml",
               "-j", str(threads)]
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    counts = []
    for file in sorted(folder.glob("counts-*")):
        totals = re.search(r"^(?:totals|summary): (\d+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        counts.append(int(totals.group(1)))
        file.unlink()
    return counts


def by_instructions(weft, folder, wanted):
    one, two = instructions(weft, folder, 1), instructions(weft, folder, 2)
    for name, counts in (("-j1", one), ("-j2", two)):
        print(f"{name} {sum(counts) / 1e6:10.1f} M instructions: " + ", ".join(f"{count / 1e6:.1f} M" for count in counts))
    # Two cores, all of the first thread's work taken to be serial.
    allowed = sum(one) / (two[0] + max(two[1:]))
    print(f"two threads execute {sum(two) / sum(one):.3f} times what one does; that allows a ratio of {allowed:.2f}")
    return 0 if wanted is None or allowed >= wanted else 1


def by_clock(weft, folders, options):
    ratios, costs, shares = [], [], []
    for _ in range(options.turns):
        one, cpu_one = run(weft, folders[0], 1)
        two, cpu_two = run(weft, folders[0], 2)
        machine = run_two_processes(weft, folders, options.points)
        ratios.append(two / one)
        costs.append(cpu_two / cpu_one)
        shares.append(two / machine)
        print(f"-j1 {one:8.1f}/s   -j2 {two:8.1f}/s   ratio {ratios[-1]:.2f}   processor time {costs[-1]:.2f} times   "
              f"two processes {machine:8.1f}/s   of the machine {100 * shares[-1]:.0f} %", flush=True)
    median = statistics.median(ratios)
    print(f"median ratio {median:.2f}; processor time of two threads {statistics.median(costs):.2f} times that of one; "
          f"two threads reach {100 * statistics.median(shares):.0f} % of two processes")
    return 0 if options.wanted is None or median >= options.wanted else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--points", type=int, default=400)
    parser.add_argument("--wanted", type=float)
    parser.add_argument("--instructions", action="store_true", help="count instead (valgrind); with some 100 points a minute or two")
    options = parser.parse_args()
    if options.instructions and shutil.which("valgrind") is None:
        parser.error("--instructions needs valgrind")
    weft = str(pathlib.Path(options.weft).resolve())
    with tempfile.TemporaryDirectory() as name:
        folders = [pathlib.Path(name) / "a", pathlib.Path(name) / "b"]
        for folder in folders:
            folder.mkdir()
            (folder / "sweep.yaml").write_text(SWEEP.format(root=ROOT, count=options.points // 2), encoding="utf-8")
        if options.instructions:
            return by_instructions(weft, folders[0], options.wanted)
        return by_clock(weft, folders, options)


if __name__ == "__main__":
    sys.exit(main())
