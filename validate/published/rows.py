#!/usr/bin/env python3
"""Published training results beside what Weft predicts: every row, the mean absolute error of each block, and their mean.

    validate/published/rows.py build/weft [TEXT...] [--json FILE] [--jobs N]
    validate/published/rows.py --write DIR [TEXT...]
    validate/published/rows.py --from FILE --errors sim/planning/published_errors.h

Rows are those of models/workloads §9 (blocks.py). TEXT picks blocks ("9.4") or parts of rows' names; `--set` changes all of them,
to see what a choice is worth. `--write` puts every row into DIR as a scenario of its own. One set of parameters per machine: a row names a cluster, a model, a plan and a batch, nothing else.
Errors are (predicted - published) / published in the unit that was published; a block counts once however many rows it has.
Mixtures of experts are apart: of them all rows count alike. `--errors` writes what weft states as the error of a step.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import blocks

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASES = ROOT / "configs/validation/published"
UNITS = {"seconds": "s", "tflops": "TFLOP/s", "mfu": "% MFU", "tokens": "tokens/s/GPU", "samples": "samples/s",
         "samples_per_gpu": "samples/s/GPU"}


def file_name(row):
    return re.sub(r"[^A-Za-z0-9.]+", "_", f"{row.block} {row.name}").strip("_") + ".yaml"


def scenario(row):
    """The text of the row's own scenario. JSON is YAML."""
    changes = dict(row.changes)
    if "cluster" in changes:
        changes["cluster"] = str((BASES / changes["cluster"]).resolve())
    if "profile" in changes.get("overrides", {}):
        changes["overrides"] = {**changes["overrides"], "profile": str((BASES / changes["overrides"]["profile"]).resolve())}
    lines = [f"# {row.block}, {row.name}: published {row.published:g} {UNITS[row.metric]} (models/workloads §9)",
             f"extends: {BASES / (row.base + '.yaml')}", f"name: {json.dumps(row.block + ' ' + row.name)}"]
    return "\n".join(lines + [f"{key}: {json.dumps(value)}" for key, value in changes.items()]) + "\n"


def gpt_flops(form, model, batch):
    """Of a step of GPT: the forms of Narayanan et al. (96, with full recomputation) and of Korthikanti et al. (72)."""
    h, layers, vocab = (int(model[key]) for key in ("hidden", "layers", "vocab"))
    s = int(batch["sequence"])
    head = {"72": 12, "96": 16}[form]
    return float(form) * int(batch["global"]) * s * layers * h * h * (1 + s / (6 * h) + vocab / (head * layers * h))


def predicted(row, result):
    """The row's metric from a result."""
    seconds = result["iteration_time_ns"] / 1e9
    workload = result["configuration"]["scenario"]["workload"]
    if row.metric == "seconds":
        return seconds
    if row.metric in ("tflops", "mfu"):
        tflops = result["model_tflops_per_gpu"]
        if row.formula != "weft":
            tflops = gpt_flops(row.formula, workload["model"], workload["batch"]) / seconds / result["gpus"] / 1e12
        return tflops if row.metric == "tflops" else 100 * tflops / row.peak
    if row.metric == "tokens":
        return result["tokens_per_second_per_gpu"]
    samples = int(workload["batch"]["global"]) / seconds
    return samples if row.metric == "samples" else samples / result["gpus"]


def run(weft, row, folder, sets=(), limit=None):
    """Predicted and the result; or the message of a refusal. `limit`: seconds."""
    file = pathlib.Path(folder) / file_name(row)
    file.write_text(scenario(row))
    command = [weft, "run", str(file), "--json", "-", "--quiet", *sets]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, f"not done after {limit:g} s"
    if done.returncode != 0:
        message = [line for line in done.stderr.splitlines() if "error" in line or "out of memory" in line]
        return None, (message or done.stderr.splitlines() or ["no message"])[0]
    result = json.loads(done.stdout)
    return predicted(row, result), result


def shares(result):
    """Where the step goes, in per cent of it: means over GPUs."""
    total = result["iteration_time_ns"]
    parts = {key: value for key, value in result["breakdown_ns"].items()
             if key in ("gemm", "attention", "other_compute", "optimizer", "bubble", "skew") or key.startswith("exposed_")}
    return " ".join(f"{key.replace('exposed_', '').replace('other_compute', 'other')} {100 * value / total:.0f}"
                    for key, value in parts.items() if value / total >= 0.005)


def is_mixture(result):
    """Whether the model of a result, or of a row's record, has experts."""
    if "mixture" in result:
        return result["mixture"]
    model = result["configuration"]["scenario"]["workload"]["model"]
    if isinstance(model, str):
        return re.search("^moe:", (ROOT / "configs/models" / f"{model}.yaml").read_text(), re.MULTILINE) is not None
    return "moe" in model


