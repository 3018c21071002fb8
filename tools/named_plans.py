#!/usr/bin/env python3
"""Four searches of a minute each, as a planner makes them: the plan, its gap, and that no simulated plan beats its bound. The largest
of them then ends in time on three budgets. It takes eight minutes; tools/long_checks.sh named_plans runs it.

    named_plans.py ROOT WEFT [--budgets]        --budgets: these alone
"""
import json
import pathlib
import subprocess
import sys
import time

MINUTE = 60
WIDEST_GAP = 0.25
RACKS = ["--model", "deepseek_v3", "--cluster", "gb200_nvl72", "--set", "nodes=4", "--batch", "2304"]
# Name, options, least tokens/s. The racks' is twice what a plan gets there whose groups straddle racks.
SEARCHES = [
    ("Llama-3 70B on 64 H100", ["--model", "llama3_70b", "--cluster", "dgx_h100", "--set", "nodes=8"], 0),
    ("DeepSeek-V3 on 256 H800", ["--model", "deepseek_v3", "--cluster", "dgx_h800", "--set", "nodes=32"], 0),
    ("DeepSeek-V3 on four racks", RACKS, 7.5e5),
    ("Qwen3-235B on 128 B200", ["--model", "qwen3_235b_a22b", "--cluster", "dgx_b200", "--set", "nodes=16"], 0),
]


def searched(root, weft, options, budget):
    """The result, and the seconds it took."""
    begin = time.monotonic()
    ran = subprocess.run([weft, "plan", *options, "--budget", str(budget), "--top", "100", "-q", "--json", "-"], cwd=root,
                         capture_output=True, text=True, check=True)
    return json.loads(ran.stdout), time.monotonic() - begin


def named_plans(root, weft):
    wide = []
    for name, options, least in SEARCHES:
        result, seconds = searched(root, weft, options, MINUTE - 5)
        best = result["plans"][0]
        gap = 0.0 if result["proven"] else result["gap"]
        print(f"{name}: {best['plan']}, {best['iteration_time_ns'] / 1e6:.0f} ms, {best['tokens_per_second']:.0f} tokens/s, "
              f"gap {100 * gap:.1f} %, {result['simulated']} simulated, {result['left']} left, {seconds:.0f} s", flush=True)
        for plan in result["plans"]:
            assert plan["bound_ns"] <= plan["iteration_time_ns"], plan
        assert seconds <= MINUTE, (name, seconds)
        assert best["tokens_per_second"] >= least, (name, best)
        if gap > WIDEST_GAP:
            wide.append(f"{name}: {100 * gap:.1f} %")
    assert not wide, f"gaps above {100 * WIDEST_GAP:.0f} %: {wide}"


def budgets(root, weft):
    for budget in (20, 60, 150):
        result, seconds = searched(root, weft, RACKS, budget)
        print(f"four racks, {budget} s: ended after {seconds:.1f} s, {result['simulated']} simulated", flush=True)
        assert seconds <= budget + max(0.1 * budget, 5), (budget, seconds)


def main():
    root, weft = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
    budgets(root, weft)
    if "--budgets" not in sys.argv[3:]:
        named_plans(root, weft)


if __name__ == "__main__":
    main()
