#!/usr/bin/env python3
"""Every file under configs/ passes `weft check`; every cluster prints its topology and runs a collective; every scenario runs,
unless it says `ci: check_only`.

    configs_test.py ROOT WEFT
"""
import pathlib
import subprocess
import sys

import patience


def weft(program, root, *arguments):
    """Standard output; the failure with its messages otherwise."""
    done = subprocess.run([program, *map(str, arguments)], cwd=root, capture_output=True, text=True, timeout=patience.seconds(300), check=False)
    if done.returncode != 0:
        raise AssertionError(f"weft {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    files = sorted((root / "configs").rglob("*.yaml"))
    assert len(files) > 30, f"only {len(files)} files under configs/"
    weft(program, root, "check", *files)
    clusters = sorted((root / "configs/clusters").glob("*.yaml"))
    for cluster in clusters:
        topology = weft(program, root, "topo", cluster)
        assert "total" in topology and "endpoints" in topology, f"{cluster.name}: {topology}"
        table = weft(program, root, "collective", "all_reduce", "--cluster", cluster, "-b", "1M", "-e", "1M")
        row = next(line.split() for line in table.splitlines() if line.strip() and not line.startswith("#"))
        assert int(row[0]) == 1 << 20 and float(row[5]) > 0, f"{cluster.name}: {row}"
    scenarios = sorted((root / "configs/scenarios").rglob("*.yaml"))
    for scenario in scenarios:
        text = scenario.read_text()
        if "kind: cluster" in text:
            weft(program, root, "topo", scenario)
        elif "ci: check_only" not in text:
            assert "digest" in weft(program, root, "run", scenario), scenario.name
    print(f"{len(files)} files, {len(clusters)} clusters, {len(scenarios)} scenarios")


if __name__ == "__main__":
    main()
