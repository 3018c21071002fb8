#!/usr/bin/env python3
"""What the files of validate/replay/beside_kernels.py say of collectives in a memory that copies of 1 GiB fill.

    validate/replay/beside_kernels_summary.py validate/measured/h200x2_beside_kernels.json

Of each large collective: its time alone and beside the copies; the memory traffic of one of its thread blocks there, over what each
SM of the copying kernel moves alone (gpu.contention.block_memory_share); and a copy's time beside it over its time alone, with what
it would be if the copies lost the SMs that the collective holds.
"""
import json
import statistics
import sys

SMS = 132  # of H100 and H200
RANKS = 2
OWN = {"all_reduce": 2.0, "all_gather": 1.5, "reduce_scatter": 1.5, "alltoall": 2.0}  # input and output, of the size
RECEIVED = {"all_reduce": 1.0, "all_gather": 0.5, "reduce_scatter": 0.5, "alltoall": 0.5}


def calls(case):
    """Of every run and rank: begin, end, blocks."""
    return [(rank["calls"][0][0], sum(rank["calls"][0][:2]), rank["calls"][0][2]) for run in case["runs"] for rank in run]


def kernels(case, inside):
    """Times of kernels that lie inside the collective, or after it."""
    found = []
    for run in case["runs"]:
        for rank in run:
            begin, duration, _ = rank["calls"][0]
            for start, took in rank["kernels"]:
                if (begin <= start and start + took <= begin + duration) if inside else start >= begin + duration:
                    found.append(took)
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    print(f"# {data['gpu']}, NCCL {data['nccl']}, PyTorch {data['torch']}")
    rates = [case for case in data["cases"] if case["what"] == "rate"]
    copied = [case for case in rates if case["kernel"] == "copy" and case["kernel_bytes"] == 1 << 30]
    copy_us = statistics.median(took for case in copied for took in kernels(case, False))
    sm_rate = 2 * (1 << 30) / copy_us / 1e3 / SMS
    print(f"# a copy of 1 GiB takes {copy_us:.1f} us alone: {sm_rate:.1f} GB/s of each SM")
    print(f"# {'collective':<14} {'MiB':>5} {'blocks':>6} {'alone us':>9} {'beside us':>9} {'share':>6} {'copies':>7} {'SMs':>6}")
    for case in copied:
        alone = [c for c in rates if not c["kernel"] and all(c[key] == case[key] for key in ("op", "bytes", "blocks"))]
        if not alone:
            continue
        took = statistics.median(end - begin for begin, end, _ in calls(case))
        took_alone = statistics.median(end - begin for begin, end, _ in calls(alone[0]))
        blocks = calls(case)[0][2]
        traffic = (2 * RECEIVED[case["op"]] + OWN[case["op"]]) * case["bytes"]
        beside = statistics.median(kernels(case, True)) / copy_us
        print(f"  {case['op']:<14} {case['bytes'] >> 20:>5} {blocks:>6} {took_alone:>9.0f} {took:>9.0f}"
              f" {traffic / took / 1e3 / blocks / sm_rate:>6.2f} {beside:>7.3f} {SMS / (SMS - blocks):>6.3f}")


if __name__ == "__main__":
    main()
