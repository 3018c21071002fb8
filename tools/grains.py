#!/usr/bin/env python3
"""How far `auto`, where it does not simulate all messages, and the fluid grain are from the chunk grain, on shipped clusters.

    tools/grains.py PROGRAM [cluster ...]
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLUSTERS = ("dgx_h100", "dgx_a100")
NODES = (1, 2, 4)
# Kind, algorithm, protocol, smallest and largest size.
CALLS = (
    ("all_reduce", "ring", "Simple", "1G", "8G"),
    ("all_reduce", "ring", "LL", "256M", "256M"),
    ("all_reduce", "tree", "Simple", "1G", "8G"),
    ("all_reduce", "nvls_tree", "Simple", "1G", "8G"),
    ("all_gather", "ring", "Simple", "4G", "16G"),
    ("reduce_scatter", "ring", "LL128", "4G", "4G"),
    ("broadcast", "ring", "Simple", "4G", "16G"),
    ("alltoall", "", "Simple", "256K", "4M"),
    ("alltoall", "", "Simple", "1G", "4G"),
    ("sendrecv", "", "Simple", "256M", "1G"),
)


def points(program, cluster, nodes, call, grain):
    kind, algorithm, protocol, low, high = call
    arguments = [program, "collective", kind, "-c", ROOT / "configs" / "clusters" / f"{cluster}.yaml", "--nodes", str(nodes)]
    arguments += ["-b", low, "-e", high, "-f", "4", "--grain", grain, "--proto", protocol, "--json", "-", "-q"]
    if algorithm:
        arguments += ["--algo", algorithm]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return json.loads(done.stdout)["points"] if done.returncode == 0 else []


def main():
    program, *clusters = sys.argv[1:]
    largest = {"auto": 0.0, "fluid": 0.0}
    print("cluster         nodes  collective      algorithm  protocol      MiB   chunk us   auto %  fluid %")
    for cluster in clusters or CLUSTERS:
        for nodes in NODES:
            for call in CALLS:
                by_grain = [points(program, cluster, nodes, call, grain) for grain in ("chunk", "auto", "fluid")]
                for chunk, auto, fluid in zip(*by_grain):
                    if auto["grain"] == "chunk" and auto["messages"] == chunk["messages"]:
                        continue
                    off = [100 * (point["device_us"] / chunk["device_us"] - 1) for point in (auto, fluid)]
                    for grain, error in zip(largest, off):
                        largest[grain] = max(largest[grain], abs(error))
                    print(
                        f"{cluster:15} {nodes:5}  {chunk['collective']:15} {chunk['algorithm']:10} {chunk['protocol']:8}"
                        f" {chunk['bytes'] >> 20:8} {chunk['device_us']:10.0f} {off[0]:8.2f} {off[1]:8.1f}",
                        flush=True,
                    )
    print(f"largest: auto {largest['auto']:.1f} %, fluid {largest['fluid']:.1f} %")


if __name__ == "__main__":
    main()
