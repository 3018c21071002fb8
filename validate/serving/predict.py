"""Predicts what measure_decode.py and loop.py measure, and scores predictions against measurements.

    python3 predict.py WEFT > predictions.md                                also writes predictions.json beside this file
    python3 predict.py WEFT --set later > predictions_later.md              and predictions_later.json; `third`, `fourth` as well
    python3 predict.py WEFT [--set later] --score FILE ...                  measured files against those, as they were written
    python3 predict.py WEFT [--set later] --score FILE ... --now            against what WEFT says now

Every point is one `weft step --library torch`. The loop is one `weft run` for each load, with loop.py's arrivals as a trace, its
piece and its batches as keys of the scheduler, and 0.1 ms of the host a step: the launch of a graph, the read of the chosen tokens,
and Python's lists. (predictions.json had the loop's queue here, with the time of one `weft step` for each of its steps.)
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import loop
import measure_decode

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CLUSTERS = {"H100": "h100x2", "H200": "h200x4"}
HOST_MS = 0.1
REPLAYS = 20  # of a point, warm-up and all
WINDOW_US = 75e3  # gpu.power.window: until then power does not slow a GPU that was idle


class Steps:
    def __init__(self, weft):
        self.weft = weft
        self.folder = tempfile.mkdtemp()
        self.known = {}
        for name, (hidden, ffn, heads, kv_heads) in measure_decode.MODELS.items():
            with open(os.path.join(self.folder, name + ".yaml"), "w") as file:
                # These layers have no rotary embedding, as models with learned positions have none.
                file.write(f"kind: model\nname: {name}\nlayers: 32\nhidden: {hidden}\nheads: {heads}\nkv_heads: {kv_heads}\n"
                           f"ffn: {ffn}\nvocab: {loop.VOCAB}\nlearned_positions: 1\n")

    def us(self, gpu, model, layers, tensor, batch, tokens, context, answers=0, answers_context=1, head=False,
           full_clock=False):
        key = (gpu, model, layers, tensor, batch, tokens, context, answers, answers_context, head, full_clock)
        if key not in self.known:
            words = [self.weft, "step", "--model", os.path.join(self.folder, model + ".yaml"), "--cluster",
                     os.path.join(ROOT, "configs", "clusters", CLUSTERS[gpu] + ".yaml"), "--phase",
                     "decode" if tokens == 1 else "prefill", "--batch", batch, "--tokens", tokens, "--context", context,
                     "--tensor", tensor, "--layers", layers, "--library", "torch", "--cuda-graph", "all", "--quiet", "--json", "-"]
            words += [] if head else ["--no-head", "--no-cache"]
            words += ["--full-clock"] if full_clock else []
            words += ["--answers", answers, "--answers-context", answers_context] if answers else []
            done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(done.stderr)
            self.known[key] = json.loads(done.stdout)["time_us"]
        return self.known[key]


def point_us(steps, gpu, model, layers, tensor, batch, tokens, context):
    """Short points are over before the limit of power counts."""
    us = steps.us(gpu, model, layers, tensor, batch, tokens, context, full_clock=True)
    return us if REPLAYS * us < WINDOW_US else steps.us(gpu, model, layers, tensor, batch, tokens, context)


def predict_points(steps, gpu, places):
    rows = []
    for tensor in (1, 2):
        for model, batch, tokens, context in places:
            us = point_us(steps, gpu, model, measure_decode.LAYERS, tensor, batch, tokens, context)
            rows.append({"gpu": gpu, "model": model, "tp": tensor, "batch": batch, "tokens": tokens, "context": context, "us": us})
    return rows


def step_ms(steps, gpu, load, running, piece):
    """A step of loop.py by itself, among steps like it."""
    batch = next(size for size in loop.BATCHES if size >= running) if running else 0
    if piece is None:
        us = steps.us(gpu, "8b", loop.LAYERS, 1, batch, 1, load.slot, head=True)
    else:
        us = steps.us(gpu, "8b", loop.LAYERS, 1, 1, load.chunk, (piece + 1) * load.chunk, batch, load.slot, head=True)
    return us / 1e3 + HOST_MS


def loop_scenario(steps, gpu, load, rate, seconds):
    """JSON is YAML. Prompts take a step for each piece, and no two of them share one."""
    trace = os.path.join(steps.folder, f"arrivals_{rate}.csv")
    with open(trace, "w") as file:
        file.write("arrival_s,prompt,output\n")
        file.writelines(f"{at:.6f},{load.prompt},{load.output}\n" for at in loop.arrivals(load, rate, seconds))
    made = os.path.join(steps.folder, f"loop_{gpu}_{rate}.yaml")
    scheduler = {"token_budget": load.chunk + loop.BATCHES[-1], "chunked_prefill_size": load.chunk, "max_batch": loop.BATCHES[-1],
                 "cuda_graph": "all", "cuda_graph_sizes": loop.BATCHES}
    with open(made, "w") as file:
        json.dump({"cluster": os.path.join(ROOT, "configs", "clusters", CLUSTERS[gpu] + ".yaml"),
                   "workload": {"inference": {"model": os.path.join(steps.folder, "8b.yaml"), "parallelism": {"tensor": 1},
                                              "library": "torch", "requests": {"trace": trace}, "scheduler": scheduler}}}, file)
    return made


def loop_profile(steps, gpu):
    """The shipped profile with the host's share of a step."""
    made = os.path.join(steps.folder, f"{gpu}.yaml")
    with open(os.path.join(ROOT, "configs", "profiles", f"{gpu.lower()}_sxm.yaml")) as file:
        head, parameters = file.read().split("parameters:\n", 1)
    with open(made, "w") as file:
        file.write(f"{head}parameters:\n  inference.engine.step: {{value: {HOST_MS} ms, source: assumed}}\n{parameters}")
    return made


