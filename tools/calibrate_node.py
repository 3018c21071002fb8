#!/usr/bin/env python3
"""Fits a profile to the collectives that `weft measure` took on a node, one group of parameters after the other, each from the
profile so far and only to the records that say something of it.

    tools/calibrate_node.py PROGRAM MEASUREMENTS.jsonl --cluster C.yaml --name NAME -o PROFILE.yaml [--set quick] [--skip launch]

The records of the other sets, and of other files, are for `weft validate`.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HOST_BOUND = 0.9
KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


def forced(record, protocol, *algorithms):
    return record["env"].get("NCCL_PROTO") == protocol and record["env"].get("NCCL_ALGO") in algorithms


def few_channels(record):
    """So few that thread blocks set the pace, not links."""
    return "NCCL_MIN_NCHANNELS" in record["env"]


def large(record):
    return record["bytes"] >= 4 * MIB


# Name, keys, records.
GROUPS = (
    ("launch", ("device.launch.host_cost", "device.launch.channel_cost"), lambda r: r["collective"] != "alltoall"),
    ("ll", tuple(f"collectives.ll.{key}" for key in ("base_latency", "hop_latency", "step_gap", "first_pass", "channel_rate")),
     lambda r: forced(r, "LL", "Ring", "Tree")),
    ("simple", tuple(f"collectives.simple.{key}" for key in
                     ("base_latency", "hop_latency", "slice_latency", "copy_latency", "block_latency", "channel_latency")),
     lambda r: forced(r, "Simple", "Ring") and r["bytes"] <= 16 * MIB and r["collective"] != "sendrecv"),
    ("store", ("collectives.simple.store_cost",),
     lambda r: forced(r, "Simple", "Ring") and large(r) and few_channels(r) and r["collective"] in ("all_gather", "all_reduce")),
    ("links", ("network.nvlink4.efficiency", "collectives.channels.service_spread", "collectives.simple.crowding"),
     lambda r: forced(r, "Simple", "Ring") and large(r) and not few_channels(r) and r["collective"] != "sendrecv"),
    ("ll128", tuple(f"collectives.ll128.{key}" for key in
                    ("base_latency", "block_latency", "hop_latency", "step_gap", "first_pass", "channel_rate")),
     lambda r: forced(r, "LL128", "Ring", "Tree") and r["bytes"] < GIB),
    ("p2p", tuple(f"collectives.p2p.{key}" for key in ("base_latency", "direct_cost", "ll_latency")),
     lambda r: "NCCL_P2P_DISABLE" not in r["env"] and r["collective"] in ("sendrecv", "alltoall") and 32 * KIB <= r["bytes"] < GIB),
)


def is_host_bound(record):
    """The host launches for most of the time, so that it says nothing of the GPUs (docs/measurement_format.md)."""
    return record["launch"] == "stream" and record.get("host_us", 0) > HOST_BOUND * record["median_us"]


def line_of(record, group):
    """Where the host's cost is sought it must not be given."""
    return json.dumps({key: value for key, value in record.items() if group != "launch" or key != "host_us"})


def records_of(lines, record_set, group, wanted):
    """The header, and the lines of the collectives that are wanted."""
    kept = [lines[0]]
    for line in lines[1:]:
        record = json.loads(line)
        if record["kind"] != "collective" or record["set"] != record_set or record["in_place"]:
            continue
        if record.get("check") == "ok" and is_host_bound(record) == (group == "launch") and wanted(record):
            kept.append(line_of(record, group))
    return kept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("measurements", type=pathlib.Path)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--profile", type=pathlib.Path, help="to begin from; absent: the cluster's")
    parser.add_argument("--set", default="quick", dest="record_set")
    parser.add_argument("--skip", action="append", default=[], metavar="GROUP", help="a group of parameters to leave as it is")
    parser.add_argument("--add", action="append", default=[], metavar="GROUP=KEY", help="a parameter to fit in a group besides")
    parser.add_argument("--name", required=True)
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    options = parser.parse_args()
    lines = options.measurements.read_text(encoding="utf-8").splitlines()
    profile = options.profile
    quiet = [] if sys.stderr.isatty() else ["-q"]  # a terminal sees how far each group is
    with tempfile.TemporaryDirectory() as folder:
        for name, keys, wanted in GROUPS:
            if name in options.skip:
                continue
            keys += tuple(added.removeprefix(f"{name}=") for added in options.add if added.startswith(f"{name}="))
            part = pathlib.Path(folder) / f"{options.measurements.stem}.{name}.jsonl"
            kept = records_of(lines, options.record_set, name, wanted)
            if len(kept) - 1 < len(keys):
                print(f"{name}: {len(kept) - 1} records for {len(keys)} parameters: left as it was", flush=True)
                continue
            part.write_text("\n".join(kept) + "\n", encoding="utf-8")
            fitted = pathlib.Path(folder) / f"{name}.yaml"
            command = [options.program, "calibrate", "--keep-bounds", *quiet, part, "--cluster", options.cluster, "--fit", ",".join(keys), "--train",
                       options.record_set, "--prior", "0.3", "--id", name, "--name", options.name, "-o", fitted]
            if profile:
                command += ["--profile", profile]
            print(f"{name}: {len(kept) - 1} records", flush=True)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            profile = fitted
        shutil.copy(profile, options.output)


if __name__ == "__main__":
    main()
