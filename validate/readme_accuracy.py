#!/usr/bin/env python3
"""The README's table of accuracy: errors of predictions of what was not fitted.

    validate/readme_accuracy.py WEFT              fails where the README has another figure
    validate/readme_accuracy.py WEFT --update     writes the table

Predictions are made now, but for steps and loads that were predicted before they ran: there they are those that were committed. The two
pages of published results are read, as their own commands write them (minutes each).
"""
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
HEADER = "| compared with | error | tail |\n|---|---|---|\n"


def printed(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def found(pattern, text):
    match = re.search(pattern, text)
    assert match, (pattern, text[-1000:])
    return match.groups()


def logs_of_four(weft):
    text = printed(sys.executable, "validate/summary.py", weft)
    logs = len(re.findall(r"^\S+\.txt ", text, re.MULTILINE)) - len(re.findall(r"^\S+\.txt +fitted ", text, re.MULTILINE))
    median, tail, large = found(r"not fitted: \d+ rows, median ([\d.]+) %, 95th percentile ([\d.]+) %; from 4 MiB up median ([\d.]+) %", text)
    return (f"{logs} logs of nccl-tests on 4 H200, 8 B to 4 GiB", f"median {float(median):.1f} %, from 4 MiB up {float(large):.1f} %",
            f"95th percentile {float(tail):.1f} %")


def two_of_another_day(weft):
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "result.json")
        printed(weft, "validate", "-c", "h100x2", "validate/measured/h100x2_full_later.jsonl", "--json", result)
        points = json.loads(result.read_text(encoding="utf-8"))["points"]
    errors = sorted(100 * abs(point["relative_error"]) for point in points
                    if point["kind"] == "collective" and not point["excluded"] and not point["training"])
    return (f"{len(errors)} collectives on 2 H100 of another day", f"median {statistics.median(errors):.1f} %",
            f"95th percentile {errors[int(0.95 * len(errors))]:.1f} %")


def published_all_reduces(_):
    text = pathlib.Path(ROOT, "validate/published/all_reduce.md").read_text(encoding="utf-8")
    tables = len(re.findall(r"^\| \w+ \| \d+ \|", text, re.MULTILINE))
    median, worst = found(r"\| all \|[^|]*\|[^|]*\|[^|]*\|[^|]*\| ([\d.]+) \| ([\d.]+) \|", text)
    return f"[{tables} published tables of all-reduce](validate/published/all_reduce.md), from 4 MiB up", f"median {median} %", f"largest {worst} %"


def steps_of_four(_):
    text = printed(sys.executable, "validate/training/new_steps_predict.py", "--score", "validate/measured/h100x4_new_steps.json")
    steps, mean, largest = found(r"(\d+) steps: mean error ([\d.]+)%, largest ([\d.]+)%", text)
    return (f"[{steps} PyTorch steps on 4 H100](validate/measured/README.md), predicted before they ran", f"mean {mean} %",
            f"largest {largest} %")


def loads_of_a_loop(weft):
    def mean(gpu, figure):
        text = printed(sys.executable, "validate/serving/predict.py", weft, "--set", "fourth", "--score",
                       f"validate/serving/measured/{gpu}_fourth_loop.json")
        errors = [abs(float(each)) for each in re.findall(rf"^rate .*{figure}_p50_ms \S+ / \S+ (\S+) %", text, re.MULTILINE)]
        assert len(errors) == 6, text
        return f"{statistics.mean(errors):.1f} %"

    return ("[6 loads of continuous batching on 1 H200, and on 1 H100](validate/serving/README.md), predicted before they ran",
            f"TTFT {mean('h200', 'ttft')}, {mean('h100', 'ttft')}", f"TPOT {mean('h200', 'tpot')}, {mean('h100', 'tpot')}")


def published_steps():
    """Text and largest errors of results.md, of dense models and of mixtures, whose rows have a star."""
    text = pathlib.Path(ROOT, "validate/published/results.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [\d.]+[^|]* \| ([^|]*?)(\*?) \| [\d.]+ \| [\d.]+ \| ([-+][\d.]+)% \| \S", text, re.MULTILINE)
    return text, *([abs(float(error)) for _, star, error in rows if (star == "*") == is_mixture] for is_mixture in (False, True))


def published_dense(_):
    text, errors, _ = published_steps()
    (mean,) = found(r"\*\*mean over blocks, dense models\*\* \|[^*]*\*\*([\d.]+)%\*\*", text)
    return (f"[{len(errors)} published training results of dense models](validate/published/results.md)", f"mean over blocks {mean} %",
            f"largest {max(errors):.1f} %")


def published_mixtures(_):
    text, _, errors = published_steps()
    (mean,) = found(r"\*\*mean over rows, mixtures of experts\*\* \|[^*]*\*\*([\d.]+)%\*\*", text)
    return (f"[{len(errors)} of mixtures of experts](validate/published/results.md), mostly too fast", f"mean {mean} %",
            f"largest {max(errors):.1f} %")


ROWS = [logs_of_four, two_of_another_day, published_all_reduces, steps_of_four, loads_of_a_loop, published_dense, published_mixtures]


def main():
    weft = str(pathlib.Path(sys.argv[1]).resolve())
    rows = HEADER + "".join("| " + " | ".join(row(weft)) + " |\n" for row in ROWS)
    text = README.read_text(encoding="utf-8")
    (today,) = found(rf"({re.escape(HEADER)}(?:\|.*\n)+)", text)
    if "--update" in sys.argv[2:]:
        README.write_text(text.replace(today, rows), encoding="utf-8")
        return 0
    if today != rows:
        print(f"README.md has\n{today}and today is\n{rows}validate/readme_accuracy.py WEFT --update writes it")
    return int(today != rows)


if __name__ == "__main__":
    sys.exit(main())
