"""Runs the examples of docs/python.md, in their order and in one session, from a folder that looks like a checkout.

    PYTHONPATH=BUILD/python page_test.py ROOT WEFT
"""

import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
PAGE = ROOT / "docs/python.md"


def examples(text):
    """(line number, code) of each block that opens with ```python."""
    return [(text.count("\n", 0, found.start()) + 2, found.group(1))
            for found in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def main():
    found = examples(PAGE.read_text(encoding="utf-8"))
    if len(found) < 5:
        sys.exit(f"{PAGE}: {len(found)} examples, expected 5 or more")
    names = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        for entry in ("configs", "tests"):
            (pathlib.Path(folder) / entry).symlink_to(ROOT / entry)
        os.chdir(folder)
        for line, code in found:
            exec(compile("\n" * (line - 1) + code, str(PAGE), "exec"), names)
        os.chdir(ROOT)
    print(f"{len(found)} examples run")


if __name__ == "__main__":
    main()
