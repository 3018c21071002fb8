#!/usr/bin/env python3
"""A page of a plan search: what was asked, times with their errors, the gap to the bound, what became of all plans.

    plan_report_test.py ROOT WEFT
"""
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT, WEFT = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])


def weft(*words):
    return subprocess.run([WEFT, *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = str(pathlib.Path(folder, "plan.json"))
        text = weft("plan", "--model", "llama3_8b", "--cluster", "dgx_h100", "--batch", "64", "--budget", "0", "--budget-plans", "3",
                    "--prices", "list_2024", "--json", file)
        page = html.unescape(re.sub(r"\s+", " ", weft("report", file, "--html", "-")))
        result = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    assert "Which parallel plan of 8 GPUs trains llama3_8b soonest, 64 sequences of 4096 tokens a step?" in page
    # The gap is that of the text, and that of the least bound that is left.
    printed = float(re.search(r"could be better by at most ([\d.]+) %", text)[1])
    assert abs(100 * result["gap"] - printed) <= 0.051, (result["gap"], printed)
    assert f"a better one saves {100 * result['gap']:.1f} % at most" in page
    for plan in result["plans"]:
        ms = plan["iteration_time_ns"] / 1e6
        assert plan["plan"] in page and plan["plan"] in text, plan["plan"]
        assert f"{ms:.4g}" in page, ms
        low, high = (ms * (1 + sign * plan["time_error"]) for sign in (-1, 1))
        assert f"{low:.4g} to {high:.4g}" in page, (low, high)
        assert plan["bound_ns"] <= plan["iteration_time_ns"], plan
        assert f"{plan['cost']['usd_per_million_tokens']:.4g}" in page, plan["cost"]
    for count in ("enumerated", "refused", "too_big", "pruned", "simulated", "left"):
        assert f">{result[count]}</td>" in page, (count, result[count])


if __name__ == "__main__":
    main()