def mixture_errors(records):
    return [abs(record["error"]) for record in records if record["error"] is not None and is_mixture(record)]


def dense_only(records):
    return [record for record in records if record["error"] is not None and not is_mixture(record)]


def stated_errors(records):
    """(mean, worst) of dense models over blocks, and of mixtures over rows."""
    dense = dense_only(records)
    mixtures = mixture_errors(records)
    return ((statistics.mean(block_errors(dense).values()), max(abs(r["error"]) for r in dense)),
            (statistics.mean(mixtures), max(mixtures)))


def write_errors(file, records):
    """Puts the figures of stated_errors into the header, rounded up to whole per cent."""
    text = file.read_text()
    for name, (mean, worst) in zip(("kPublishedDense", "kPublishedMixtures"), stated_errors(records)):
        up = [math.ceil(100 * round(error, 3)) / 100 for error in (mean, worst)]
        text, count = re.subn(rf"{name}{{[^}}]*}}", f"{name}{{.mean = {up[0]:.2f}, .worst = {up[1]:.2f}}}", text)
        assert count == 1, name
    file.write_text(text)


def block_errors(records):
    """Mean absolute error by block, over the rows that ran."""
    by_block = {}
    for record in records:
        if record["error"] is not None:
            by_block.setdefault(record["block"].split()[0], []).append(abs(record["error"]))
    return {block: statistics.mean(errors) for block, errors in by_block.items()}


def print_row(record):
    if record["error"] is None:
        print(f"{record['block']:14} {record['name']:36} {record['published']:10.2f} {'-':>10} {'-':>8}  {record['message']}")
    else:
        memory = ""
        if "memory_error" in record:
            memory = f"  {record['memory_published']:.1f} GB, predicted {record['memory_predicted']:.1f}, {record['memory_error']:+.1%};"
        print(f"{record['block']:14} {record['name']:36} {record['published']:10.2f} {record['predicted']:10.2f} "
              f"{record['error']:+8.1%}  {record['unit']:14}{memory} {record['shares']}")
    sys.stdout.flush()


def memory_errors(records):
    """Errors of memory by block, of rows for which it was printed."""
    by_block = {}
    for record in records:
        if "memory_error" in record:
            by_block.setdefault(record["block"].split()[0], []).append(record["memory_error"])
    return by_block


def print_summary(records):
    errors = block_errors(records)
    print(f"\n{'block':14} {'rows':>5} {'ran':>5} {'mean |error|':>13} {'largest':>9}")
    for block, error in errors.items():
        ran = [abs(r["error"]) for r in of_block(records, block) if r["error"] is not None]
        print(f"{block:14} {len(of_block(records, block)):5} {len(ran):5} {error:13.1%} {max(ran):9.1%}")
    if dense_only(records):
        print(f"mean over blocks, dense models {statistics.mean(block_errors(dense_only(records)).values()):.1%}")
    if mixture_errors(records):
        print(f"mean over rows, mixtures of experts {statistics.mean(mixture_errors(records)):.1%}")
    for block, found in memory_errors(records).items():
        print(f"memory, {block}: {len(found)} rows, mean |error| {statistics.mean(map(abs, found)):.1%}, "
              f"from {min(found):+.1%} to {max(found):+.1%}")
    for name, reason in blocks.NOT_EXPRESSED.items():
        print(f"not expressed: {name}: {reason}")
    for name, reason in blocks.OFF.items():
        print(f"off: {name}: {reason}")


def of_block(records, block):
    return [record for record in records if record["block"].split()[0] == block]


