#!/usr/bin/env python3
"""The scripts under validate/papers run, at their smallest, and print what they promise; figures are theirs to judge.

    papers_test.py ROOT WEFT
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import patience


def script(root, name, *arguments, statuses=(0,)):
    command = [sys.executable, str(root / "validate/papers" / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience.seconds(300), check=False)
    assert done.returncode in statuses, f"{name}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def main():
    root, program = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    sys.path.insert(0, str(root / "validate/papers"))
    import runs  # pylint: disable=import-outside-toplevel

    assert runs.percentile([3, 1, 2], 0.5) == 2 and runs.percentile([1, 2], 0.99) == 2 and runs.percentile([7], 0.01) == 7
    assert runs.agrees(10, 20) and runs.agrees(10, 5) and not runs.agrees(10, 20.1) and not runs.agrees(10, 4.9)
    with tempfile.TemporaryDirectory() as folder:
        # One choice of ECMP, and short times, need not show what the median of many does: 1 is as good as 0 here.
        fair = script(root, "dcqcn.py", program, "--seeds", 1, "--out", folder, statuses=(0, 1))
        assert "PFC only: sender beside the receiver" in fair, fair
        result = json.loads((pathlib.Path(folder) / "dcqcn.json").read_text(encoding="utf-8"))
        assert [len(result["victim"][control]) for control in ("PFC", "DCQCN")] == [3, 3], result
        queues = script(root, "hpcc.py", program, "--milliseconds", 1, "--out", folder, statuses=(0, 1))
        assert "HPCC: no pauses (0): yes" in queues, queues
    table = script(root, "congestion_compare.py", program, "--seeds", 1, "--bytes", "1 MiB", "--markdown")
    assert [line.split("|")[1].strip() for line in table.splitlines()[3:]] == ["PFC only", "DCQCN", "HPCC", "IB credits"], table
    print("3 scripts")


if __name__ == "__main__":
    main()
