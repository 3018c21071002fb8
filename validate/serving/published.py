"""Runs the published rows of published.json and says how far off each is: python3 published.py WEFT [--json FILE]."""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Requests of each length, and the sizes of graphs, as the source of `trtllm` prints them.
REQUESTS = {"128/128": 30000, "128/2048": 3000, "128/4096": 1500, "500/2000": 3000, "1000/1000": 3000, "1000/2000": 1500,
            "2048/128": 3000, "2048/2048": 1500, "5000/500": 1500, "20000/2000": 1000,
            "1024/1024": 3000, "1024/8192": 1500, "8192/1024": 1500, "32768/1024": 1000}
GRAPHS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 1024, 2048, 4096, 8192]


def scenario(configuration, lengths):
    prompt, output = map(int, lengths.split("/"))
    count = REQUESTS[lengths]
    shares = configuration.get("attention_data", 1)
    plan = {"tensor": configuration["tensor"]}
    if shares > 1:
        plan |= {"attention_data": shares, "expert": shares}
    return {"cluster": os.path.join(ROOT, "configs", "clusters", configuration["cluster"] + ".yaml"),
            "workload": {"inference": {
                "model": configuration["model"], "library": "tensorrt_llm", "parallelism": plan,
                "precision": {"weights": configuration.get("weights", "fp8")},
                "kv_cache": {"precision": "fp8", "utilization": 0.95, "block": 32},
                "requests": {"concurrency": count, "count": count, "prompt": prompt, "output": output},
                "scheduler": {"token_budget": 8192 * shares, "max_batch": 2048 * shares, "cuda_graph_sizes": GRAPHS}}}}


def run(weft, configuration, lengths, folder):
    path = os.path.join(folder, "scenario.yaml")
    with open(path, "w") as file:
        json.dump(scenario(configuration, lengths), file)
    done = subprocess.run([weft, "run", path, "--quiet", "--json", "-"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[0]
    rate = json.loads(done.stdout)["throughput_tokens_per_second"]
    gpus = configuration["tensor"] * configuration.get("attention_data", 1)
    return rate / (gpus if configuration["source"] == "trtllm_per_gpu" else 1), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weft")
    parser.add_argument("text", nargs="*", help="rows whose names have one of these in them; without: all")
    parser.add_argument("--json", help="writes the rows there")
    args = parser.parse_intermixed_args()
    with open(os.path.join(HERE, "published.json")) as file:
        published = json.load(file)
    errors, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        for configuration in published["configurations"]:
            for lengths, measured in configuration["rows"].items():
                plan = f"tp{configuration['tensor']}"
                if "attention_data" in configuration:
                    plan = f"dep{configuration['attention_data']}"
                name = f"{configuration['model']} {configuration['cluster']} {plan} {lengths}"
                if args.text and not any(text in name for text in args.text):
                    continue
                predicted, problem = run(args.weft, configuration, lengths, folder)
                rows.append({"row": name, "measured": measured, "predicted": predicted, "problem": problem})
                if predicted is None:
                    print(f"{name:42} measured {measured:8.0f}  no prediction: {problem}", flush=True)
                    continue
                errors.append(abs(predicted / measured - 1))
                print(f"{name:42} measured {measured:8.0f}  predicted {predicted:8.0f}  {100 * (predicted / measured - 1):+6.1f} %",
                      flush=True)
    print(f"{len(errors)} of {len(rows)} rows: median error {100 * statistics.median(errors):.1f} %, largest {100 * max(errors):.1f} %")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
