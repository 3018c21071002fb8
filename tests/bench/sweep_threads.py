#!/usr/bin/env python3
"""How many more points a second do two threads run than one? Pairs of runs, one after the other (A B A B), median of the ratios.

    sweep_threads.py WEFT [--pairs 5] [--points 400] [--wanted 1.8]

The points are small (a few milliseconds each), so that what is serial (reading files, the database) shows. With --wanted the
exit status says whether the median reaches it, which asks for two idle cores.
"""
import argparse
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile

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


def run(weft, folder, threads):
    """(points a second, processor seconds used)"""
    for file in folder.glob("*.sqlite*"):
        file.unlink()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([weft, "sweep", "sweep.yaml", "-j", str(threads)], cwd=folder, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rate = float(re.search(r"\(([\d.]+)/s\)", done.stdout).group(1))
    return rate, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--points", type=int, default=400)
    parser.add_argument("--wanted", type=float)
    options = parser.parse_args()
    weft = str(pathlib.Path(options.weft).resolve())
    ratios, costs = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "sweep.yaml").write_text(SWEEP.format(root=ROOT, count=options.points // 2), encoding="utf-8")
        for _ in range(options.pairs):
            one, cpu_one = run(weft, folder, 1)
            two, cpu_two = run(weft, folder, 2)
            ratios.append(two / one)
            costs.append(cpu_two / cpu_one)
            print(f"-j1 {one:8.1f}/s   -j2 {two:8.1f}/s   ratio {ratios[-1]:.2f}   processor time {costs[-1]:.2f} times", flush=True)
    median = statistics.median(ratios)
    print(f"median ratio {median:.2f}; processor time of two threads {statistics.median(costs):.2f} times that of one")
    return 0 if options.wanted is None or median >= options.wanted else 1


if __name__ == "__main__":
    sys.exit(main())
