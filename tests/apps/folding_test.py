#!/usr/bin/env python3
"""Folding (weft explain folding): steps simulated with one rank for all that do the same take as long as with every rank, within
the stated bound, and hold as much memory. `simulation: {fold: false}` is the switch.

    folding_test.py [--show] ROOT WEFT
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import patience

BOUND = 0.005  # of an iteration's time, as weft explain folding says
DENSE = "{layers: 8, hidden: 2048, heads: 16, kv_heads: 8, ffn: 8192, vocab: 32000}"
EXPERTS = "{layers: 8, hidden: 2048, heads: 16, kv_heads: 8, vocab: 32000, moe: {experts: 8, experts_per_token: 2, expert_ffn: 4096}}"

# Model, hosts of 8 H100, parallelism, microbatches of each replica.
CASES = [
    (DENSE, 1, "data: 8", 1),
    (DENSE, 1, "data: 8, zero: 1", 2),
    (DENSE, 1, "data: 8, zero: 3", 2),
    (DENSE, 1, "tensor: 2, data: 4", 2),
    (DENSE, 1, "tensor: 4, data: 2, zero: 1, sequence_parallel: true", 2),
    (DENSE, 1, "pipeline: 4, data: 2", 4),
    (DENSE, 1, "pipeline: 2, tensor: 2, data: 2, zero: 1", 4),
    (DENSE, 2, "data: 16", 1),
    (DENSE, 2, "data: 16, zero: 3", 2),
    (DENSE, 2, "tensor: 8, data: 2", 2),
    (DENSE, 2, "tensor: 8, data: 2, zero: 1, sequence_parallel: true", 2),
    (DENSE, 2, "tensor: 2, context: 4, data: 2, context_kind: ring", 1),
    (DENSE, 2, "tensor: 4, pipeline: 2, data: 2", 4),
    (DENSE, 2, "tensor: 4, pipeline: 2, data: 2, schedule: gpipe", 4),
    (DENSE, 2, "tensor: 4, pipeline: 2, data: 2, schedule: interleaved_1f1b, virtual_stages: 2", 4),
    (DENSE, 2, "tensor: 4, pipeline: 2, data: 2, schedule: zb_h1", 4),
    (DENSE, 4, "tensor: 8, data: 4, zero: 1", 2),
    (DENSE, 4, "tensor: 8, pipeline: 2, data: 2, zero: 1", 4),
    (DENSE, 4, "tensor: 8, pipeline: 4", 8),
    (DENSE, 4, "tensor: 4, pipeline: 4, data: 2, recompute: full", 8),
    (DENSE, 4, "data: 32, zero: 3", 1),
    (EXPERTS, 1, "data: 8, expert: 8", 2),
    (EXPERTS, 2, "data: 16, expert: 8, zero: 1", 2),
    (EXPERTS, 2, "tensor: 4, data: 4, expert: 4, expert_tensor: 1, sequence_parallel: true, zero: 1", 2),
    (EXPERTS, 4, "tensor: 4, pipeline: 2, data: 4, expert: 4, expert_tensor: 1, sequence_parallel: true, zero: 1", 4),
]


def replicas(parallelism):
    words = dict(word.split(": ") for word in parallelism.split(", "))
    return int(words.get("data", 1))


def scenario(root, case, fold):
    model, nodes, parallelism, microbatches = case
    return f"""cluster: {root}/configs/clusters/dgx_h100_superpod.yaml
overrides: {{nodes: {nodes}}}
workload:
  model: {model[:-1]}, name: small}}
  parallelism: {{{parallelism}}}
  batch: {{global: {replicas(parallelism) * microbatches}, micro: 1, sequence: 2048}}
simulation: {{iterations: 1, fold: {fold}}}
"""


def result_of(program, folder, text):
    path = pathlib.Path(folder) / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([program, "run", path, "--quiet", "--json", "-"], capture_output=True, text=True, timeout=patience.seconds(300), check=False)
    assert done.returncode == 0, f"{text}\nexit {done.returncode}\n{done.stderr}"
    return json.loads(done.stdout)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--show"]
    root, program = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    wrong, largest = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            folded, whole = (result_of(program, folder, scenario(root, case, fold)) for fold in ("true", "false"))
            difference = folded["iteration_time_ns"] / whole["iteration_time_ns"] - 1
            largest = max(largest, abs(difference))
            what = f"{case[1]} nodes, {case[2]}: {whole['simulated_ranks']} ranks as {folded['simulated_ranks']}, {100 * difference:+.4f} %"
            if "--show" in sys.argv:
                print(what, flush=True)
            if whole["simulated_ranks"] != whole["gpus"] or folded["simulated_ranks"] >= whole["simulated_ranks"]:
                wrong.append(f"{what}: not folded, or not whole")
            if abs(difference) > BOUND or folded["memory_per_gpu_bytes"] != whole["memory_per_gpu_bytes"]:
                wrong.append(what)
    assert not wrong, "\n".join(wrong)
    print(f"{len(CASES)} steps, folded within {100 * largest:.3f} % of all ranks by themselves")


if __name__ == "__main__":
    main()
