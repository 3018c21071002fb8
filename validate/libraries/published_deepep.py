#!/usr/bin/env python3
"""DeepEP's published figures (README of v1.2.1) beside Weft's, on H800: normal kernels in GB/s, low-latency kernels in us.

    validate/libraries/published_deepep.py build/weft

DeepSeek-V3's setting: hidden size 7168, top 8 of 256 experts, FP8 dispatch, BF16 combine; normal kernels with 4096 tokens of a rank in at
most four groups, taken as nodes, on 24 SMs; low latency with 128 tokens. The README's GB/s count a token's bytes once for each node that
it visits, its own among them; on one node once for each rank. One figure was fitted to: low-latency dispatch of 64 ranks.
"""
import argparse
import json
import subprocess
import sys

# GPUs: dispatch and combine.
NORMAL = {8: (153, 158), 16: (43, 43), 32: (58, 57), 64: (51, 50)}
LOW_LATENCY = {8: (77, 114), 16: (118, 195), 32: (155, 273), 64: (173, 314), 128: (192, 369), 256: (194, 360)}
FITTED = ("low_latency", "dispatch", 64)


def predict(program, mode, step, ranks, tokens, *more):
    command = [program, "experts", step, "-c", "dgx_h800", "--set", f"nodes={ranks // 8}", "--mode", mode, "--tokens", str(tokens), "-q",
               "--json", "-", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)["points"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    program = parser.parse_args().program
    errors = {}
    print(f"{'kernels':12} {'step':9} {'GPUs':>4} {'published':>12} {'predicted':>12} {'time off by':>12}")
    for step, index in (("dispatch", 0), ("combine", 1)):
        for ranks, published in NORMAL.items():
            point = predict(program, "normal", step, ranks, 4096, "--node-limit", "4")
            visited = point["ranks_visited"] if ranks == 8 else point["nodes_visited"]
            rate = 4096 * visited * point["token_bytes"] / point["time_us"] / 1e3
            off = published[index] / rate - 1
            errors.setdefault("normal", []).append(abs(off))
            print(f"{'normal':12} {step:9} {ranks:4} {published[index]:7} GB/s {rate:7.1f} GB/s {100 * off:+10.1f} %")
        for ranks, published in LOW_LATENCY.items():
            time = predict(program, "low_latency", step, ranks, 128)["time_us"]
            off = time / published[index] - 1
            is_fitted = ("low_latency", step, ranks) == FITTED
            if not is_fitted:
                errors.setdefault("low_latency", []).append(abs(off))
            print(f"{'low latency':12} {step:9} {ranks:4} {published[index]:9} us {time:9.1f} us {100 * off:+10.1f} %"
                  f"{'  fitted' if is_fitted else ''}")
    for kernels, sizes in errors.items():
        within = sum(size <= 0.15 for size in sizes)
        print(f"# {kernels}: {within} of {len(sizes)} within 15 %, the largest {100 * max(sizes):.1f} %")


if __name__ == "__main__":
    main()
