#!/usr/bin/env python3
"""What buffers in symmetric memory gain an all-reduce, beside what has been published.

    validate/libraries/registered.py build/weft

A row is a published gain: the time of NCCL's usual kernels over that of its kernels for symmetric memory. Nothing of Weft is fitted to
these: starts and counts are NCCL's own estimate (its src/sym_kernels.cc), rates those of PyTorch's symmetric memory (score.py). A row
agrees where both gains are on one side of 1 and differ by no more than a third. One that is known to be further off says why.

Exit status 1: another row does not agree, or one known to be off does.
"""
import argparse
import json
import subprocess
import sys

VLLM = "vLLM, pull request 24532 (NCCL symmetric memory for all-reduce), table of TP = 4: pynccl over pynccl-symm, bf16, in graphs"
BLOG = "NVIDIA's blog on NCCL 2.27: 'up to 7.6x' less latency (9x in its first edition) of small messages; 32 GPUs: nccl-tests issue 333"
# That issue quotes 6.3 us, so about 48 us for the usual kernels.
BLOG_IS_OFF = "NCCL's own estimate starts the kernel in 11 us, the blog in 6.3; and NVLS, the usual choice here, takes 24 us, not 48"
# The table's GPU is taken to be H100, of which its other columns are (pull request 24111).
# Ranks of a process each, in CUDA graphs as the publishers run them. Cluster, nodes, GPUs of a node, bytes, how the buffers come to be
# registered, the published gain, its source, why it is off. vLLM copies the input into a registered buffer first.
H100 = ("dgx_h100", 1, 4)
ROWS = [
    (*H100, "512K", ["--library", "vllm_nccl_symm"], 0.021 / 0.017, VLLM),
    (*H100, "1M", ["--library", "vllm_nccl_symm"], 0.023 / 0.019, VLLM),
    (*H100, "1536K", ["--library", "vllm_nccl_symm"], 0.025 / 0.020, VLLM),
    (*H100, "2M", ["--library", "vllm_nccl_symm"], 0.028 / 0.021, VLLM),
    (*H100, "3M", ["--library", "vllm_nccl_symm"], 0.033 / 0.023, VLLM),
    (*H100, "4M", ["--library", "vllm_nccl_symm"], 0.039 / 0.028, VLLM),
    ("gb200_nvl72", 1, 32, "1K", ["-R", "2"], 7.6, BLOG, BLOG_IS_OFF),
]


def time_of(program, cluster, nodes, gpus, size, *more):
    command = [program, "collective", "all_reduce", "-c", cluster, "--nodes", str(nodes), "-t", str(gpus), "-b", size, "-e", size,
               "-d", "bfloat16", "-n", "20", "-G", "-q", "--json", "-", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    point = json.loads(done.stdout)["points"][0]
    return point["time_us"], point["algorithm"]


def agrees(gain, published):
    return (gain > 1) == (published > 1) and max(gain, published) <= min(gain, published) * 4 / 3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    arguments = parser.parse_args()
    print(f"{'cluster':14} {'GPUs':>4} {'bytes':>6} {'usual us':>9} {'symmetric us':>13} {'gain':>6} {'published':>10}")
    wrong = good = 0
    for cluster, nodes, gpus, size, how, published, _, *known in ROWS:
        usual, _ = time_of(arguments.program, cluster, nodes, gpus, size)
        symmetric, algorithm = time_of(arguments.program, cluster, nodes, gpus, size, *how)
        assert algorithm == "nccl_symmetric", algorithm
        gain = usual / symmetric
        ok = agrees(gain, published)
        good += ok
        wrong += ok == bool(known)
        verdict = "" if ok else "  no: " + (known or ["?"])[0]
        print(f"{cluster:14} {nodes * gpus:4} {size:>6} {usual:9.2f} {symmetric:13.2f} {gain:6.2f} {published:10.2f}{verdict}")
    for source in dict.fromkeys(row[6] for row in ROWS):
        print(f"# {source}")
    print(f"# {good} of {len(ROWS)} gains are reproduced in sign and within a third")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
