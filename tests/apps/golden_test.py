#!/usr/bin/env python3
"""Runs the lines of tests/golden/digests.txt and compares the digest each prints: the same on every compiler, optimisation level
and sanitizer that this test is run under. A change of a golden result says in its commit which and why.

    golden_test.py [--update] ROOT WEFT
"""
import pathlib
import re
import shlex
import subprocess
import sys

import patience


def digest_of(program, root, arguments):
    done = subprocess.run([program, *shlex.split(arguments)], cwd=root, capture_output=True, text=True, timeout=patience.seconds(300), check=False)
    found = re.search(r"digest ([0-9a-f]{16})", done.stdout)
    if done.returncode != 0 or not found:
        raise AssertionError(f"weft {arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return found.group(1)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--update"]
    root, program = pathlib.Path(arguments[0]), arguments[1]
    path = root / "tests/golden/digests.txt"
    lines, wrong = [], []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            lines.append(line)
            continue
        expected, command = line.split(maxsplit=1)
        actual = digest_of(program, root, command)
        lines.append(f"{actual} {command}")
        if actual != expected:
            wrong.append(f"weft {command}: digest {actual}, golden {expected}")
    if "--update" in sys.argv:
        path.write_text("\n".join(lines) + "\n")
    elif wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
