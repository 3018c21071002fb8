"""Serves random prompts with continuous batching on one GPU, as a stand-in for an engine: what `weft run` predicts (predict.py).

    python3 loop.py OUT [--set first] [--seconds 15]

A model of Llama-3 8B's shape with random weights. Every step is a CUDA graph of one token for each running answer, padded to a
batch of the list, and of one piece of the oldest prompt that waits, if any; it ends with a choice of tokens that the host reads.
Prompts have two pieces: of 512 tokens with answers of 64, or, in the later set, of 1,024 with answers of 128, in the third, of 768
with answers of 96, in the fourth, of 640 with answers of 160. Each set was written after the one before had been scored. Arrivals are Poisson, from seeds, so that the same
can be predicted.
Writes OUT/loop.json: for each load the medians and 99th percentiles of TTFT and TPOT, and the throughput.
Attention has no mask beside the prompt's first piece, and meets the whole slot of each answer: only times count here.
"""

import argparse
import dataclasses
import json
import os
import random
import statistics
import time

HIDDEN, FFN, HEADS, KV_HEADS, LAYERS, VOCAB = 4096, 14336, 32, 8, 32, 128256
WIDTH = HIDDEN // HEADS
BATCHES = [1, 2, 4, 8, 16, 24, 32, 48, 64]


@dataclasses.dataclass(frozen=True)
class Load:
    prompt: int
    output: int
    chunk: int
    rates: tuple  # requests a second
    seed: str

    @property
    def slot(self):
        return self.prompt + self.output


SETS = {"first": Load(1024, 64, 512, (2, 4, 8, 12, 16, 20), "loop"),
        "later": Load(2048, 128, 1024, (1, 3, 5, 7, 9, 11), "later"),
        "third": Load(1536, 96, 768, (2, 5, 8, 11, 14, 17), "third"),
        "fourth": Load(1280, 160, 640, (1, 3, 6, 9, 12, 15), "fourth")}


def arrivals(load, rate, seconds):
    source = random.Random(f"{load.seed} {rate}")
    times = [source.expovariate(rate)]
    while times[-1] <= seconds:
        times.append(times[-1] + source.expovariate(rate))
    return times[:-1]


class Model:
    def __init__(self, torch, load):
        self.torch = torch
        self.load = load
        device = "cuda"
        weight = lambda rows, columns: torch.empty(rows, columns, device=device, dtype=torch.bfloat16).normal_(0, 0.01)
        one = lambda: torch.ones(HIDDEN, device=device, dtype=torch.bfloat16)
        self.layers = [dict(n1=one(), n2=one(), qkv=weight((HEADS + 2 * KV_HEADS) * WIDTH, HIDDEN), out=weight(HIDDEN, HIDDEN),
                            up=weight(2 * FFN, HIDDEN), down=weight(HIDDEN, FFN)) for _ in range(LAYERS)]
        self.last, self.head, self.table = one(), weight(VOCAB, HIDDEN), weight(VOCAB, HIDDEN)
        cache = lambda: torch.zeros(BATCHES[-1], KV_HEADS, load.slot, WIDTH, device=device, dtype=torch.bfloat16)
        self.caches = [(cache(), cache()) for _ in range(LAYERS)]
        self.ids = torch.randint(VOCAB, (BATCHES[-1] + load.chunk,), device=device)
        self.graphs = {}
        self.pool = None

    def forward(self, batch, piece):
        """`batch` answers, and the prompt's piece of that number; None: no prompt."""
        f = self.torch.nn.functional
        chunk = self.load.chunk
        rows = batch + (chunk if piece is not None else 0)
        x = f.embedding(self.ids[:rows], self.table)
        for weight, (keys, values) in zip(self.layers, self.caches):
            y = f.rms_norm(x, (HIDDEN,), weight["n1"])
            q, k, v = f.linear(y, weight["qkv"]).view(rows, -1, WIDTH).split([HEADS, KV_HEADS, KV_HEADS], 1)
            parts = []
            if batch > 0:
                ks, vs = keys[:batch], values[:batch]
                ks[:, :, -1] = k[:batch]
                vs[:, :, -1] = v[:batch]
                z = f.scaled_dot_product_attention(q[:batch].unsqueeze(2), ks, vs, enable_gqa=True)
                parts.append(z.reshape(batch, HIDDEN))
            if piece is not None:
                begin, end = piece * chunk, (piece + 1) * chunk
                keys[-1, :, begin:end] = k[batch:].transpose(0, 1)
                values[-1, :, begin:end] = v[batch:].transpose(0, 1)
                z = f.scaled_dot_product_attention(q[batch:].transpose(0, 1).unsqueeze(0), keys[-1:, :, :end],
                                                   values[-1:, :, :end], is_causal=piece == 0, enable_gqa=True)
                parts.append(z.transpose(1, 2).reshape(chunk, HIDDEN))
            z = parts[0] if len(parts) == 1 else self.torch.cat(parts)
            x = x + f.linear(z, weight["out"])
            y = f.rms_norm(x, (HIDDEN,), weight["n2"])
            up, gate = f.linear(y, weight["up"]).chunk(2, -1)
            x = x + f.linear(f.silu(up) * gate, weight["down"])
        # Rows that give a token: the answers, and the prompt's last.
        sampled = x[:batch] if piece is None else x[:batch + 1]
        return f.linear(f.rms_norm(sampled, (HIDDEN,), self.last), self.head).argmax(-1)

    def capture(self, batch, piece):
        torch = self.torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.forward(batch, piece)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            chosen = self.forward(batch, piece)
        self.pool = self.pool or graph.pool()
        self.graphs[batch, piece] = (graph, chosen)

    def step(self, running, piece):
        batch = next(size for size in BATCHES if size >= running) if running else 0
        graph, chosen = self.graphs[batch, piece]
        graph.replay()
        return chosen.tolist()  # the host waits


