#!/usr/bin/env python3
"""What Weft predicts for the steps of new_steps.py, with the shipped profiles of H100 and H200.

    validate/training/new_steps_predict.py build/weft                       # writes new_steps_predicted.json beside this file
    validate/training/new_steps_predict.py --score MEASURED.json            # errors of the predictions that are there
    validate/training/new_steps_predict.py build/weft --score MEASURED.json # of predictions made now

Predictions are committed before anything is measured, and no parameter has seen these configurations. An error is that of the
median of ten steps that each end in a wait; the steady loop's time stands beside it.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import new_steps
import steps

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREDICTED = pathlib.Path(__file__).with_name("new_steps_predicted.json")
GPUS = {"h100": ("h100_sxm", "80 GB"), "h200": ("h200_sxm", "141 GB")}
WORLDS = (2, 4)


def write_cluster(folder, gpu, world):
    """The file of a cluster of a part of an HGX board on one CPU, as the machines in configs/clusters/h100x2.yaml and h200x4.yaml are."""
    model, memory = GPUS[gpu]
    last = world - 1
    devices = [{"name": f"gpu0..{last}", "kind": "gpu", "model": model, "sm": 90, "memory": memory, "dev": list(range(world)),
                "rank": list(range(world)), "gdr": True},
               {"name": "nvswitch0", "kind": "nvswitch"},
               {"name": "cpu0", "kind": "cpu", "arch": "x86_64", "vendor": "GenuineIntel", "family": 6, "model": 207, "numa": -1},
               {"name": "nic0", "kind": "nic", "speed": "10 Gb/s", "dev": 0, "port": 0, "gdr": False}]
    links = [{"between": [f"gpu0..{last}", "nvswitch0"], "type": "nvlink4", "width": 18},
             {"between": [f"gpu0..{last}", "cpu0"], "type": "pcie5", "lanes": 16},
             {"between": ["nic0", "cpu0"], "type": "local"}]
    node, file = pathlib.Path(folder, "node.yaml"), pathlib.Path(folder, "cluster.yaml")
    node.write_text(json.dumps({"kind": "node", "name": f"{gpu}x{world}", "devices": devices, "links": links}))
    file.write_text(json.dumps({"extends": str(ROOT / "configs/clusters/h200x4.yaml"), "name": f"{world} x {gpu}",
                                "profile": str(ROOT / f"configs/profiles/{model}.yaml"), "node": {"type": str(node)}}))
    return file


def scenario(name, shape, folder, gpu):
    """JSON is YAML."""
    file = write_cluster(folder, gpu, shape["cluster"])
    plan = {"tensor": shape["tensor"], "data": shape["data"], "pipeline": shape["pipeline"]}
    if shape["pipeline"] > 1:
        plan["schedule"] = "1f1b"
    if shape["data"] > 1:
        plan["data_parallelism"] = "fsdp" if shape["mode"] == "fsdp" else "ddp"
    samples = shape["micro"] * shape["microbatches"] * shape["data"]
    workload = {"model": {"kind": "model", "name": name, "layers": shape["layers"], "hidden": shape["hidden"], "heads": shape["heads"],
                          "ffn": shape["ffn"], "vocab": new_steps.VOCAB},
                "parallelism": plan, "batch": {"global": samples, "micro": shape["micro"], "sequence": shape["sequence"]},
                "precision": {"optimizer": "bf16", "master_parameters": False}, "framework": "pytorch_eager",
                "optimizer": {"type": "adam_fused", "clip_grad_norm": False}, "fused_loss": False}
    whole = {"name": name, "cluster": file.name, "workload": workload}
    made = pathlib.Path(folder, f"{name}.yaml")
    made.write_text(json.dumps(whole))
    return made


def predict(weft, name, shape, gpu):
    with tempfile.TemporaryDirectory() as folder:
        file = scenario(name, shape, folder, gpu)
        done = subprocess.run([weft, "run", str(file), "--nccl", "NCCL_NVLS_ENABLE=0", "--json", "-", "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": done.stderr.strip()[-500:]}
    result = json.loads(done.stdout)
    clocks = result.get("clock_slowdown", [1.0])
    return {"ms": round(result["iteration_time_ns"] / 1e6, 3), "slowdown": round(statistics.mean(clocks), 4),
            "peak_gib": round(steps.memory_of(result), 2),
            "categories_ms": {key: round(value, 3) for key, value in steps.categories_of(result).items()}}


def all_predictions(weft):
    found = {}
    for gpu in GPUS:
        for world in WORLDS:
            for name, shape in new_steps.configurations(world).items():
                key = f"{gpu}x{shape['world']}"
                if name in found.setdefault(key, {}):
                    continue
                found[key][name] = predict(weft, name, {**shape, "cluster": world}, gpu)
                print(f"{key:8} {name:12} {found[key][name].get('ms', found[key][name].get('error'))}", flush=True)
    return found


def score(predictions, measured):
    rows = []
    print(f"{'step':12} {'on':8} {'measured ms':>12} {'steady':>9} {'predicted':>10} {'error':>8} {'MHz':>6} {'slower':>7}  "
          "category: measured, predicted, ms")
    for step in measured["steps"]:
        if "median_ms" not in step:
            print(f"{step['name']:12} not measured")
            continue
        gpu = "h200" if "H200" in step["gpu"] else "h100"
        key = f"{gpu}x{step['shape']['world']}"
        said = predictions[key][step["name"]]
        if "ms" not in said:
            print(f"{step['name']:12} {key:8} not predicted: {said['error']}")
            continue
        error = said["ms"] / step["median_ms"] - 1
        rows.append(error)
        clocks = step.get("clocks") or [{"sm_mhz": float("nan")}]
        seen = step.get("categories_ms", {})
        parts = ", ".join(f"{category} {seen[category]:.1f} {value:.1f}{'*' if abs(value - seen[category]) > max(0.1 * seen[category], 1) else ''}"
                          for category, value in said["categories_ms"].items() if category in seen)
        print(f"{step['name']:12} {key:8} {step['median_ms']:12.2f} {step['steady_ms']:9.2f} {said['ms']:10.2f} {error:+8.1%} "
              f"{min(each['sm_mhz'] for each in clocks):6.0f} {said['slowdown']:7.3f}  {parts}")
    if rows:
        print(f"\n{len(rows)} steps: mean error {statistics.mean(map(abs, rows)):.1%}, largest {max(map(abs, rows)):.1%}, "
              f"bias {statistics.mean(rows):+.1%} (* category off by more than 10 % and 1 ms)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft", nargs="?")
    parser.add_argument("--score", metavar="MEASURED.json", type=pathlib.Path)
    options = parser.parse_args()
    if options.weft:
        predictions = all_predictions(options.weft)
        if not options.score:
            PREDICTED.write_text(json.dumps(predictions, indent=1) + "\n")
    elif options.score:
        predictions = json.loads(PREDICTED.read_text())
    else:
        parser.error("which weft?")
    if options.score:
        score(predictions, json.loads(options.score.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
