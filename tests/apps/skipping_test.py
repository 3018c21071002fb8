#!/usr/bin/env python3
"""Skipping (weft explain skipping): iterations that repeat others are not run, and every result is that of a run of all of them, to
the last digit. `simulation: {skip: false}` is the switch.

    skipping_test.py [--show] ROOT WEFT
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import folding_test
import patience

# What a run cost, and how it was asked for: no result.
COSTS = ("command_line", "configuration", "events", "transfers", "solves", "peak_live_transfers", "packet_hops", "wall_s",
         "peak_memory_bytes", "iterations_skipped")

CHECKPOINT = "  storage: {local: {write: 6 GB/s, read: 12 GB/s}, file_system: {write: 200 GB/s, read: 200 GB/s}}\n"
# A step of the folding test, iterations, more of the workload, and what of it is skipped: "some", "none", or either (None).
MORE = [
    (0, 30, CHECKPOINT + "  checkpoint: {to: local, every: 5, through: host, asynchronous: false}\n", "some"),
    (1, 30, CHECKPOINT + "  checkpoint: {to: local, every: 3, through: gpudirect}\n", "some"),
    (5, 30, CHECKPOINT + "  checkpoint: {to: file_system, every: 4, asynchronous: true}\n", "some"),
    (7, 40, CHECKPOINT + "  checkpoint: {to: file_system, asynchronous: true}\n  data_loading: {from: local, prefetch: true}\n", None),
    (12, 20, CHECKPOINT + "  checkpoint: {to: local, every: 2, restore: true, asynchronous: false}\n", "some"),
    (2, 12, "  jitter: {kernel: 0.02}\n", "none"),
    (3, 12, "  jitter: {kernel: 0.01, rank: 0.02}\n", "none"),
    (3, 12, "  jitter: {rank: 0.02}\n", "some"),
    (5, 12, "  jitter: {stragglers: [{rank: 3, slower: 1.1}]}\n", "some"),
    (2, 12, "  jitter: {stragglers: [{rank: 7, slower: 1.3}]}\n", "some"),
]


def text_of(root, case, iterations, skip, fold="true", more=""):
    text = folding_test.scenario(root, case, fold)
    simulation = f"simulation: {{iterations: {iterations}, fold: {fold}, skip: {skip}}}\n"
    return text.replace(f"simulation: {{iterations: 1, fold: {fold}}}\n", more + simulation)


def cases(root):
    """A name, the text without and with skipping, and what is skipped."""
    for i, case in enumerate(folding_test.CASES):
        what = f"{case[1]} nodes, {case[2]}"
        # Few iterations and many; every rank for itself only where they are few.
        for iterations, fold in ((7 + i, "true"), (6, "false")) if case[1] == 1 else ((7 + i, "true"),):
            yield (f"{what}, {iterations} iterations, fold {fold}",
                   *(text_of(root, case, iterations, skip, fold) for skip in ("false", "true")), None)
    for at, iterations, more, skipped in MORE:
        yield (f"{folding_test.CASES[at][2]}, {iterations} iterations, {more.split(chr(10))[-2].strip()}",
               *(text_of(root, folding_test.CASES[at], iterations, skip, "true", more) for skip in ("false", "true")), skipped)
    # Too few to leave any out, and as many as a scenario may ask for.
    for iterations, skipped in ((1, "none"), (2, "none"), (4, "none"), (5, "some"), (1000, "some")):
        case = folding_test.CASES[0]
        yield (f"{iterations} iterations", *(text_of(root, case, iterations, skip) for skip in ("false", "true")), skipped)


def replays(root):
    folder = root / "tests/data/traces"
    for name in ("ddp", "ep4", "small"):
        yield name, ["replay", *sorted(folder.glob(f"{name}*")), "--cluster", root / "configs/clusters/h200x4.yaml", "--repeat", "9"]


def result_of(program, arguments):
    done = subprocess.run([program, *arguments, "--quiet", "--json", "-"], capture_output=True, text=True, timeout=patience.seconds(600), check=False)
    assert done.returncode == 0, f"{arguments}\nexit {done.returncode}\n{done.stderr}"
    return json.loads(done.stdout)


def difference(whole, short):
    keys = [key for key in sorted(set(whole) | set(short)) if key not in COSTS and whole.get(key) != short.get(key)]
    return ", ".join(keys)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--show"]
    root, program = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    wrong, compared, shorter = [], 0, 0

    def compare(what, whole, short, expected):
        nonlocal compared, shorter
        skipped = short["iterations_skipped"]
        compared, shorter = compared + 1, shorter + (skipped > 0)
        if "--show" in sys.argv:
            print(f"{what}: {skipped} of {len(short['iterations_ns'])} skipped, {short['events']} of {whole['events']} events", flush=True)
        if whole["iterations_skipped"] != 0 or len(whole["iterations_ns"]) != len(short["iterations_ns"]):
            wrong.append(f"{what}: not all iterations")
        if different := difference(whole, short):
            wrong.append(f"{what}: not the same {different}")
        if expected and (skipped > 0) != (expected == "some"):
            wrong.append(f"{what}: {skipped} skipped, expected {expected}")

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "scenario.yaml"
        for what, *texts, expected in cases(root):
            results = []
            for text in texts:
                path.write_text(text, encoding="utf-8")
                results.append(result_of(program, ["run", path]))
            compare(what, *results, expected)
        for what, command in replays(root):
            compare(f"replay of {what}", *(result_of(program, [*command, *more]) for more in (["--no-skip"], [])), None)
    # A test of skipping in which little is skipped would say little.
    assert shorter >= compared // 2, f"only {shorter} of {compared} runs skip"
    assert not wrong, "\n".join(wrong)
    print(f"{compared} runs, {shorter} of which skip iterations: the same results")


if __name__ == "__main__":
    main()
