#!/usr/bin/env python3
"""Steps of compiled blocks on two H200 (torch_blocks.py) beside what Weft predicts for them.

    validate/training/torch_steps.py build/weft [validate/measured/h200x2_torch.json]
    validate/training/torch_steps.py build/weft --later       # writes torch_steps_later.md: two more steps, on two H100 and H200

The profile has the rate of products in fp8 from these runs' kernels (configs/validation/h200x2/profiles); steps, and
everything else in them, are not in it. Those of torch_steps_later.md are measured by `torch_blocks.py OUT.json later`.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import new_steps_predict

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE = ROOT / "configs/validation/h200x2/torch_blocks.yaml"
MEASURED = ROOT / "validate/measured/h200x2_torch.json"
RECOMPUTE = {"op": "operators", "full": "full", None: "none"}


def name_of(config):
    how = "TP 2" if config.get("tp") else "CP 2" if config.get("cp") else "FSDP 2"
    return f"{how}, {config['layers']} layers of {config['seq']} tokens{', fp8' if config.get('fp8') else ''}"


# As LATER of torch_blocks.py, which needs PyTorch to be read.
LATER = [{"layers": 4, "seq": 4096, "batch": 4, "ac": "full", "compile": True},
         {"layers": 4, "seq": 4096, "batch": 2, "ac": "op", "tp": True, "compile": True}]


def scenario(config, gpu=None, folder=None):
    """The run as a scenario. JSON is YAML. `gpu`: on two of them in place of the measured node."""
    plan = {"recompute": RECOMPUTE[config.get("ac")]}
    if config.get("tp"):
        plan.update(data=1, data_parallelism="none", tensor=2, sequence_parallel=True)
    elif config.get("cp"):
        plan.update(data=1, context=2)
    batch = config.get("batch", 1)
    shared = config.get("tp") or config.get("cp")
    workload = {"model": {"layers": config["layers"]}, "parallelism": plan,
                "batch": {"global": batch if shared else 2 * batch, "micro": batch, "sequence": config["seq"]},
                "precision": {"compute": "fp8" if config.get("fp8") else "bf16"}}
    text = f"extends: {BASE}\nworkload: {json.dumps(workload)}\n"
    if gpu:
        cluster = new_steps_predict.write_cluster(folder, gpu, 2).name
        profile = ROOT / "configs/profiles" / f"{new_steps_predict.GPUS[gpu][0]}.yaml"
        text += f"cluster: {cluster}\noverrides: {{nodes: 1, profile: {profile}}}\n"
    return text


def predicted_ms(weft, config, gpu=None):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "step.yaml")
        file.write_text(scenario(config, gpu, folder))
        done = subprocess.run([weft, "run", str(file), "--json", "-", "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name_of(config)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["iteration_time_ns"] / 1e6


def write_later(weft):
    lines = ["# Steps of compiled blocks on two GPUs, predicted before they were measured", "",
             "`torch_blocks.py OUT.json later` measures them, `torch_steps.py` writes this table.", "",
             "| GPU | step | ms |", "|---|---|---|"]
    for gpu in new_steps_predict.GPUS:
        lines += [f"| {gpu} | {name_of(config)} | {predicted_ms(weft, config, gpu):.2f} |" for config in LATER]
    pathlib.Path(__file__).with_name("torch_steps_later.md").write_text("\n".join(lines) + "\n")


def main():
    if sys.argv[2:] == ["--later"]:
        write_later(sys.argv[1])
        return 0
    if not 2 <= len(sys.argv) <= 3:
        raise SystemExit(__doc__.strip())
    measured = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else MEASURED
    print(f"{'run':40} {'measured (ms)':>14} {'predicted':>10} {'error':>8}")
    for run in json.loads(measured.read_text())["runs"]:
        if not run["config"].get("compile"):
            continue
        value = predicted_ms(sys.argv[1], run["config"])
        print(f"{name_of(run['config']):40} {run['steady_ms']:14.1f} {value:10.1f} {value / run['steady_ms'] - 1:+8.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
