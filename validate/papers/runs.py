"""What the scripts here share: `weft run` many times side by side, percentiles, and the table of published and simulated figures."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIOS = ROOT / "configs" / "scenarios"
PFC_ONLY = ("cluster.fabric.ecn.enabled=false", "cluster.fabric.transport.congestion_control=none")


def run(program, scenario, settings=(), seed=1):
    """The result of one run; its messages and an exit where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result.json"
        command = [program, "run", str(scenario), "--seed", str(seed), "--quiet", "--json", str(result)]
        for setting in settings:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(result.read_text(encoding="utf-8"))


def run_all(program, jobs, reduce):
    """`reduce(result)` of every job (scenario, settings, seed), in their order: results can be large, what is kept is small."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(lambda job: reduce(run(program, *job)), jobs))


def percentile(values, share):
    """Nearest rank; NaN of nothing."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)] if ordered else float("nan")


def median(values):
    return percentile(values, 0.5)


def print_checks(checks):
    """Rows (what, unit, published, ours), ours against published within a factor of two. True where all are."""
    width = max(len(what) for what, *_ in checks)
    print(f"{'':{width}}  {'':6} {'published':>10} {'weft':>10}   within a factor of two")
    for what, unit, published, ours in checks:
        print(f"{what:{width}}  {unit:6} {published:10.4g} {ours:10.4g}   {'yes' if agrees(published, ours) else 'NO'}")
    return all(agrees(published, ours) for _, _, published, ours in checks)


def agrees(published, ours):
    return published / 2 <= ours <= 2 * published


def draw(figure, result, picture):
    """plots/FIGURE.py on a result, where matplotlib is installed."""
    done = subprocess.run([sys.executable, str(ROOT / "plots" / figure), str(result), "-o", str(picture)], check=False)
    if done.returncode != 0:
        print(f"no picture: plots/{figure} failed; is Debian's python3-matplotlib installed?", file=sys.stderr)
