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


def weights_are_the_models_unless_told():
    config = {"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
              "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 128256,
              "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
    quick = ["--aggregated", "--token-budgets", "2048", "--budget-plans", "1", "-q"]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "config.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        of_file = [*SEARCH[:3], str(file), *SEARCH[4:], *quick]
        assert "w4a16 weights" in weft(*of_file).stdout
        assert "w8a16 weights" in weft(*of_file, "--weights", "w8a16").stdout
    assert "bf16 weights" in weft(*SEARCH, *quick).stdout


def commands_say_which_engines_and_which_checkpoint():
    # Long prompts and little time for a token: engines that prefill stand apart.
    apart = weft(*(word if word != "512" else "4000" for word in SEARCH), "--slo", "ttft=300ms,tpot=6ms", "--token-budgets", "8192").stdout
    for words in ("# best: prefill t1, decode t1", "#   vLLM prefill         vllm serve", "#   TensorRT-LLM decode  trtllm-serve"):
        assert words in apart, (words, apart)
    assert "MODEL is" not in apart, apart
    small = weft(*SEARCH, "--aggregated", "--weights", "fp8", "--token-budgets", "2048").stdout
    assert "#   vLLM          vllm serve" in small and "#   MODEL is a checkpoint with weights in fp8" in small, small


SCENARIO = """cluster: h200x4
workload:
  inference:
    model: llama3_8b
    parallelism: {tensor: 4}
    requests: {rate: 20 /s, count: 60, prompt: {median: 500, sigma: 0.5}, output: 50}
"""


def results_of_a_run_are_in_its_sweep_and_its_page():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "plain.yaml").write_text(SCENARIO, encoding="utf-8")
        (folder / "serve.yaml").write_text(SCENARIO + "    targets: {ttft: 1 s, tpot: 1 s}\n", encoding="utf-8")
        weft("run", str(folder / "serve.yaml"), "--prices", "list_2024", "--power", "datasheets", "--json", str(folder / "run.json"))
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        (folder / "rates.yaml").write_text("kind: sweep\nscenario: serve.yaml\ngrid: {workload.inference.requests.rate: [20 /s]}\n"
                                           "metrics: [ttft_p90_ns, tpot_p90_ns, e2e_p90_ns]\n", encoding="utf-8")
        weft("sweep", str(folder / "rates.yaml"), "--db", str(folder / "rates.sqlite"))
        point = json.loads(weft("sweep", str(folder / "rates.yaml"), "--db", str(folder / "rates.sqlite"), "--export", "json", "--to",
                                "-").stdout)["points"][0]
        for figure in ("ttft", "tpot", "e2e"):
            assert abs(point[f"{figure}_p90_ns"] - run[f"{figure}_ns"]["p90"]) <= 1, (point, run[f"{figure}_ns"])

        page = " ".join(weft("report", str(folder / "run.json"), "--html", "-").stdout.split())
        joules = run["cost"]["joules_per_token"]
        for words in ("100.0 % within targets", f"A token takes {joules:.4g} J, a million of them {joules / 3.6:.4g} kWh.",
                      "errors of profile h200_sxm", "profile h200_sxm: off by"):
            assert words in page, (words, page[:3000])
        weft("run", str(folder / "plain.yaml"), "--json", str(folder / "plain.json"))
        assert "within targets" not in weft("report", str(folder / "plain.json"), "--html", "-").stdout


def mistakes_are_told():
    for options, words in ((["--slo", "ttfs=1s"], "did you mean 'ttft'?"), (["--slo", "tpot=5"], "expected a time such as 500ms"),
                           (["--weights", "fp7"], "fp7"), (["--batch", "8"], "--serve: --gpus, --batch")):
        assert words in weft(*SEARCH, *options, status=2).stderr, options
    missed = weft(*SEARCH, "--slo", "tpot=1us", "--aggregated", "--token-budgets", "2048", status=1).stdout
    assert "# no plan meets the targets: TPOT 0.001 ms for 90 % of requests" in missed, missed


def main():
    the_front_trades_speed_for_throughput()
    the_best_meets_the_targets_and_costs_what_it_says()
    weights_are_the_models_unless_told()
    commands_say_which_engines_and_which_checkpoint()
    results_of_a_run_are_in_its_sweep_and_its_page()
    mistakes_are_told()


if __name__ == "__main__":
    main()
