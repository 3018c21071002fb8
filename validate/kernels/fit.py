#!/usr/bin/env python3
"""Fits what kernels cost on a GPU to the rows of the public tables that may be fitted (sets.py), with `weft calibrate`.

    validate/kernels/fit.py build/weft SYSTEM [--profile FILE] [-o FILE] [--rows N] [--only TEXT] [--date YYYY-MM-DD]

Writes the profile with the fitted values; of each class at most N rows are taken, by hash. One or two minutes a GPU.
"""
import argparse
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

import sets

CLASSES = ("gemm bf16", "gemm fp8", "gemm fp4", "gemm int8", "gemm weight only", "context attention", "decode attention", "context mla",
           "decode mla", "moe", "moe weight only")
CALIBRATIONS = {"gemm": "gemm", "attention": "prefill|decode|latent_", "moe": "moe_"}


def picked(system, limit, text):
    """At most `limit` rows of each class and kind of scales, those of the least hashes."""
    classes = {}
    for table, name, part, record in sets.rows(system):
        wanted = part == "fit" and name in CLASSES and (not text or text in name)
        if wanted and not record.get("sustained") and not record.get("fallback"):
            key = hashlib.sha256(f"{table} {sorted(record.items())}".encode()).digest()
            classes.setdefault((name, record["type"] if name == "moe" else "", record.get("scales")), []).append((key, record))
    return [record for rows in classes.values() for _, record in sorted(rows, key=lambda row: row[0])[:limit]]


def as_tables(text, kinds):
    """Fits get a name of their own, as measurements of a node may replace some values. A fit replaces an earlier one."""
    names = "|".join(CALIBRATIONS[kind] for kind in kinds)
    text = re.sub(rf"\b((?:{names})\w*)_points\b", r"\1_tables", text)
    parts = re.split(r"^(?=  \w+:\n|\S)", text, flags=re.MULTILINE)
    last = {part.splitlines()[0]: number for number, part in enumerate(parts) if part}
    return "".join(part for number, part in enumerate(parts) if part and last[part.splitlines()[0]] == number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("system", choices=tuple(sets.SYSTEMS))
    parser.add_argument("--profile", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("--only", metavar="TEXT", help="classes whose names have TEXT in them")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--date")
    options = parser.parse_args()
    if not sets.SHARED.is_dir():
        print(f"no tables in {sets.SHARED}: nothing to fit to", file=sys.stderr)
        return 1
    gpu, cluster = sets.SYSTEMS[options.system]
    profile = options.profile or sets.ROOT / "configs/profiles" / f"{gpu}.yaml"
    with tempfile.TemporaryDirectory() as folder:
        file, fitted = pathlib.Path(folder, f"tables_{gpu}.jsonl"), pathlib.Path(folder, "fitted.yaml")
        records = picked(options.system, options.rows, options.only)
        sets.write_records(gpu, records, file)
        date = ["--date", options.date] if options.date else []
        subprocess.run([options.program, "calibrate", "--keep-bounds", "-q", file, "--cluster", sets.ROOT / "configs/clusters" / f"{cluster}.yaml",
                        "--profile", profile, "--name", gpu,
                        "-o", fitted, *date], check=True)
        kinds = {record["kind"] for record in records}
        (options.output or profile).write_text(as_tables(fitted.read_text(encoding="utf-8"), kinds), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
