#!/usr/bin/env python3
"""Fronts of Llama-3 70B on one DGX H100, one NVL72 and one DGX B200 beside published curves; none of them is fitted to.

    serving_fronts_test.py ROOT WEFT

Sources:
  NIM      NVIDIA, NIM LLM benchmarking 1.0.0, performance: Llama-3.3-70B, version 1.8.0, FP8, TP2 on two H100, 5000 tokens in, 500 out
           (docs.nvidia.com/nim/benchmarking/llm/1.0.0/performance)
  profiles NVIDIA, NIM for LLMs 1.0.0, optimization: throughput profiles have the fewest GPUs that hold the model; latency profiles have
           more, at less throughput a GPU (docs.nvidia.com/nim/large-language-models/1.0.0/optimization.html)
  overview TensorRT-LLM, performance overview: as `trtllm_per_gpu` of validate/serving/published.json, Llama-3.3-70B
  tp_sizes TensorRT-LLM 0.19, performance overview: Llama-3.3-70B FP4 on B200 by TP (nvidia.github.io/TensorRT-LLM/0.19.0)
"""
import json
import math
import pathlib
import subprocess
import sys

ROOT, WEFT = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
COMMON = ["plan", "--serve", "--model", "llama3_70b", "--kv-cache", "fp8", "--library", "tensorrt_llm", "--aggregated",
          "--token-budgets", "8192", "--spread", "0", "--budget", "0", "-q", "--json", "-"]
# Concurrency: gap between tokens (ms), tokens/s of both GPUs.
NIM = {1: (18.58, 51.67), 5: (21.83, 218.48), 25: (38.75, 623.4), 50: (59.73, 814.37)}
NIM_SATURATED = 920.94  # tokens/s, of 100 to 250 users
OVERVIEW = {"h100": 2209, "gb200": 7769}  # tokens/s a GPU, 1000 in and out, at a high rate
TP_SIZES = {1: 11253.28, 2: 17867.66, 4: 24944.50, 8: 27471.49}  # tokens/s of all, 128 in and out


def front_of(*words):
    ran = subprocess.run([WEFT, *COMMON, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)["servings"]


def near(ours, published, share):
    assert abs(ours / published - 1) <= share, (ours, published, ours / published)


def at(users, points):
    """Between two of the points, on logarithms of both."""
    below = max((point for point in points if point[0] <= users), key=lambda point: point[0])
    above = min((point for point in points if point[0] >= users), key=lambda point: point[0])
    if below == above:
        return below[1]
    part = math.log(users / below[0]) / math.log(above[0] / below[0])
    return below[1] * (above[1] / below[1]) ** part


def rises_and_falls(front):
    """The trade of the front, and wide engines at its quick end, narrow ones at its cheap end (profiles)."""
    for one, other in zip(front, front[1:]):
        assert one["tokens_per_second_per_user"] > other["tokens_per_second_per_user"], (one, other)
        assert one["tokens_per_second_per_gpu"] < other["tokens_per_second_per_gpu"], (one, other)
    widths = [plan["parallelism"]["tensor"] for plan in front]
    assert widths[0] == max(widths) == 8 and widths[-1] < 8, widths
    # A user's speed is dear: the quick end has a tenth of the throughput at most.
    assert front[0]["tokens_per_second_per_gpu"] < front[-1]["tokens_per_second_per_gpu"] / 10, front[0]


def on_front(plans):
    return [plan for plan in plans if plan["on_front"]]


def most(plans, **wanted):
    return max(plan["tokens_per_second_per_gpu"] for plan in plans
               if all(plan["parallelism"][key] == value for key, value in wanted.items()))


def loads_of_one_engine():
    plans = front_of("--cluster", "dgx_h100", "--weights", "fp8", "--prompt", "5000", "--output", "500")
    rises_and_falls(on_front(plans))
    pairs = [plan for plan in plans if plan["parallelism"]["tensor"] == 2 and plan["parallelism"]["pipeline"] == 1]
    speeds = [(plan["concurrency"], plan["tokens_per_second_per_user"]) for plan in pairs]
    rates = [(plan["concurrency"], 2 * plan["tokens_per_second_per_gpu"]) for plan in pairs]
    for users, (gap_ms, rate) in NIM.items():
        near(at(users, speeds), 1000 / gap_ms, 0.15)
        near(at(users, rates), rate, 0.15)
    near(max(rate for _, rate in rates), NIM_SATURATED, 0.15)


def machines():
    lengths = ["--prompt", "1000", "--output", "1000"]
    h100 = front_of("--cluster", "dgx_h100", "--weights", "fp8", "--budget-plans", "48", *lengths)
    rack = front_of("--cluster", "gb200_nvl72", "--weights", "fp4", "--budget-plans", "32", *lengths)
    rises_and_falls(on_front(h100))
    rises_and_falls(on_front(rack))
    near(most(h100), OVERVIEW["h100"], 0.2)
    near(most(rack, tensor=1, pipeline=1), OVERVIEW["gb200"], 0.2)
    near(most(rack) / most(h100), OVERVIEW["gb200"] / OVERVIEW["h100"], 0.2)
    # The rack's front is above the node's wherever both have plans.
    for plan in on_front(h100):
        assert any(other["tokens_per_second_per_gpu"] > plan["tokens_per_second_per_gpu"]
                   and other["tokens_per_second_per_user"] > plan["tokens_per_second_per_user"] for other in rack), plan


def tensor_sizes():
    plans = front_of("--cluster", "dgx_b200", "--weights", "fp4", "--prompt", "128", "--output", "128")
    found = {size: most(plans, tensor=size, pipeline=1) for size in TP_SIZES}
    assert found[1] > found[2] > found[4] > found[8], found
    for size, rate in TP_SIZES.items():
        near(found[size], rate / size, 0.25)


def main():
    loads_of_one_engine()
    machines()
    tensor_sizes()


if __name__ == "__main__":
    main()
