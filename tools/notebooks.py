#!/usr/bin/env python3
"""Executes the notebooks of notebooks/ in place and keeps their outputs; or checks that kept figures are what the module gives today.

    PYTHONPATH=build/python tools/notebooks.py [--check] [NOTEBOOK...]

Without --check it needs nbconvert and ipykernel (Debian: python3-nbconvert, python3-ipykernel, python3-matplotlib). With it, the code
cells run in this process without pictures, and what they print must be what is kept; that takes seconds.
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Anything(types.ModuleType):
    """Stands for pyplot where nothing is drawn: every name of it is a function that gives it again."""

    def __getattr__(self, name):
        return self if not name.startswith("__") else super().__getattribute__(name)

    def __call__(self, *_, **__):
        return self

    def __iter__(self):
        return iter((self, self))

    def __getitem__(self, _):
        return self

    def __setitem__(self, *_):
        pass


def execute(file):
    import nbformat
    from nbconvert.preprocessors import ExecutePreprocessor

    book = nbformat.read(file, as_version=4)
    ExecutePreprocessor(timeout=600, kernel_name="python3").preprocess(book, {"metadata": {"path": str(ROOT)}})
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # times of day
        if cell.cell_type == "code":  # printed text in one piece; warnings have paths of this machine, and results have them too
            printed = [one for one in cell.outputs if one.output_type == "stream" and one.name == "stdout"]
            for one in printed[1:]:
                printed[0].text += one.text
            cell.outputs = printed[:1] + [one for one in cell.outputs if one.output_type != "stream"]
    book.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(book, file)


def kept_text(cell):
    return "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream" and output["name"] == "stdout")


def check(file):
    """Complaints: cells that print something else than what is kept, or never ran."""
    sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = Anything("matplotlib.pyplot")
    names, found = {"__name__": "__main__"}, []
    for number, cell in enumerate(json.loads(file.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] != "code":
            continue
        printed = io.StringIO()
        code = "\n".join(line for line in "".join(cell["source"]).splitlines() if not line.startswith("%"))
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{file.name}, cell {number}", "exec"), names)
        if not cell["outputs"]:
            found.append(f"{file.name}, cell {number}: has no output; run tools/notebooks.py")
        if printed.getvalue() != kept_text(cell):
            found.append(f"{file.name}, cell {number}: prints\n{printed.getvalue()}but kept is\n{kept_text(cell)}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("notebooks", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    files = [file.resolve() for file in options.notebooks] or sorted((ROOT / "notebooks").glob("*.ipynb"))
    os.chdir(ROOT)
    complaints = []
    for file in files:
        if options.check:
            complaints += check(file)
        else:
            execute(file)
    print("\n".join(complaints) or f"{len(files)} notebooks {'are as kept' if options.check else 'executed'}")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
