#!/usr/bin/env python3
"""weft plan --serve: the front trades a user's speed for throughput, wide engines are quick and narrow ones cheap, the best meets the
targets and is what weft run serves, and a report shows it.

    plan_serve_test.py ROOT WEFT
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT, WEFT = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
SEARCH = ["plan", "--serve", "--model", "llama3_8b", "--cluster", "h200x4", "--prompt", "512", "--output", "64", "--budget", "0"]


def weft(*words, status=0):
    ran = subprocess.run([WEFT, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == status, (words, ran.returncode, ran.stderr)
    return ran


def search(*options):
    return json.loads(weft(*SEARCH, "--json", "-", "-q", *options).stdout)


def the_front_trades_speed_for_throughput():
    result = search()
    front = [plan for plan in result["servings"] if plan["on_front"]]
    assert len(front) >= 5, front
    for one, other in zip(front, front[1:]):
        assert one["tokens_per_second_per_user"] > other["tokens_per_second_per_user"], (one, other)
        assert one["tokens_per_second_per_gpu"] < other["tokens_per_second_per_gpu"], (one, other)
    # As in published curves: the quickest engine is as wide as the node, the cheapest one is narrow, and full.
    first, last = front[0], front[-1]
    assert first["parallelism"]["tensor"] == 4 and first["concurrency"] == 1, first
    narrow = last.get("parallelism") or last["disaggregated"]["decode"]
    assert narrow["tensor"] < 4 and last["concurrency"] >= 64, last
    # Nothing is lost of the candidates.
    assert result["simulated"] + result["too_big"] == result["candidates"] and result["left"] == 0, result
    # The same at any number of threads.
    assert search("-j", "2")["digest"] == result["digest"]


def the_best_meets_the_targets_and_costs_what_it_says():
    result = search("--slo", "ttft=200ms,tpot=8ms", "--prices", "list_2024", "--power", "datasheets")
    best = result["servings"][result["best"]]
    assert best["ttft_ns"]["p90"] <= 200e6 and best["tpot_ns"]["p90"] <= 8e6, best
    for plan in result["servings"]:
        if plan["tokens_per_second"] > best["tokens_per_second"]:
            assert not (plan["meets_ttft"] and plan["meets_tpot"]), plan
    hour = best["tokens_per_second"] * 3600
    cost = best["cost"]
    assert abs(cost["usd_per_million_tokens"] - cost["usd_per_hour"] / hour * 1e6) < 1e-6 * cost["usd_per_million_tokens"], cost
    assert {command["engine"] for command in result["commands"]} == {"vLLM", "SGLang", "TensorRT-LLM"}, result["commands"]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "serving.json"
        file.write_text(json.dumps(result), encoding="utf-8")
        page = " ".join(weft("report", str(file), "--html", "-").stdout.split())
    for words in ("How do 4 GPUs serve", "TTFT at most 200 ms, TPOT at most 8 ms for 90 % of requests", "Throughput by speed for a user",
                  "vllm serve MODEL", "best"):
        assert words in page, (words, page[:3000])


def mistakes_are_told():
    for options, words in ((["--slo", "ttfs=1s"], "did you mean 'ttft'?"), (["--slo", "tpot=5"], "expected a time such as 500ms"),
                           (["--weights", "fp7"], "fp7"), (["--batch", "8"], "--serve: --gpus, --batch")):
        assert words in weft(*SEARCH, *options, status=2).stderr, options
    missed = weft(*SEARCH, "--slo", "tpot=1us", "--aggregated", "--token-budgets", "2048", status=1).stdout
    assert "# no plan meets the targets: TPOT 0.001 ms for 90 % of requests" in missed, missed


def main():
    the_front_trades_speed_for_throughput()
    the_best_meets_the_targets_and_costs_what_it_says()
    mistakes_are_told()


if __name__ == "__main__":
    main()
