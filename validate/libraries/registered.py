#!/usr/bin/env python3
"""What registered buffers gain a collective, beside what has been published.

    validate/libraries/registered.py build/weft

A row is a published gain: the time of NCCL's usual way over that with buffers that are registered (-R 1), in symmetric memory (-R 2),
or copied by engines (-x 2). Nothing of Weft is fitted to these: starts, counts and channels are NCCL's own (src/sym_kernels.cc,
src/transport/nvls.cc), rates those of PyTorch's symmetric memory (score.py) and of copies measured on other machines. A row agrees where
both gains are on one side of 1 and differ by no more than a third; a published gain of 1 is agreed with within a tenth. One that is known
to be further off says why.

The model of -R 1 was committed before its tables were read; titles of two issues and one range of rates had been seen. After the first
comparison sends kept their usual chunks over NVLink, as in one chunk an all-to-all of 8 H100 came out slower than without; no row
changed sides. That copies of engines follow one another was concluded from the row of issue 2169 after it was seen, so that row is no
prediction.

Not a row, as no call of `weft collective` has a GEMM beside it: PyTorch's pull request 172714 has a product of 8192 and an all-gather of
512 MiB on 8 H100 at the same time in 2.02 ms, by copy engines in 1.77, 1.14 times as fast. By gpu.contention.gemm (1.35 beside 24 blocks,
in proportion) a product of 1.69 ms beside 16 blocks for 1.36 ms takes 1.95 ms, and beside none 1.69: 1.15.

Exit status 1: another row does not agree, or one known to be off does.
"""
import argparse
import json
import pathlib
import subprocess
import sys

VLLM = "vLLM, pull request 24532 (NCCL symmetric memory for all-reduce), table of TP = 4: pynccl over pynccl-symm, bf16, in graphs"
BLOG = "NVIDIA's blog on NCCL 2.27: 'up to 7.6x' less latency (9x in its first edition) of small messages; 32 GPUs: nccl-tests issue 333"
# That issue quotes 6.3 us, so about 48 us for the usual kernels.
BLOG_IS_OFF = "NCCL's own estimate starts the kernel in 11 us, the blog in 6.3; and NVLS, the usual choice here, takes 24 us, not 48"
B300 = "vLLM, pull request 37756, a table of B300 (six of them, concluded from its limits): pynccl over pynccl-symm, bf16, in graphs"
H800_SENDS = "NCCL issue 1722: 8 H800, alltoall_perf of 4 GiB, -R 1 'from 160 to 176 GB/s'; over two nodes no gain"
H800_RING = "NCCL issue 1821: 8 H800, NCCL 2.27.5 without NVLS, -R 1 of all-reduce and reduce-scatter: no improvement"
MESH = "NCCL issue 2169: 4 H100, alltoall_perf of 500 MiB: 1097 us with -R 1 (2.30.4), 3245 us with -R 2 -x 2 (2.28.3)"
MESH_FILE = pathlib.Path(__file__).resolve().parent / "h100x4_mesh.yaml"

# 16 and 64 MiB take 7 and 22 us longer than without, what a copy of the vector takes.
B300_IS_OFF = "its times are the usual ones and a copy of the vector: NCCL ran none of its kernels for symmetric memory there"

# Ranks of a process each. vLLM copies the input into a registered buffer first. Its first table's GPU is taken to be H100, of which the
# other columns are (pull request 24111).
IN_GRAPHS = ["-d", "bfloat16", "-G"]
WITHOUT_NVLS = ["--nccl", "NVLS_ENABLE=0", "--nccl", "version=2.27.5"]


def vllm(size, usual_ms, symmetric_ms):
    return ("all_reduce", "dgx_h100", 1, 4, size, IN_GRAPHS, [], ["--library", "vllm_nccl_symm"], usual_ms / symmetric_ms, VLLM)


