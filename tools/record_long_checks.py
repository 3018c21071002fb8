#!/usr/bin/env python3
"""Puts what sections of tools/long_checks.sh printed last into docs/reliability.md, between its two marks."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- long checks: begin -->\n", "<!-- long checks: end -->\n"


def main():
    printed = [(ROOT / "build/long_checks" / f"{section}.txt").read_text(encoding="utf-8") for section in sys.argv[1:]]
    page = ROOT / "docs/reliability.md"
    head, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    page.write_text(f"{head}{BEGIN}```text\n{''.join(printed)}```\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
