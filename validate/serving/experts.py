"""Runs the published times of a layer's experts (experts_published.json) through `weft step`: python3 experts.py WEFT."""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CLUSTERS = os.path.join(HERE, "..", "..", "configs", "clusters")
# Such a benchmark runs these: the router's own product and shared experts are not in it.
KERNELS = ("experts", "choose_experts", "permute", "experts_up", "experts_activation", "experts_down", "unpermute")


def model(configuration):
    """One layer of such experts; attention does not matter here."""
    return {"kind": "model", "name": "experts", "layers": 1, "hidden": configuration["hidden"], "heads": 32, "kv_heads": 8,
            "head_dim": 128, "vocab": 32000,
            "moe": {"experts": configuration["experts"], "experts_per_token": configuration["top_k"], "expert_ffn": configuration["ffn"]}}


def run(weft, configuration, tokens, folder):
    file, result = os.path.join(folder, "model.yaml"), os.path.join(folder, "step.json")
    with open(file, "w") as out:
        json.dump(model(configuration), out)
    cluster = os.path.join(CLUSTERS, configuration["cluster"] + ".yaml")
    subprocess.run([weft, "step", "--model", file, "--cluster", cluster, "--phase", "decode", "--batch", str(tokens),
                    "--context", "128", "--tensor", str(configuration["tensor"]), "--full-clock", "--quiet", "--json", result],
                   check=True, stdout=subprocess.DEVNULL)
    with open(result) as step:
        kernels = json.load(step)["kernels"]
    return sum(kernel["total_us"] for kernel in kernels if kernel["name"] in KERNELS)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weft")
    args = parser.parse_args()
    with open(os.path.join(HERE, "experts_published.json")) as file:
        published = json.load(file)
    every = []
    with tempfile.TemporaryDirectory() as folder:
        for configuration in published["configurations"]:
            errors = []
            for tokens, measured in configuration["rows"].items():
                predicted = run(args.weft, configuration, int(tokens), folder)
                errors.append(predicted / measured - 1)
                print(f"{configuration['source']:12} {tokens:>5} tokens  measured {measured:8.1f} us  predicted {predicted:8.1f}  "
                      f"{100 * errors[-1]:+6.1f} %")
            every += errors
            print(f"{configuration['source']:12} {len(errors)} rows: median error {100 * statistics.median(map(abs, errors)):.1f} %, "
                  f"largest {100 * max(map(abs, errors)):.1f} %")
    print(f"all {len(every)} rows: median error {100 * statistics.median(map(abs, every)):.1f} %")


if __name__ == "__main__":
    main()
