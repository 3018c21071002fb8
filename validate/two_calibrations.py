#!/usr/bin/env python3
"""How far the predictions of two calibrations differ, beside how well the calibrations say they know them, and how far two runs of
`weft measure` differ.

    validate/two_calibrations.py PROGRAM CLUSTER.yaml A.yaml B.yaml ALL.jsonl RUN.jsonl RUN.jsonl

A and B are profiles fitted to the two runs. Predictions of all that ALL measured are compared, kind by kind; and what the runs have
in common. In either the host was not the limit. A program for `weft measure --quick` twice and `--full` once on one kind of node.

What a difference is measured in is its own standard error: the root of the sum of both profiles' squares (`weft validate
--uncertainty`). Were that the whole truth, 68 % would be within one and 95 % within two.
"""
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

HOST_BOUND = 0.9


def quantile(values, share):
    ordered = sorted(values)
    at = (len(ordered) - 1) * share
    low = int(at)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (at - low)


def text(differences):
    sizes = [100 * abs(d) for d in differences]
    return f"{len(sizes):5} points: median {statistics.median(sizes):5.2f} %, 95th percentile {quantile(sizes, 0.95):5.2f} %, largest {max(sizes):5.1f} %"


def is_host_bound(record):
    return record.get("launch") == "stream" and record.get("host_us", 0) > HOST_BOUND * record["median_us"]


def records(path):
    """By kind and identity; those of collectives whose data were found right."""
    found = {}
    for record in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        is_right = record["kind"] != "collective" or record.get("check") == "ok"
        if "median_us" in record and not record.get("in_place") and is_right:
            found.setdefault(record["kind"], {})[record["id"]] = record
    return found


def predictions(program, cluster, profile, path):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out.json")
        subprocess.run([program, "validate", "-q", "--uncertainty", "--cluster", cluster, "--profile", profile, path, "--json", out],
                       stdout=subprocess.DEVNULL, check=False)
        return json.loads(out.read_text())["points"]


def print_predictions(pairs):
    """Of one kind: how far they differ, and in what profiles report."""
    by_protocol, noise = {}, []
    for one, other in pairs:
        difference = other["predicted_us"] / one["predicted_us"] - 1
        by_protocol.setdefault(one["protocol"], []).append(difference)
        if one["predicted_sd"] is not None and other["predicted_sd"] is not None:
            noise.append((abs(difference), math.hypot(one["predicted_sd"], other["predicted_sd"])))
    print("  predictions", text(itertools.chain.from_iterable(by_protocol.values())))
    if len(by_protocol) > 1:
        for protocol, differences in sorted(by_protocol.items()):
            print(f"    {protocol:9}", text(differences))
    if noise:
        print("  they report", text(sd for _, sd in noise))
        shares = [100 * sum(difference <= times * sd for difference, sd in noise) / len(noise) for times in (1, 2)]
        print(f"    within one of what they report {shares[0]:.0f} %, within two {shares[1]:.0f} %")


def main():
    program, cluster, a, b = sys.argv[1:5]
    everything, *runs = map(pathlib.Path, sys.argv[5:])
    by_kind = {}
    for one, other in zip(predictions(program, cluster, a, everything), predictions(program, cluster, b, everything)):
        if one["predicted_us"] is not None and not one["in_place"] and one["excluded"] != "cpu time":
            by_kind.setdefault(one["kind"], []).append((one, other))
    measured = {path: records(path) for path in [*runs, everything]}
    for kind, pairs in by_kind.items():
        print(kind)
        print_predictions(pairs)
        for first, second in itertools.combinations(measured, 2):
            x, y = measured[first].get(kind, {}), measured[second].get(kind, {})
            both = [i for i in x if i in y and not is_host_bound(x[i]) and not is_host_bound(y[i])]
            if both:
                print(f"  {first.stem} and {second.stem}", text(y[i]["median_us"] / x[i]["median_us"] - 1 for i in both))


main()