def markdown(records):
    """The whole as a page: blocks, why rows are off, rows."""
    errors = block_errors(records)
    lines = ["# Published training results beside what Weft predicts", "",
             "Written by `validate/published/rows.py build/weft --markdown validate/published/results.md`; the rows are those of `blocks.py`.",
             "An error is (predicted - published) / published in the unit that was published. A block counts once in the mean.", "",
             "| block | rows | ran | mean absolute error | largest |", "| --- | ---: | ---: | ---: | ---: |"]
    for block, error in errors.items():
        ran = [abs(r["error"]) for r in of_block(records, block) if r["error"] is not None]
        lines.append(f"| {block} | {len(of_block(records, block))} | {len(ran)} | {error:.1%} | {max(ran):.1%} |")
    if dense_only(records):
        mean = statistics.mean(block_errors(dense_only(records)).values())
        lines.append(f"| **mean over blocks, dense models** | | | **{mean:.1%}** | |")
    if mixture_errors(records):
        count = len(mixture_errors(records))
        lines.append(f"| **mean over rows, mixtures of experts** | {count} | {count} | **{statistics.mean(mixture_errors(records)):.1%}** "
                     f"| {max(mixture_errors(records)):.1%} |")
    if memory_errors(records):
        lines += ["", "## Memory", "", "GB of the rank that holds most, of rows for which it was printed. torchtitan prints what PyTorch's "
                  "allocator has reserved.", "", "| block | row | published | predicted | error |", "| --- | --- | ---: | ---: | ---: |"]
        lines += [f"| {r['block']} | {r['name']} | {r['memory_published']:.1f} | {r['memory_predicted']:.1f} | {r['memory_error']:+.1%} |"
                  for r in records if "memory_error" in r]
        for block, found in memory_errors(records).items():
            lines.append(f"| **{block}, mean** | | | | **{statistics.mean(map(abs, found)):.1%}** |")
    lines += ["", "## Which rows are off, and why", ""]
    lines += [f"- **{name}**: {reason}." for name, reason in blocks.OFF.items()]
    lines += ["", "Not expressed:", ""] + [f"- **{name}**: {reason}." for name, reason in blocks.NOT_EXPRESSED.items()]
    lines += ["", "## Rows", "", "Parts of the step in per cent of it, means over GPUs. Rows of mixtures of experts are marked *.", "",
              "| block | row | published | predicted | error | unit | parts |", "| --- | --- | ---: | ---: | ---: | --- | --- |"]
    for r in records:
        if r["error"] is None:
            lines.append(f"| {r['block']} | {r['name']} | {r['published']:.2f} | | | {r['unit']} | {r['message']} |")
        else:
            mark = "*" if is_mixture(r) else ""
            lines.append(f"| {r['block']} | {r['name']}{mark} | {r['published']:.2f} | {r['predicted']:.2f} | {r['error']:+.1%} | {r['unit']} "
                         f"| {r['shares']} |")
    return "\n".join(lines) + "\n"



def chosen(rows, texts):
    def matches(row, text):
        return row.block == text or row.block.split()[0] == text or text in f"{row.block} {row.name}" and not re.fullmatch(r"[0-9.]+", text)
    return [row for row in rows if not texts or any(matches(row, text) for text in texts)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weft", nargs="?")
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--write", metavar="DIR")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--markdown", metavar="FILE", help="a page of all of it")
    parser.add_argument("--errors", metavar="FILE", help="the header of stated errors: written anew")
    parser.add_argument("--from", dest="source", metavar="FILE", help="results of --json in place of runs; several times", action="append")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="of a row")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="of every row's scenario, as of weft")
    options = parser.parse_intermixed_args()
    if options.write:
        folder = pathlib.Path(options.write)
        folder.mkdir(parents=True, exist_ok=True)
        for row in chosen(blocks.all_rows(), ([options.weft] if options.weft else []) + options.texts):
            (folder / file_name(row)).write_text(scenario(row))
        return 0
    if options.source:
        records = [record for file in options.source for record in json.loads(pathlib.Path(file).read_text())]
        print_summary(records)
        if options.markdown:
            pathlib.Path(options.markdown).write_text(markdown(records))
        if options.errors:
            write_errors(pathlib.Path(options.errors), records)
        return 0
    if not options.weft:
        parser.error("which weft?")
    rows = chosen(blocks.all_rows(), options.texts)
    print(f"{'block':14} {'row':36} {'published':>10} {'predicted':>10} {'error':>8}  unit, and per cent of the step by part")
    records = []
    sets = [text for pair in options.set for text in ("--set", pair)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row, (value, result) in zip(rows, pool.map(lambda row: run(options.weft, row, folder, sets, options.limit), rows)):
            record = {"block": row.block, "name": row.name, "unit": UNITS[row.metric], "published": row.published,
                      "predicted": value, "error": None if value is None else value / row.published - 1}
            if value is None:
                record["message"] = result
            else:
                record.update(mixture=is_mixture(result), shares=shares(result), breakdown_ns=result["breakdown_ns"],
                              iteration_ns=result["iteration_time_ns"], wall_s=result["wall_s"],
                              peak_bytes=result["memory_per_gpu_bytes"]["total"])
                if row.memory is not None:
                    # Sources print what PyTorch's allocator had reserved; it stands beside the total where it differs.
                    memory = result["memory_per_gpu_bytes"]
                    gigabytes = memory.get("reserved", memory["total"]) / 1e9
                    record.update(memory_published=row.memory, memory_predicted=gigabytes, memory_error=gigabytes / row.memory - 1)
            records.append(record)
            print_row(record)
    print_summary(records)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(records, indent=1) + "\n")
    if options.markdown:
        pathlib.Path(options.markdown).write_text(markdown(records))
    if options.errors:
        write_errors(pathlib.Path(options.errors), records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