def predict_load(steps, gpu, load, rate, seconds):
    words = [steps.weft, "run", loop_scenario(steps, gpu, load, rate, seconds), "--profile", loop_profile(steps, gpu), "--json", "-",
             "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    said = json.loads(done.stdout)
    return {"gpu": gpu, "rate": rate, "requests": said["requests"], "ttft_p50_ms": said["ttft_ns"]["p50"] / 1e6,
            "ttft_p99_ms": said["ttft_ns"]["p99"] / 1e6, "tpot_p50_ms": said["tpot_ns"]["p50"] / 1e6,
            "tpot_p99_ms": said["tpot_ns"]["p99"] / 1e6, "tokens_per_second": said["throughput_tokens_per_second"]}


def predict_loop(steps, gpu, load, seconds):
    return [predict_load(steps, gpu, load, rate, seconds) for rate in load.rates]


def point_key(row):
    return row["model"], row["tp"], row["batch"], row["tokens"], row["context"]


def errors_text(name, errors):
    if not errors:
        return f"{name}: no points"
    return f"{name}: {len(errors)} points, mean {100 * statistics.mean(errors):.1f} %, largest {100 * max(errors):.1f} %"


def gpu_of(measured):
    return "H200" if "H200" in measured["gpu"] else "H100"


def score(files, predictions, steps):
    for name in files:
        with open(name) as file:
            measured = json.load(file)
        if isinstance(measured, list):  # of a program that wrote rows alone, on H200
            measured = {"gpu": "NVIDIA H200", "points": measured}
        gpu = gpu_of(measured)
        print(f"# {os.path.basename(name)}  {measured['gpu']}")
        if "points" in measured:
            known = {point_key(row): row["us"] for row in predictions["points"] if row["gpu"] == gpu} if predictions else {}
            errors = {"decode": [], "prefill": []}
            for row in measured["points"]:
                us = known.get(point_key(row))
                if us is None:
                    us = point_us(steps, gpu, row["model"], row["layers"], row["tp"], row["batch"], row["tokens"], row["context"])
                error = us / row["us"] - 1
                phase = "decode" if row["tokens"] == 1 else "prefill"
                errors[phase].append(abs(error))
                print(f"{row['model']:>4} tp{row['tp']} b {row['batch']:4d} t {row['tokens']:5d} ctx {row['context']:6d}  measured "
                      f"{row['us']:9.1f} us  predicted {us:9.1f} us  {100 * error:+6.1f} %")
            for phase, values in errors.items():
                print(errors_text(phase, values))
        else:
            kind = loop.SETS[measured.get("set", "first")]
            known = predictions["loads"] if predictions else predict_loop(steps, gpu, kind, measured["seconds"])
            for load in measured["loads"]:
                ours = next(row for row in known if row["gpu"] == gpu and row["rate"] == load["rate"])
                print(f"rate {load['rate']:3d}  " + "  ".join(
                    f"{key} {load[key]:.2f} / {ours[key]:.2f} {100 * (ours[key] / load[key] - 1):+.1f} %"
                    for key in ("ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms", "tpot_p99_ms", "tokens_per_second")))
            for step in measured["steps"]:
                ms = step_ms(steps, gpu, kind, step["batch"], step["piece"])
                print(f"step of {step['batch']:2d}, piece {step['piece']}: {step['ms']:.3f} / {ms:.3f} ms "
                      f"{100 * (ms / step['ms'] - 1):+.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("--set", choices=loop.SETS, default="first", help="which points and loads")
    parser.add_argument("--score", nargs="+", metavar="FILE")
    parser.add_argument("--now", action="store_true", help="score what WEFT says now, not the predictions that were written")
    args = parser.parse_args()
    steps = Steps(args.weft)
    written = os.path.join(HERE, "predictions.json" if args.set == "first" else f"predictions_{args.set}.json")
    if args.score:
        predictions = None
        if not args.now:
            with open(written) as file:
                predictions = json.load(file)
        score(args.score, predictions, steps)
        return
    points = [row for gpu in CLUSTERS for row in predict_points(steps, gpu, measure_decode.SETS[args.set])]
    loads = [row for gpu in CLUSTERS for row in predict_loop(steps, gpu, loop.SETS[args.set], 15)]
    with open(written, "w") as file:
        json.dump({"points": points, "loads": loads}, file, indent=0)
        file.write("\n")
    print("# Predictions of measure_decode.py and loop.py, written before they ran\n")
    print(f"`python3 validate/serving/predict.py WEFT --set {args.set}` made them, with the profiles as they are shipped. Microseconds of 8 layers:\n")
    print("| GPU | model | GPUs | batch | tokens | context | us |\n|---|---|---|---|---|---|---|")
    for row in points:
        print(f"| {row['gpu']} | {row['model']} | {row['tp']} | {row['batch']} | {row['tokens']} | {row['context']} | "
              f"{row['us']:.1f} |")
    print("\nThe loop, with arrivals of 15 s at each load:\n")
    print("| GPU | requests/s | TTFT p50 ms | p99 | TPOT p50 ms | p99 | tokens/s |\n|---|---|---|---|---|---|---|")
    for row in loads:
        print(f"| {row['gpu']} | {row['rate']} | {row['ttft_p50_ms']:.2f} | {row['ttft_p99_ms']:.2f} | {row['tpot_p50_ms']:.3f} | "
              f"{row['tpot_p99_ms']:.3f} | {row['tokens_per_second']:.1f} |")


if __name__ == "__main__":
    main()
