#!/usr/bin/env python3
"""Steps of compiled blocks on two H200 (torch_blocks.py) beside what Weft predicts for them.

    validate/training/torch_steps.py build/weft [validate/measured/h200x2_torch.json]

The profile has rates of attention and of products in fp8 from these runs' kernels (configs/validation/h200x2/profiles); steps, and
everything else in them, are not in it.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE = ROOT / "configs/validation/h200x2/torch_blocks.yaml"
MEASURED = ROOT / "validate/measured/h200x2_torch.json"
RECOMPUTE = {"op": "operators", "full": "full", None: "none"}


def name_of(config):
    how = "TP 2" if config.get("tp") else "CP 2" if config.get("cp") else "FSDP 2"
    return f"{how}, {config['layers']} layers of {config['seq']} tokens{', fp8' if config.get('fp8') else ''}"


def scenario(config):
    """The run as a scenario. JSON is YAML."""
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
    return f"extends: {BASE}\nworkload: {json.dumps(workload)}\n"


def predicted_ms(weft, config):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(scenario(config))
        file.flush()
        done = subprocess.run([weft, "run", file.name, "--json", "-", "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name_of(config)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["iteration_time_ns"] / 1e6


def main():
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
