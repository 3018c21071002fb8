#!/usr/bin/env python3
"""What profiled training steps are made of, by category, from PyTorch Kineto traces of all ranks.

    validate/training/trace_categories.py TRACES_FOLDER > categories.json

Device time only: events of category kernel, gpu_memcpy and gpu_memset. A communication kernel's duration contains waiting for
late peers, so each counts with the shortest duration that any rank saw of it, as if it began that long before its end
(training-step notes, section 1). Messages between pipeline stages wait for each other on both sides; each counts with the tenth
percentile of all messages of its rank at most. Exposed: what of that no compute kernel covers. Compute is given for every rank.
"""
import gzip
import json
import pathlib
import re
import statistics
import sys


def category(name):
    lower = name.lower()
    if "nccl" in lower:
        return "nccl"
    if "flash" in lower or "fmha" in lower:
        return "attention"
    if "adam" in lower:
        return "optimizer"
    if any(word in lower for word in ("gemm", "nvjet", "cutlass", "xmma")):
        return "gemm"
    return "other"


def device_events(path):
    """[(start us, duration us, category, group, kind)] in order of start."""
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    found = []
    for event in events:
        if event.get("ph") != "X" or event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        args = event.get("args", {})
        kind = category(event["name"]) if event["cat"] == "kernel" else "other"
        call = (args.get("Process Group Name", ""), args.get("Process Group Ranks", ""), args.get("Collective name", ""))
        found.append((float(event["ts"]), float(event["dur"]), kind, call))
    return sorted(found)


def union(intervals):
    total = 0.0
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    total = sum(end - begin for begin, end in merged)
    return total, merged


def uncovered(interval, cover):
    begin, end = interval
    left = end - begin
    for a, b in cover:
        left -= max(0.0, min(end, b) - max(begin, a))
    return max(0.0, left)


def summarize(files):
    ranks = [device_events(path) for path in files]
    # The k-th call of each group on each of its ranks is the same call. Messages (send and receive) of a pair share a group.
    calls = [dict() for _ in ranks]
    for rank, events in enumerate(ranks):
        for event in events:
            if event[2] == "nccl":
                calls[rank].setdefault(event[3][:2], []).append(event)
    shortest = {}
    for per_group in calls:
        for group, events in per_group.items():
            best = shortest.setdefault(group, {})
            for i, event in enumerate(events):
                best[i] = min(best.get(i, event[1]), event[1])
    rows = []
    for rank, events in enumerate(ranks):
        compute = [(start, start + duration) for start, duration, kind, _ in events if kind != "nccl"]
        _, cover = union(compute)
        moving = []
        nccl = 0.0
        for group, own in calls[rank].items():
            durations = sorted(event[1] for event in own)
            for i, (start, duration, _, call) in enumerate(own):
                is_message = call[2] in ("send", "recv", "coalesced", "")
                wire = min(duration, durations[len(durations) // 10]) if is_message else shortest[group][i]
                nccl += wire
                moving.append((start + duration - wire, start + duration))
        _, moving = union(moving)
        row = {"nccl": nccl, "exposed_nccl": sum(uncovered(tuple(interval), cover) for interval in moving)}
        for kind in ("gemm", "attention", "optimizer", "other"):
            row[kind] = sum(duration for _, duration, its, _ in events if its == kind)
        row["span"] = events[-1][0] + events[-1][1] - events[0][0]
        row["kernels"] = len(events)
        rows.append({key: round(value / (1e3 if key != "kernels" else 1), 3) for key, value in row.items()})
    middle = {key: round(statistics.median(row[key] for row in rows), 3) for key in rows[0]}
    return {"ranks": rows, "median_ms": middle}


def main():
    folder = pathlib.Path(sys.argv[1])
    files = {}
    for path in sorted(folder.glob("*.kineto.rank*.json.gz")):
        files.setdefault(re.sub(r"\.kineto\.rank\d+\.json\.gz$", "", path.name), []).append(path)
    json.dump({name: summarize(paths) for name, paths in files.items()}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
