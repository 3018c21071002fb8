#!/usr/bin/env python3
"""How far predicted times of kernels are off on public tables of single operations (sets.py), by class and GPU.

    validate/kernels/score.py build/weft [TEXT...] [--half test|fit] [--every N] [--profile SYSTEM=FILE]... [--worst N] [--json FILE]
    validate/kernels/score.py build/weft --own-table half|most
    validate/kernels/score.py build/weft --from-data-sheet [TEXT...]

Median and 95th percentile of the absolute error over rows that no fit may see. TEXT picks classes or systems by name. The tables
are not part of Weft; without them the script says so. Takes two minutes.

--own-table: as if the user had measured products. Of each table of bf16 GEMMs some shapes (n, k) are a table in the profile, by
`weft calibrate --products`, and the others are scored: half are in it, those that a fit may see, or most, four of five by another hash.

--from-data-sheet: as if nothing of a GPU had been measured. Each Blackwell is predicted from its data sheet and what kernels cost on
the other ones: the geometric mean of each value of their profiles.
"""
import argparse
import hashlib
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import sets


def predict(program, system, records, profile):
    """Points of `weft validate`, one for each record."""
    gpu, cluster = sets.SYSTEMS[system]
    with tempfile.TemporaryDirectory() as folder:
        file, result = pathlib.Path(folder, "records.jsonl"), pathlib.Path(folder, "result.json")
        sets.write_records(gpu, records, file)
        profile = profile or sets.ROOT / "configs/profiles" / f"{gpu}.yaml"
        subprocess.run([program, "validate", "-q", "--cluster", sets.ROOT / "configs/clusters" / f"{cluster}.yaml", "--profile", profile,
                        "--json", result, file], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(result.read_text(encoding="utf-8"))["points"]


def is_in_table(split, part, record):
    if split == "half":
        return part == "fit"
    return hashlib.sha256(f"table {record['n']} {record['k']}".encode()).digest()[0] % 5 != 0


def with_own_table(program, system, records, profile, folder):
    """A profile that carries these products."""
    gpu, cluster = sets.SYSTEMS[system]
    file, made = pathlib.Path(folder, "table.jsonl"), pathlib.Path(folder, "own.yaml")
    sets.write_records(gpu, records, file)
    profile = profile or sets.ROOT / "configs/profiles" / f"{gpu}.yaml"
    subprocess.run([program, "calibrate", "-q", "--cluster", sets.ROOT / "configs/clusters" / f"{cluster}.yaml", "--profile", profile,
                    "--products", pathlib.Path(folder, "own.csv"), "-o", made, file], check=True, stdout=subprocess.DEVNULL)
    return made


def score_own_tables(options, words, profiles):
    print(f"{'table':34} {'in it':>6} {'rows':>6} {'formula':>17} {'with the table':>17}")
    found = {}
    for system in sets.SYSTEMS:
        if words and system not in words:
            continue
        tables = {}
        for table, name, part, record in sets.rows(system, ("gemm",)):
            if name == "gemm bf16":
                tables.setdefault(table, ([], []))[0 if is_in_table(options.own_table, part, record) else 1].append(record)
        for table, (known, rest) in tables.items():
            rest = rest[::options.every]
            with tempfile.TemporaryDirectory() as folder:
                own = with_own_table(options.program, system, known, profiles.get(system), folder)
                pairs = [predict(options.program, system, rest, profile) for profile in (profiles.get(system), own)]
            sides = [[100 * abs(point["relative_error"]) for point in points] for points in pairs]
            row = [quantile(side, share) for side in sides for share in (0.5, 0.95)]
            found[f"{system} {table}"] = row
            print(f"{system + ' ' + table:34} {len(known):6} {len(rest):6} {row[0]:6.1f} % {row[1]:6.1f} % {row[2]:6.1f} % {row[3]:6.1f} %",
                  flush=True)
    mean = [statistics.fmean(row[i] for row in found.values()) for i in range(4)]
    print(f"{'mean':34} {'':6} {'':6} {mean[0]:6.1f} % {mean[1]:6.1f} % {mean[2]:6.1f} % {mean[3]:6.1f} %")
    return found


VALUE = re.compile(r"^  (gpu\.\S+): \{value: ([\d.e+-]+)( ?[a-zA-Z/%]*)", re.MULTILINE)
SECONDS = {" ps": 1e-12, " ns": 1e-9, " us": 1e-6, " ms": 1e-3}


def kernel_values(text):
    """Value, and whether it is a time, by name."""
    return {name: (float(number) * SECONDS.get(unit, 1), unit in SECONDS) for name, number, unit in VALUE.findall(text)}


def of_the_others(system, folder):
    """The profile of another GPU of its kind with the mean of what kernels cost on all others."""
    texts = [(sets.ROOT / "configs/profiles" / f"{sets.SYSTEMS[other][0]}.yaml").read_text(encoding="utf-8")
             for other in sets.BLACKWELL if other != system]
    known = [kernel_values(text) for text in texts]

    def mean(match):
        name = match[1]
        if not all(name in values for values in known) or float(match[2]) <= 0:
            return match[0]
        value = statistics.geometric_mean(max(values[name][0], 1e-15) for values in known)
        return f"  {name}: {{value: {value * 1e9:.6g} ns" if known[0][name][1] else f"  {name}: {{value: {value:.6g}{match[3]}"

    made = pathlib.Path(folder, f"{system}.yaml")
    made.write_text(VALUE.sub(mean, texts[0]), encoding="utf-8")
    return made


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("text", nargs="*")
    parser.add_argument("--half", choices=("test", "fit"), default="test")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of each class one row in N, for a quick look")
    parser.add_argument("--profile", action="append", default=[], metavar="SYSTEM=FILE")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="print N rows of each class that are off most")
    parser.add_argument("--tables", action="store_true", help="by table and type of data too")
    parser.add_argument("--own-table", choices=("half", "most"), help="score bf16 GEMMs with a table of one's own in the profile")
    parser.add_argument("--from-data-sheet", action="store_true", help="score each Blackwell with what kernels cost on the others")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    if not sets.SHARED.is_dir():
        print(f"no tables in {sets.SHARED}: nothing to score")
        return 0
    profiles = dict(pair.split("=", 1) for pair in options.profile)
    words = {word for word in options.text if word in sets.SYSTEMS}
    names = set(options.text) - words
    if options.own_table:
        found = score_own_tables(options, words, profiles)
        if options.json:
            options.json.write_text(json.dumps(found), encoding="utf-8")
        return 0
    folder = tempfile.TemporaryDirectory()
    if options.from_data_sheet:
        words = words & set(sets.BLACKWELL) or set(sets.BLACKWELL)
        profiles = {system: of_the_others(system, folder.name) for system in words}
    result = {}
    print(f"{'class':20} {'system':10} {'rows':>6} {'median':>8} {'95 %':>8} {'bias':>8}")
    for system in sets.SYSTEMS:
        if words and system not in words:
            continue
        by_class, seen = {}, 0
        for table, name, part, record in sets.rows(system):
            if part != options.half or (names and not any(word in name for word in names)):
                continue
            seen += 1
            if seen % options.every == 0:
                by_class.setdefault(name, []).append((table, record))
        for name, listed in by_class.items():
            points = predict(options.program, system, [record for _, record in listed], profiles.get(system))
            kept = [(point["relative_error"], table, record) for point, (table, record) in zip(points, listed)
                    if point["relative_error"] is not None]
            if not kept:
                print(f"{name:20} {system:10} {len(listed):6} not modelled")
                continue
            groups = {"": kept}
            if options.tables:
                for row in kept:
                    groups.setdefault(f"  {row[1]} {row[2]['type']} {row[2].get('cache_type', row[2].get('library', row[2].get('scales', '')))}".rstrip(), []).append(row)
            for label, group in groups.items():
                errors = [100 * abs(error) for error, _, _ in group]
                bias = statistics.median(100 * error for error, _, _ in group)
                print(f"{label or name:20} {system:10} {len(errors):6} {quantile(errors, 0.5):6.1f} % {quantile(errors, 0.95):6.1f} % "
                      f"{bias:+6.1f} %", flush=True)
            errors = [100 * abs(error) for error, _, _ in kept]
            result.setdefault(name, {})[system] = {"rows": len(errors), "median": quantile(errors, 0.5), "p95": quantile(errors, 0.95)}
            for error, table, record in sorted(kept, key=lambda row: -abs(row[0]))[:options.worst]:
                print(f"    {100 * error:+8.1f} % {table} {json.dumps(record)}")
    print(f"\n{'class':20} {'mean of':>10} {'median':>8} {'95 %':>8}   largest median")
    for name, systems in result.items():
        worst = max(systems, key=lambda system: systems[system]["median"])
        print(f"{name:20} {len(systems):8}   {statistics.fmean(each['median'] for each in systems.values()):6.1f} % "
              f"{statistics.fmean(each['p95'] for each in systems.values()):6.1f} %   {systems[worst]['median']:.1f} % {worst}")
    if options.json:
        options.json.write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
