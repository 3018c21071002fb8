#!/usr/bin/env python3
"""Figures that pages show below a command are those that the command prints today.

    docs_figures_test.py ROOT WEFT              fails where a page is older than the program's result
    docs_figures_test.py ROOT WEFT --update     writes today's figures into the pages

A block of text in PAGES that begins with "$ weft" holds commands, each with the lines of its output that begin with one of the
words behind its "#":

    $ weft goodput configs/goodput/young_k32.yaml  # useful|restarts
    useful            87.94 %  +- 0.03 %  (Daly 87.96 %, Young 87.58 %)
    restarts          5.27 %  (600 s each: detection 600 s, schedule 0 s, load 0 s, warm-up 0 s)
"""
import pathlib
import re
import shlex
import subprocess
import sys

PAGES = ["docs/goodput.md", "docs/plan.md", "docs/serving.md", "docs/validation.md"]
BLOCK = re.compile(r"^```text\n(\$ weft .*?)^```$", re.MULTILINE | re.DOTALL)


def printed(root, weft, command):
    words, shown = command.removeprefix("$ weft ").rsplit("#", 1)
    run = subprocess.run([weft, *shlex.split(words)], cwd=root, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), (command, run.returncode, run.stderr)
    starts = re.compile(rf"[ #]*(?:{shown.strip()})")
    lines = [line.rstrip() for line in run.stdout.splitlines() if starts.match(line)]
    assert lines, f"nothing of the output begins with {shown.strip()!r}: {command}"
    return lines


def of_today(root, weft, block):
    lines = []
    for command in (line for line in block.splitlines() if line.startswith("$ weft ")):
        lines += [command, *printed(root, weft, command)]
    return "\n".join(lines) + "\n"


def main():
    root, weft = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
    updates = "--update" in sys.argv[3:]
    wrong = []
    for page in PAGES:
        path = pathlib.Path(root, page)
        text = path.read_text(encoding="utf-8")
        blocks = BLOCK.findall(text)
        assert blocks, f"{page} has no block that begins with '$ weft'"
        for block in blocks:
            today = of_today(root, weft, block)
            if today == block:
                continue
            if updates:
                text = text.replace(block, today)
                path.write_text(text, encoding="utf-8")
            else:
                wrong.append(f"{page} has\n{block}and the program prints\n{today}")
    assert not wrong, "\n".join([*wrong, "docs_figures_test.py ROOT WEFT --update writes today's"])


if __name__ == "__main__":
    main()
