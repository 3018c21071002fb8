#!/usr/bin/env python3
"""How far NCCL's predicted times are off on public tables, on logs of the 4 x H200 node and on what `weft measure` wrote.

    validate/nccl_public/score.py build/weft [TEXT...] [--points] [--profile GPU=FILE]... [--param KEY=VALUE]... [--json FILE]
    validate/nccl_public/score.py build/weft --markdown docs/accuracy.md --profiles

Each public set (file x operation x GPU count, sets.py) runs with NCCL's own selection; its mean absolute error counts all of its
sizes that no fit may see ("fitted" where a fit may see all), its worst those from 1 MiB up. The logs and files of our own print
median and 95th percentile. TEXT picks sets by name. Where the public tables are not at hand, only the others run.

--markdown writes the page of all of these errors, --profiles the same facts into the shipped profiles (accuracy.py). --from FILE takes
what an earlier run wrote with --json for the sets that TEXT leaves out.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import accuracy
import sets

ROOT = sets.ROOT
MIB = sets.MIB
UP = "from 1 MiB"
ELEMENT = {"half": 2, "float": 4}
# Name -> cluster, files. Logs that the profile was fitted to do not count, nor do points whose host was the limit.
LOGS = {
    "h200x4 logs": ("h200x4", "tests/data/h200x4/*.txt"),
    "h200x4 full": ("h200x4", "validate/measured/h200x4_full.jsonl"),
    "h200x4 quick": ("h200x4", "validate/measured/h200x4_quick.jsonl"),
    "h200x2 full": ("h200x4", "validate/measured/h200x2_full.jsonl"),
    "h200x2 full third": ("h200x4", "validate/measured/h200x2_full_third.jsonl"),
    "h200x2 fine": ("h200x4", "validate/measured/h200x2_fine.jsonl"),
    "h100x2 full": ("h100x2", "validate/measured/h100x2_full.jsonl"),
    "h100x2 full later": ("h100x2", "validate/measured/h100x2_full_later.jsonl"),
    "h100x2 fine": ("h100x2", "validate/measured/h100x2_fine_channels.jsonl"),
    "h200x4 later": ("h200x4", "../shared/reference/h200x4-later/quick.jsonl"),
}


def write_log(public, rows, file):
    """The rows as nccl-tests prints them: one thread a GPU, a process a host."""
    code = ""
    if public.release:
        major, minor, patch = map(int, public.release.split("."))
        code = str(major * 10000 + minor * 100 + patch)
    each = 4 if public.cluster.startswith("gb") else public.ranks // public.nodes  # GPUs of a host
    lines = [f"# env {setting}" for setting in public.settings]
    lines += [f"# nccl-tests version 2.17.1 nccl-headers={code} nccl-library={code}" if code else "# nccl-tests version 2.17.1",
              f"# Collective test starting: {public.op}_perf",
              f"# nThread {each} nGpus 1 minBytes {rows[0][0]} maxBytes {rows[-1][0]} step: 2(factor) warmup iters: 40 iters: 100 "
              "agg iters: 1 validation: 0 graph: 0", "#", "# Using devices"]
    for rank in range(public.ranks):
        host = rank // each
        lines.append(f"#  Rank {rank:2} Group  0 Pid {1000 + host} on host{host:02} device {rank % each:2} [0x00] GPU")
    lines += ["#", "#       size         count      type   redop    root     time   algbw   busbw  #wrong",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)"]
    redop = "sum" if public.op == "all_reduce" else "none"
    share = public.ranks if public.op in ("all_gather", "alltoall") else 1
    for size, time in rows:
        count = size // ELEMENT[public.dtype] // share
        lines.append(f"{size:12} {count:13} {public.dtype:>9} {redop:>7}      -1 {time:8.2f}    0.00    0.00    N/A")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def validate(program, cluster, files, options):
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "result.json")
        subprocess.run([program, "validate", "-q", "--cluster", cluster, "--json", result, *options, *files], check=True,
                       stdout=subprocess.DEVNULL)
        return [point for point in json.loads(result.read_text(encoding="utf-8"))["points"] if point["relative_error"] is not None]


def predict(program, public, rows, options=()):
    """Points of `weft validate` for the rows of a public set."""
    with tempfile.TemporaryDirectory() as folder:
        log, cluster = pathlib.Path(folder, "log.txt"), pathlib.Path(folder, "cluster.yaml")
        write_log(public, rows, log)
        nodes = f"nodes: {public.nodes}\n" if public.nodes > 1 else ""
        cluster.write_text(f"extends: {ROOT / 'configs/clusters' / (public.cluster + '.yaml')}\nname: {public.name}\n{nodes}",
                           encoding="utf-8")
        return validate(program, cluster, [log], options)


def overlay(profile, values, file):
    """A profile with other values of some parameters."""
    lines = [f"extends: {profile}", "name: overlay"] + ["parameters:"] * bool(values)
    lines += [f"  {key}: {{value: {value}, source: assumed}}" for key, value in values.items()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def collectives_of(file, folder, every=1):
    """The file without kernels and copies, which this score does not need; of the collectives one in `every`."""
    if file.suffix != ".jsonl":
        return file
    kept, seen = [], 0
    for line in file.read_text(encoding="utf-8").splitlines():
        kind = json.loads(line)["kind"]
        seen += kind == "collective"
        if kind in ("header", "end") or kind == "collective" and seen % every == 0:
            kept.append(line)
    copy = folder / file.name
    copy.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return copy


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def size(count):
    for unit, name in ((1 << 30, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count} B"


def print_points(points):
    for point in points:
        print(f"    {size(point['bytes']):>8} {point['algorithm']:9} {point['protocol']:6} {point['channels']:2} "
              f"{point['measured_us']:10.2f} {point['predicted_us']:10.2f} us {100 * point['relative_error']:+6.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("text", nargs="*")
    parser.add_argument("--points", action="store_true")
    parser.add_argument("--profile", action="append", default=[], metavar="GPU=FILE")
    parser.add_argument("--param", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of measured files one collective in N, for a quick look")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path, help="page to write")
    parser.add_argument("--profiles", action="store_true", help="state the errors in the shipped profiles")
    parser.add_argument("--from", type=pathlib.Path, dest="earlier", help="results of an earlier run")
    options = parser.parse_intermixed_args()
    profiles = dict(pair.split("=", 1) for pair in options.profile)
    overlays = tempfile.TemporaryDirectory()

    def with_profile(gpu):
        file = pathlib.Path(profiles.get(gpu, ROOT / "configs/profiles" / (gpu + ".yaml"))).resolve()
        if options.param:
            file = overlay(file, dict(pair.split("=", 1) for pair in options.param), pathlib.Path(overlays.name, gpu + ".yaml"))
        return ["--profile", str(file)]

    def picked(name):
        return not options.text or any(text in name for text in options.text)

    result = json.loads(options.earlier.read_text(encoding="utf-8")) if options.earlier else {}
    means = []
    print(f"{'public set':34} {'rows':>4}  {'mean':>6}  {'largest':>8} {UP}")
    for public in sets.ALL if sets.SHARED.is_dir() else ():
        if not picked(public.name):
            continue
        if not (ROOT / "configs/clusters" / (public.cluster + ".yaml")).exists():
            print(f"{public.name:34} no cluster {public.cluster}")
            continue
        rows = public.rows_to_score()
        points = predict(options.program, public, rows, with_profile(public.gpu))
        errors = [100 * point["relative_error"] for point in points]
        large = [(abs(error), error, point) for error, point in zip(errors, points) if point["bytes"] >= MIB]
        mean = statistics.fmean(map(abs, errors))
        worst = max(large, key=lambda each: each[0]) if large else None
        said = f"{worst[1]:+7.1f} % {size(worst[2]['bytes'])}" if worst else "-"
        print(f"{public.name:34} {len(errors):4}  {mean:4.1f} %  {said:22} {'fitted' if public.fit == 'all' else ''}".rstrip(), flush=True)
        result[public.name] = {"mean": mean, "worst": worst[1] if worst else None, "fitted": public.fit == "all",
                               "errors": [[point["bytes"], error] for point, error in zip(points, errors)]}
        if public.fit != "all" and public.nodes == 1:
            means.append(mean)
        if options.points:
            print_points(points)
    if means:
        print(f"{'mean of single nodes, not fitted':34} {len(means):4}  {statistics.fmean(means):4.1f} %  largest {max(means):.1f} %")

    print(f"\n{'logs of our own':34} {'rows':>4}  {'median':>6}  {'95 %':>6}  from 4 MiB")
    for name, (cluster, pattern) in LOGS.items():
        if not picked(name):
            continue
        files = [file for file in sorted(ROOT.glob(pattern)) if not file.name.startswith("info_")]
        if pattern.startswith(".."):
            files = [file for file in [ROOT / pattern] if file.exists()]
        if not files:
            continue
        gpu = "h100_sxm" if cluster.startswith("h100") else "h200_sxm"
        with tempfile.TemporaryDirectory() as folder:
            files = [collectives_of(file, pathlib.Path(folder), options.every) for file in files]
            points = validate(options.program, ROOT / "configs/clusters" / (cluster + ".yaml"), files, with_profile(gpu))
        fitted = {point["file"] for point in points if point["training"]}
        points = [point for point in points if point["kind"] == "collective" and not point["in_place"] and point["bytes"] > 0
                  and point["excluded"] in (None, "")
                  and not (point["file"].endswith(".txt") and point["file"] in fitted)]
        errors = [100 * abs(point["relative_error"]) for point in points]
        large = [100 * abs(point["relative_error"]) for point in points if point["bytes"] >= 4 * MIB]
        print(f"{name:34} {len(errors):4}  {quantile(errors, 0.5):4.2f} %  {quantile(errors, 0.95):4.1f} %  {quantile(large, 0.5):4.2f} %",
              flush=True)
        kinds = sorted({point["collective"] for point in points})
        result[name] = {"median": quantile(errors, 0.5), "p95": quantile(errors, 0.95), "large": quantile(large, 0.5),
                        "mean": statistics.fmean(errors),
                        "kinds": {kind: [[point["bytes"], 100 * point["relative_error"], point["ranks"]] for point in points
                                         if point["collective"] == kind] for kind in kinds}}
        if options.points:
            print_points(points)
    if options.markdown or options.profiles:
        accuracy.add_borrowed(options.program, result, predict, overlay)
        rows = accuracy.rows_of(result, LOGS)
        if options.markdown:
            options.markdown.write_text(accuracy.page(rows, result), encoding="utf-8")
        if options.profiles:
            accuracy.write_profiles(rows)
    if options.json:
        options.json.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
