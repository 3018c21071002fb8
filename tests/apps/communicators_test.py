#!/usr/bin/env python3
"""What weft calibrate takes a run and a communicator to be off by is what validate/communicators.py finds in the measured runs of two
GPUs; and the script finds what was put into runs made up.

    communicators_test.py ROOT
"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"^(communicators of a run|runs): +standard deviation ([0-9.]+) us", re.M)


def deviations(root, groups):
    arguments = [argument for group in groups for argument in ("--", *group)][1:]
    done = subprocess.run([sys.executable, root / "validate/communicators.py", *arguments], capture_output=True, text=True, check=True)
    found = {name: float(value) for name, value in LINE.findall(done.stdout)}
    return found["runs"], found["communicators of a run"]


def runs_of(root, gpus):
    folder = root / "validate/measured"
    runs = sorted(folder.glob(f"{gpus}_quick*.jsonl")) + sorted(folder.glob(f"{gpus}_full*.jsonl"))
    assert len(runs) >= 4, runs
    return runs


def check_constants(root):
    source = (root / "sim/measured/kinds/collective.cpp").read_text(encoding="utf-8")
    stated = [float(re.search(rf"{name} = ([0-9.]+);", source)[1]) for name in ("kRunSdUs", "kCommunicatorSdUs")]
    measured = deviations(root, [runs_of(root, "h100x2"), runs_of(root, "h200x2")])
    for of_source, of_data in zip(stated, measured):
        assert abs(of_source - of_data) <= 0.006, (stated, measured)


def check_known_offsets(root):
    """40 runs of four communicators, offset by 0.3 us and 0.1 us in the standard deviation, around times that differ."""
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for run in range(40):
            of_run = draw.gauss(0, 0.3)
            lines = []
            for communicator in range(1, 5):
                offset = of_run + draw.gauss(0, 0.1)
                for size in (1024, 4096, 16384):
                    record = {"kind": "collective", "launch": "graph", "algorithm": "Ring", "protocol": "LL", "collective": "all_reduce",
                              "bytes": size, "communicator": communicator, "median_us": 5 + size / 1e4 + offset}
                    lines.append(json.dumps(record))
            paths.append(pathlib.Path(folder, f"run{run}.jsonl"))
            paths[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
        of_runs, of_communicators = deviations(root, [paths])
    # The standard error of a standard deviation of n degrees of freedom is 1 / sqrt(2 n) of it: 11 and 6 %; twice that.
    assert abs(of_runs - 0.3) < 0.07 and abs(of_communicators - 0.1) < 0.013, (of_runs, of_communicators)


if __name__ == "__main__":
    check_constants(pathlib.Path(sys.argv[1]))
    check_known_offsets(pathlib.Path(sys.argv[1]))
