#!/usr/bin/env python3
"""What Weft predicts for the steps of megatron_steps.py, on one and on two H100 and H200.

    validate/training/megatron_steps_predict.py build/weft                        # writes megatron_steps.md beside this file
    validate/training/megatron_steps_predict.py build/weft --later                # two other shapes: megatron_steps_later.md
    validate/training/megatron_steps_predict.py --score MEASURED.json             # errors of the predictions that are there
    validate/training/megatron_steps_predict.py build/weft --score MEASURED.json  # of predictions made now

Attention is PyTorch's FlashAttention-2. On one GPU both
steps run without their parallelism. An error is that of the median of ten steps that each end in a wait.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import new_steps_predict
import steps

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREDICTED = pathlib.Path(__file__).with_name("megatron_steps.md")
PREDICTED_LATER = pathlib.Path(__file__).with_name("megatron_steps_later.md")
# As CONFIGURATIONS of megatron_steps.py, which needs PyTorch to be read.
CONFIGURATIONS = {
    "tensor": {"tensor": 2, "data": 1, "layers": 8, "hidden": 6144, "heads": 48, "sequence": 4096, "micro": 1, "microbatches": 2},
    "data": {"tensor": 1, "data": 2, "layers": 8, "hidden": 3072, "heads": 24, "sequence": 2048, "micro": 2, "microbatches": 2},
}
LATER = {
    "wide": {"tensor": 2, "data": 1, "layers": 6, "hidden": 5120, "heads": 40, "sequence": 8192, "micro": 1, "microbatches": 2},
    "small": {"tensor": 1, "data": 2, "layers": 16, "hidden": 2048, "heads": 16, "sequence": 2048, "micro": 4, "microbatches": 2},
}
VOCAB = 2048


def scenario(shape, world, folder, gpu):
    """JSON is YAML."""
    tensor, data = (shape["tensor"], shape["data"]) if world > 1 else (1, 1)
    plan = {"tensor": tensor, "data": data, "sequence_parallel": tensor > 1,
            "data_parallelism": "distributed_optimizer" if data > 1 else "megatron"}
    if data > 1:
        plan.update(overlap_grad_reduce=False, overlap_param_gather=False)
    model = {"kind": "model", "name": "gpt", "layers": shape["layers"], "hidden": shape["hidden"], "heads": shape["heads"],
             "ffn": 4 * shape["hidden"], "vocab": VOCAB, "learned_positions": shape["sequence"], "norm": "layer_norm", "gated_mlp": False,
             "linear_bias": True}
    workload = {"model": model, "attention": "flash2", "parallelism": plan, "precision": {"gradients": "fp32"},
                "optimizer": {"clip_grad_norm": False}, "transformer_impl": "local",
                "batch": {"global": shape["micro"] * shape["microbatches"] * data, "micro": shape["micro"],
                          "sequence": shape["sequence"]}}
    cluster = new_steps_predict.write_cluster(folder, gpu, 2).name
    file = pathlib.Path(folder, "step.yaml")
    file.write_text(json.dumps({"cluster": cluster, "workload": workload}))
    return file


def predict(weft, shape, world, gpu):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([weft, "run", scenario(shape, world, folder, gpu), "--nccl", "NCCL_NVLS_ENABLE=0", "--json", "-", "--quiet"],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    result = json.loads(done.stdout)
    return result["iteration_time_ns"] / 1e6, steps.memory_of(result)


def all_predictions(weft, shapes):
    return {(gpu, world, name): predict(weft, shape, world, gpu)
            for gpu in new_steps_predict.GPUS for world in (1, 2) for name, shape in shapes.items()}


def write(predictions, page):
    lines = ["# Megatron-like steps, as predicted", "",
             "`megatron_steps.py` measures them, `megatron_steps_predict.py` writes and scores this table.", "",
             "| GPU | GPUs | step | ms | GiB |", "|---|---|---|---|---|"]
    lines += [f"| {gpu} | {world} | {name} | {ms:.2f} | {gib:.2f} |" for (gpu, world, name), (ms, gib) in predictions.items()]
    page.write_text("\n".join(lines) + "\n")


def read(page):
    found = {}
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in new_steps_predict.GPUS:
            found[cells[0], int(cells[1]), cells[2]] = float(cells[3]), float(cells[4])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", nargs="?")
    parser.add_argument("--score", metavar="MEASURED.json", type=pathlib.Path)
    parser.add_argument("--later", action="store_true")
    options = parser.parse_args()
    if not options.weft and not options.score:
        parser.error("which weft?")
    measured = json.loads(options.score.read_text()) if options.score else None
    later = options.later or measured is not None and measured["steps"][0]["name"] in LATER
    page, shapes = (PREDICTED_LATER, LATER) if later else (PREDICTED, CONFIGURATIONS)
    predictions = all_predictions(options.weft, shapes) if options.weft else read(page)
    if measured is None:
        write(predictions, page)
        return 0
    gpu = "h200" if "H200" in measured["gpu"] else "h100"
    print(f"{'step':8} {'GPUs':>5} {'measured ms':>12} {'predicted':>10} {'error':>8} {'GiB':>8} {'predicted':>10} {'error':>8}")
    for step in measured["steps"]:
        ms, gib = predictions[gpu, measured["world"], step["name"]]
        print(f"{step['name']:8} {measured['world']:5} {step['median_ms']:12.2f} {ms:10.2f} {ms / step['median_ms'] - 1:+8.1%} "
              f"{step['peak_gib']:8.2f} {gib:10.2f} {gib / step['peak_gib'] - 1:+8.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
