#!/usr/bin/env python3
"""What Weft predicts for the steps of hf_steps.py, with the shipped profiles of H100 and H200.

    validate/training/hf_steps_predict.py build/weft                        # writes hf_steps.md beside this file
    validate/training/hf_steps_predict.py build/weft --set later            # writes hf_steps_later.md
    validate/training/hf_steps_predict.py --score MEASURED.json             # errors of the predictions that are there
    validate/training/hf_steps_predict.py build/weft --score MEASURED.json  # of predictions made now

Predictions are committed before anything is measured, and no parameter has seen these configurations. An error is that of the
median of ten steps that each end in a wait.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import hf_steps
import new_steps_predict
import steps

PREDICTED = {which: pathlib.Path(__file__).with_name("hf_steps.md" if which == "first" else f"hf_steps_{which}.md")
             for which in hf_steps.SETS}
CATEGORIES = ("gemm", "attention", "other", "optimizer", "nccl")


def scenario(name, shape, folder, gpu):
    """JSON is YAML. A cluster of two GPUs stands for one, too."""
    file = new_steps_predict.write_cluster(folder, gpu, 2)
    config = {"architectures": [shape["model"]["family"] + "ForCausalLM"], "max_position_embeddings": shape["sequence"],
              "model_type": {"Llama": "llama", "Qwen3": "qwen3", "Qwen3Moe": "qwen3_moe"}[shape["model"]["family"]],
              "tie_word_embeddings": False, "hidden_act": "silu", "torch_dtype": "bfloat16",
              **{key: value for key, value in shape["model"].items() if key != "family"}}
    model = pathlib.Path(folder, "config.json")
    model.write_text(json.dumps(config))
    world = shape["world"]
    plan = {"data": world, "data_parallelism": "fsdp" if shape["mode"] == "fsdp" else "ddp" if world > 1 else "none"}
    if shape["recompute"]:
        plan["recompute"] = "full"
    workload = {"model": model.name, "parallelism": plan,
                "batch": {"global": shape["micro"] * world, "micro": shape["micro"], "sequence": shape["sequence"]},
                "precision": {"optimizer": "bf16", "master_parameters": False},
                "framework": "huggingface_compile" if shape["compile"] else "huggingface",
                "optimizer": {"type": "adam_fused", "clip_grad_norm": False}}
    made = pathlib.Path(folder, f"{name}.yaml")
    made.write_text(json.dumps({"name": name, "cluster": file.name, "workload": workload}))
    return made


def predict(weft, name, shape, gpu):
    with tempfile.TemporaryDirectory() as folder:
        file = scenario(name, shape, folder, gpu)
        done = subprocess.run([weft, "run", str(file), "--nccl", "NCCL_NVLS_ENABLE=0", "--json", "-", "--quiet"], capture_output=True,
                              text=True, check=False)
    if done.returncode != 0:
        return {"error": done.stderr.strip()[-500:]}
    result = json.loads(done.stdout)
    found = steps.categories_of(result)
    return {"ms": result["iteration_time_ns"] / 1e6, "gib": steps.memory_of(result), **{key: found[key] for key in CATEGORIES}}


def all_predictions(weft, which):
    found = {}
    for gpu in new_steps_predict.GPUS:
        for name, shape in hf_steps.configurations(2, which).items():
            found[gpu, name] = predict(weft, name, shape, gpu)
            print(f"{gpu} {name:12} {found[gpu, name]}", flush=True)
    return found


COLUMNS = ("GPU", "step", "ms", "GiB", *CATEGORIES)


def write(predictions, which):
    lines = ["# Steps of Hugging Face's models, predicted before they were measured", "",
             "`hf_steps.py` measures them, `hf_steps_predict.py` writes and scores this table. Milliseconds.", "",
             "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for (gpu, name), said in predictions.items():
        if "error" in said:
            raise SystemExit(f"{gpu} {name}: {said['error']}")
        cells = [gpu, name, f"{said['ms']:.2f}", f"{said['gib']:.2f}", *(f"{said[key]:.2f}" for key in CATEGORIES)]
        lines.append("| " + " | ".join(cells) + " |")
    PREDICTED[which].write_text("\n".join(lines) + "\n")


def read(which):
    found = {}
    for line in PREDICTED[which].read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(COLUMNS) and cells[0] in new_steps_predict.GPUS:
            found[cells[0], cells[1]] = dict(zip(("ms", "gib", *CATEGORIES), map(float, cells[2:])))
    return found


def score(predictions, measured):
    times, memories = [], []
    print(f"{'step':12} {'GPU':5} {'measured ms':>12} {'steady':>9} {'predicted':>10} {'error':>8} {'GiB':>7} {'predicted':>10} {'error':>8}  "
          "category: measured, predicted, ms")
    for step in measured["steps"]:
        if "median_ms" not in step:
            print(f"{step['name']:12} not measured")
            continue
        gpu = "h200" if "H200" in step["gpu"] else "h100"
        said = predictions.get((gpu, step["name"]))
        if said is None or "error" in said:
            print(f"{step['name']:12} {gpu:5} not predicted: {said and said['error']}")
            continue
        error, memory = said["ms"] / step["median_ms"] - 1, said["gib"] / step["peak_gib"] - 1
        times.append(error)
        memories.append(memory)
        seen = step.get("categories_ms", {})
        parts = ", ".join(f"{key} {seen[key]:.1f} {said[key]:.1f}{'*' if abs(said[key] - seen[key]) > max(0.15 * seen[key], 1) else ''}"
                          for key in CATEGORIES if key in seen)
        print(f"{step['name']:12} {gpu:5} {step['median_ms']:12.2f} {step['steady_ms']:9.2f} {said['ms']:10.2f} {error:+8.1%} "
              f"{step['peak_gib']:7.2f} {said['gib']:10.2f} {memory:+8.1%}  {parts}")
    if times:
        print(f"\n{len(times)} steps: mean error {statistics.mean(map(abs, times)):.1%}, largest {max(map(abs, times)):.1%}, memory at most "
              f"{max(map(abs, memories)):.1%} (* category off by more than 15 % and 1 ms)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", nargs="?")
    parser.add_argument("--set", choices=hf_steps.SETS, default="first", help="which steps; of --score: those of its file")
    parser.add_argument("--score", metavar="MEASURED.json", type=pathlib.Path)
    options = parser.parse_args()
    measured = json.loads(options.score.read_text()) if options.score else None
    which = measured.get("set", "first") if measured else options.set
    if options.weft:
        predictions = all_predictions(options.weft, which)
        if not measured:
            write(predictions, which)
    elif measured:
        predictions = read(which)
    else:
        parser.error("which weft?")
    if measured:
        score(predictions, measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