def serve(model, times):
    """Serves requests that arrive at `times`; rows of (arrival, first token, last token)."""
    load = model.load
    arrived, waiting, running, done, steps = 0, [], [], [], {}
    begin = time.perf_counter()
    while len(done) < len(times):
        now = time.perf_counter() - begin
        while arrived < len(times) and times[arrived] <= now:
            waiting.append([times[arrived], 0])
            arrived += 1
        if not waiting and not running:
            time.sleep(max(0.0, times[arrived] - (time.perf_counter() - begin)))
            continue
        piece = waiting[0][1] if waiting and len(running) < BATCHES[-1] - 1 else None
        count = len(running)
        model.step(count, piece)
        end = time.perf_counter() - begin
        steps.setdefault((count, piece), []).append((end - now) * 1e3)
        for answer in running:
            answer[2] += 1
        for answer in [answer for answer in running if answer[2] == load.output]:
            running.remove(answer)
            done.append((answer[0], answer[1], end))
        if piece is not None:
            waiting[0][1] += 1
            if waiting[0][1] * load.chunk == load.prompt:
                running.append([waiting.pop(0)[0], end, 1])
    return done, steps


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--set", choices=SETS, default="first", help="which loads")
    parser.add_argument("--seconds", type=float, default=15, help="of arrivals, at each load")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    import torch
    results = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(0), "set": args.set, "seconds": args.seconds, "loads": [],
               "steps": []}
    with torch.no_grad():
        model = Model(torch, SETS[args.set])
        for piece in (None, 0, 1):
            for batch in ([0] if piece is not None else []) + BATCHES:
                model.capture(batch, piece)
        torch.cuda.synchronize()
        # Steps by themselves, one after another.
        for (batch, piece) in list(model.graphs):
            for _ in range(3):
                model.step(batch, piece)
            begin = time.perf_counter()
            for _ in range(10):
                model.step(batch, piece)
            results["steps"].append({"batch": batch, "piece": piece, "ms": (time.perf_counter() - begin) * 100})
        for rate in model.load.rates:
            try:
                times = arrivals(model.load, rate, args.seconds)
                done, steps = serve(model, times)
            except Exception as error:
                results["loads"].append({"rate": rate, "error": str(error)[:300]})
                continue
            ttft = [(first - at) * 1e3 for at, first, _ in done]
            tpot = [(last - first) * 1e3 / (model.load.output - 1) for _, first, last in done]
            span = max(last for _, _, last in done) - times[0]
            load = {"rate": rate, "requests": len(done), "ttft_p50_ms": statistics.median(ttft),
                    "ttft_p99_ms": percentile(ttft, 0.99), "tpot_p50_ms": statistics.median(tpot),
                    "tpot_p99_ms": percentile(tpot, 0.99), "tokens_per_second": len(done) * model.load.output / span,
                    "steps": [{"running": count, "piece": piece, "count": len(all_ms), "median_ms": statistics.median(all_ms)}
                              for (count, piece), all_ms in sorted(steps.items(), key=str)]}
            results["loads"].append(load)
            print(f"rate {rate:3d}  {load['requests']:4d} requests  TTFT {load['ttft_p50_ms']:7.2f} / {load['ttft_p99_ms']:7.2f} ms  "
                  f"TPOT {load['tpot_p50_ms']:6.3f} / {load['tpot_p99_ms']:6.3f} ms  {load['tokens_per_second']:7.1f} tokens/s",
                  flush=True)
            with open(os.path.join(args.out, "loop.json"), "w") as file:
                json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
