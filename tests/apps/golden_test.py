#!/usr/bin/env python3
"""Runs the commands of tests/golden/digests.txt and compares the digest each prints: the same on every compiler, optimisation level
and sanitizer that this test is run under. A change of a golden result says in its commit which and why.

    golden_test.py [--update] ROOT WEFT

Below each command stand the figures that it printed when its digest was written. They are not compared while the digest is right.
Where it is another, the test shows which of them changed. --update writes digests and figures anew.
"""
import difflib
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import patience

KEPT = "    "  # before a figure's line


def run(program, root, arguments):
    """The digest that a command prints, and its lines of figures: neither comments nor without a number."""
    done = subprocess.run([program, *shlex.split(arguments)], cwd=root, capture_output=True, text=True, timeout=patience.seconds(300), check=False)
    found = re.search(r"digest ([0-9a-f]{16})", done.stdout)
    if done.returncode != 0 or not found:
        raise AssertionError(f"weft {arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines() if not line.startswith("#")]
    return found.group(1), [line for line in lines if re.search(r"\d", line)]


def read(path):
    """[line without a command], or [digest, command, figures] of each entry."""
    entries = []
    for line in path.read_text().splitlines():
        if line.startswith(KEPT):
            entries[-1][2].append(line.strip())
        elif not line or line.startswith("#"):
            entries.append([line])
        else:
            entries.append([*line.split(maxsplit=1), []])
    return entries


def changes(kept, printed):
    """The figures that differ, the kept one before the printed one; a word where none does."""
    if not kept:
        return ["  no figures are kept; --update writes them"]
    lines = [f"  {line[0]} {line[2:]}" for line in difflib.ndiff(kept, printed) if line[0] in "-+"]
    return lines or ["  no printed figure differs"]


def check(root, program, update):
    path = pathlib.Path(root) / "tests/golden/digests.txt"
    entries, written, wrong = read(path), [], []
    for entry in entries:
        if len(entry) == 1:
            written += entry
            continue
        digest, command, kept = entry
        actual, printed = run(program, root, command)
        written += [f"{actual} {command}", *(KEPT + line for line in printed)]
        if actual != digest:
            wrong.append("\n".join([f"weft {command}: digest {actual}, golden {digest}", *changes(kept, printed)]))
    if update:
        path.write_text("\n".join(written) + "\n")
        return []
    return wrong


def self_test():
    """A program that prints what is kept, and then another digest and one other figure."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        program = root / "weft"
        path = root / "tests/golden/digests.txt"
        path.parent.mkdir(parents=True)

        def prints(figure, digest):
            program.write_text("#!/bin/sh\necho '# wall 1 s'\necho 'row  8  1.0'\n"
                               f"echo \"row 16 {figure}$1\"\necho '# digest 000000000000000{digest}'\n")
            program.chmod(0o755)

        path.write_text("# Digest and command.\n0000000000000001 a\n0000000000000001 b\n")
        prints(2, 1)
        assert check(root, program, update=False) == []
        check(root, program, update=True)
        assert path.read_text() == ("# Digest and command.\n0000000000000001 a\n    row 8 1.0\n    row 16 2a\n"
                                    "0000000000000001 b\n    row 8 1.0\n    row 16 2b\n"), path.read_text()
        assert check(root, program, update=False) == []
        prints(3, 2)
        assert check(root, program, update=False)[1] == (
            "weft b: digest 0000000000000002, golden 0000000000000001\n  - row 16 2b\n  + row 16 3b"), check(root, program, update=False)


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    root, program = [argument for argument in sys.argv[1:] if argument != "--update"]
    wrong = check(root, program, "--update" in sys.argv)
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
