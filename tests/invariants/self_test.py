#!/usr/bin/env python3
"""Every property can fail: a made-up program that holds all of them passes, and misses one at a time."""

import io
import pathlib
import random
import re
import sys
import tempfile

import comparison
import exceptions
import fake_weft
import invariants_test
import pairwise
import report
from properties import PROPERTIES

FEW = 12


def found(fault, chosen):
    """The tally of a made-up program with a fault."""
    with tempfile.TemporaryDirectory() as work:
        out = io.StringIO()
        tally = invariants_test.run(fake_weft.FakeWeft(pathlib.Path(work).resolve(), fault), chosen, 1, False, FEW / 20, 2, out)
        tally.table()
        return tally, out.getvalue()


def complaints_about_properties():
    tally, text = found(None, PROPERTIES)
    if tally.failed:
        yield f"nothing is wrong, and this is found:\n{text}"
    for each in PROPERTIES:
        tally, text = found(each.name, [each])
        if tally.rows[each.name]["failed"] == 0:
            yield f"{each.name}: its fault is not found:\n{text}"
        elif "weft " not in text:
            yield f"{each.name}: a failure names no command:\n{text}"


def complaints_about_rows():
    """All pairs that are allowed stand in some row, and none that is not."""
    factors = {"a": list(range(5)), "b": list(range(4)), "c": list(range(3)), "d": list(range(3))}
    rows = list(pairwise.cover(factors, lambda row: row["a"] != row["b"], random.Random(1)))
    have = set().union(*(pairwise.pairs_of(row) for row in rows))
    wanted = 20 + 15 + 15 + 12 + 12 + 9 - 4
    if len(have) != wanted or any(row["a"] == row["b"] for row in rows):
        yield f"pairs: {len(have)} of {wanted} in {len(rows)} rows"
    if len(rows) > 40:
        yield f"pairs: {len(rows)} rows; 20 would do"
    if rows != list(pairwise.cover(factors, lambda row: row["a"] != row["b"], random.Random(1))):
        yield "pairs: the same seed gives other rows"


def complaints_about_exceptions():
    made = [exceptions.Exception_("slow start", "one", {"cluster": ("a", "b")}, 0.05, "because")]
    of = comparison.Property("one", "", None, None, 1)
    with tempfile.TemporaryDirectory() as work:
        for cluster, difference, failed in (("a", 0.04, 0), ("a", 0.06, 1), ("c", 0.04, 1), ("c", 0.01, 0)):
            tally = report.Tally(fake_weft.FakeWeft(pathlib.Path(work)), made, io.StringIO())
            tally.add(of, comparison.Comparison(difference, 0.02, "", [["run", "x"]], {"cluster": cluster}))
            if tally.failed != failed:
                yield f"exceptions: {cluster} {difference}: {tally.failed} failed"
    if len(exceptions.EXCEPTIONS) >= 10 or any(each.bound > 0.1 or not each.reason for each in exceptions.EXCEPTIONS):
        yield "exceptions: fewer than ten, none over 10 %, each with its reason"


def complaints_about_nothing():
    """A property that compares nothing fails."""
    idle = comparison.Property("idle", "", lambda domain: {"cluster": list(domain.clusters)}, lambda weft, domain, row: [], 1,
                               lambda domain, row: True)
    tally, _ = found(None, [idle])
    if not tally.failed:
        yield "a property that compares nothing passes"


def complaints_about_mutations():
    """Each patch of mutations/ still finds in the sources what it changes."""
    here = pathlib.Path(__file__).resolve().parent
    for patch in sorted((here / "mutations").glob("*.patch")):
        text = patch.read_text(encoding="utf-8")
        source = here.parents[1] / re.search(r"(?m)^--- a/(.*)$", text).group(1)
        lines = source.read_text(encoding="utf-8") if source.is_file() else ""
        for hunk in re.split(r"(?m)^@@.*\n", text)[1:]:
            before = "".join(line[1:] for line in hunk.splitlines(keepends=True) if line[0] in " -")
            if before not in lines:
                yield f"mutations: {patch.name} does not apply to {source.name}"


def main():
    checks = [complaints_about_mutations, complaints_about_rows, complaints_about_exceptions, complaints_about_nothing, complaints_about_properties]
    complaints = [complaint for check in checks for complaint in check()]
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
