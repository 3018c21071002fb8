#!/usr/bin/env python3
"""Puts what sections of tools/long_checks.sh printed last into docs/reliability.md, between its two marks; other sections stay."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- long checks: begin -->\n```text\n", "```\n<!-- long checks: end -->\n"


def main():
    page = ROOT / "docs/reliability.md"
    head, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    block, _, tail = rest.partition(END)
    sections = dict(re.findall(r"^== (\w+)\n((?:(?!== ).*\n)*)", block, re.MULTILINE))
    for section in sys.argv[1:]:
        printed = (ROOT / "build/long_checks" / f"{section}.txt").read_text(encoding="utf-8")
        sections[section] = printed.partition("\n")[2]
    text = "".join(f"== {section}\n{printed}" for section, printed in sections.items())
    page.write_text(f"{head}{BEGIN}{text}{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
