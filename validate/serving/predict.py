"""Predicts what measure_decode.py and loop.py measure, and scores predictions against measurements.

    python3 predict.py WEFT > predictions.md          also writes predictions.json beside this file
    python3 predict.py WEFT --score FILE ...          measured files against predictions.json, as it was written
    python3 predict.py WEFT --score FILE ... --now    against what WEFT says now

Every step is one `weft step --library torch`. The loop's queue is that of loop.py, with these steps as its times and 0.1 ms of
the host for each: the launch of a graph, the read of the chosen tokens, and Python's lists.
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


def predict_points(steps, gpu):
    rows = []
    for tensor in (1, 2):
        for model, batch, tokens, context in measure_decode.PLACES:
            us = point_us(steps, gpu, model, measure_decode.LAYERS, tensor, batch, tokens, context)
            rows.append({"gpu": gpu, "model": model, "tp": tensor, "batch": batch, "tokens": tokens, "context": context, "us": us})
    return rows


class PredictedModel:
    """In place of loop.Model: its steps move a clock."""

    def __init__(self, steps, gpu):
        self.steps, self.gpu = steps, gpu

    def ms(self, running, piece):
        batch = next(size for size in loop.BATCHES if size >= running) if running else 0
        if piece is None:
            us = self.steps.us(self.gpu, "8b", loop.LAYERS, 1, batch, 1, loop.SLOT, head=True)
        else:
            us = self.steps.us(self.gpu, "8b", loop.LAYERS, 1, 1, loop.CHUNK, (piece + 1) * loop.CHUNK, batch, loop.SLOT,
                               head=True)
        return us / 1e3 + HOST_MS


def predict_loop(steps, gpu, seconds):
    model = PredictedModel(steps, gpu)
    loads = []
    for rate in loop.RATES:
        times = loop.arrivals(rate, seconds)
        now, arrived, waiting, running, done = 0.0, 0, [], [], []
        while len(done) < len(times):
            while arrived < len(times) and times[arrived] <= now:
                waiting.append([times[arrived], 0])
                arrived += 1
            if not waiting and not running:
                now = times[arrived]
                continue
            piece = waiting[0][1] if waiting and len(running) < loop.BATCHES[-1] - 1 else None
            now += model.ms(len(running), piece) / 1e3
            for answer in running:
                answer[2] += 1
            done += [(answer[0], answer[1], now) for answer in running if answer[2] == loop.OUTPUT]
            running = [answer for answer in running if answer[2] < loop.OUTPUT]
            if piece is not None:
                waiting[0][1] += 1
                if waiting[0][1] * loop.CHUNK == loop.PROMPT:
                    running.append([waiting.pop(0)[0], now, 1])
        ttft = [(first - at) * 1e3 for at, first, _ in done]
        tpot = [(last - first) * 1e3 / (loop.OUTPUT - 1) for _, first, last in done]
        span = max(last for _, _, last in done) - times[0]
        loads.append({"gpu": gpu, "rate": rate, "requests": len(done), "ttft_p50_ms": statistics.median(ttft),
                      "ttft_p99_ms": loop.percentile(ttft, 0.99), "tpot_p50_ms": statistics.median(tpot),
                      "tpot_p99_ms": loop.percentile(tpot, 0.99), "tokens_per_second": len(done) * loop.OUTPUT / span})
    return loads


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
            known = predictions["loads"] if predictions else predict_loop(steps, gpu, measured["seconds"])
            for load in measured["loads"]:
                ours = next(row for row in known if row["gpu"] == gpu and row["rate"] == load["rate"])
                print(f"rate {load['rate']:3d}  " + "  ".join(
                    f"{key} {load[key]:.2f} / {ours[key]:.2f} {100 * (ours[key] / load[key] - 1):+.1f} %"
                    for key in ("ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms", "tpot_p99_ms", "tokens_per_second")))
            model = PredictedModel(steps, gpu)
            for step in measured["steps"]:
                ms = model.ms(step["batch"], step["piece"])
                print(f"step of {step['batch']:2d}, piece {step['piece']}: {step['ms']:.3f} / {ms:.3f} ms "
                      f"{100 * (ms / step['ms'] - 1):+.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft")
    parser.add_argument("--score", nargs="+", metavar="FILE")
    parser.add_argument("--now", action="store_true", help="score what WEFT says now, not predictions.json")
    args = parser.parse_args()
    steps = Steps(args.weft)
    written = os.path.join(HERE, "predictions.json")
    if args.score:
        predictions = None
        if not args.now:
            with open(written) as file:
                predictions = json.load(file)
        score(args.score, predictions, steps)
        return
    points = [row for gpu in CLUSTERS for row in predict_points(steps, gpu)]
    loads = [row for gpu in CLUSTERS for row in predict_loop(steps, gpu, 15)]
    with open(written, "w") as file:
        json.dump({"points": points, "loads": loads}, file, indent=0)
        file.write("\n")
    print("# Predictions of measure_decode.py and loop.py, written before they ran\n")
    print("`python3 validate/serving/predict.py WEFT` made them, with the profiles as they are shipped. Microseconds of 8 layers:\n")
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