def b300(size, usual_ms, symmetric_ms, *why):
    return ("all_reduce", "gb300_nvl72", 1, 6, size, IN_GRAPHS, [], ["-R", "2"], usual_ms / symmetric_ms, B300, *why)


# Collective, cluster, nodes, GPUs of a node, bytes, options of both calls, of the usual one, of the other one, the published gain, its
# source, why it is off.
ROWS = [
    vllm("512K", 0.021, 0.017),
    vllm("1M", 0.023, 0.019),
    vllm("1536K", 0.025, 0.020),
    vllm("2M", 0.028, 0.021),
    vllm("3M", 0.033, 0.023),
    vllm("4M", 0.039, 0.028),
    ("all_reduce", "gb200_nvl72", 1, 32, "1K", IN_GRAPHS, [], ["-R", "2"], 7.6, BLOG, BLOG_IS_OFF),
    b300("1M", 0.027, 0.029, B300_IS_OFF),
    b300("16M", 0.083, 0.090, B300_IS_OFF),
    b300("64M", 0.219, 0.241, B300_IS_OFF),
    ("alltoall", "dgx_h800", 1, 8, "4G", ["--nccl", "version=2.27"], [], ["-R", "1"], 176 / 160, H800_SENDS),
    ("alltoall", "dgx_h800", 2, 8, "4G", ["--nccl", "version=2.27"], [], ["-R", "1"], 1.0, H800_SENDS),
    ("all_reduce", "dgx_h800", 1, 8, "1G", WITHOUT_NVLS, [], ["-R", "1"], 1.0, H800_RING),
    ("all_reduce", "dgx_h800", 1, 8, "64M", WITHOUT_NVLS, [], ["-R", "1"], 1.0, H800_RING),
    ("reduce_scatter", "dgx_h800", 1, 8, "1G", WITHOUT_NVLS, [], ["-R", "1"], 1.0, H800_RING),
    ("alltoall", MESH_FILE, 1, 4, "500M", [], ["-R", "1", "--nccl", "version=2.30.4"],
     ["-R", "2", "-x", "2", "--nccl", "version=2.28.3"], 1097.14 / 3245.27, MESH),
]


def time_of(program, kind, cluster, nodes, gpus, size, *more):
    command = [program, "collective", kind, "-c", str(cluster), "--nodes", str(nodes), "-t", str(gpus), "-b", size, "-e", size,
               "-n", "20", "-q", "--json", "-", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    point = json.loads(done.stdout)["points"][0]
    return point["time_us"], point["algorithm"], point["channels"]


def agrees(gain, published):
    if published == 1.0:
        return 0.9 <= gain <= 1.1
    return (gain > 1) == (published > 1) and max(gain, published) <= min(gain, published) * 4 / 3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    arguments = parser.parse_args()
    print(f"{'call':15} {'cluster':12} {'GPUs':>4} {'bytes':>6} {'usual us':>10} {'with us':>10} {'gain':>6} {'published':>10}  by, blocks")
    wrong = good = 0
    for kind, cluster, nodes, gpus, size, both, usual_options, options, published, _, *known in ROWS:
        usual, *_ = time_of(arguments.program, kind, cluster, nodes, gpus, size, *both, *usual_options)
        time, algorithm, channels = time_of(arguments.program, kind, cluster, nodes, gpus, size, *both, *options)
        gain = usual / time
        ok = agrees(gain, published)
        good += ok
        wrong += ok == bool(known)
        verdict = "" if ok else "  no: " + (known or ["?"])[0]
        name = pathlib.Path(str(cluster)).stem
        print(f"{kind:15} {name:12} {nodes * gpus:4} {size:>6} {usual:10.2f} {time:10.2f} {gain:6.2f} {published:10.2f}  "
              f"{algorithm}, {channels}{verdict}", flush=True)
    for source in dict.fromkeys(row[9] for row in ROWS):
        print(f"# {source}")
    print(f"# {good} of {len(ROWS)} gains are reproduced in sign and within a third")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
