#!/usr/bin/env python3
"""Properties that must hold between runs of `weft`, whatever the absolute numbers are (docs/invariants.md).

    invariants_test.py ROOT WEFT [--seed N] [--all] [--only NAME ...] [--times F]

Without --all a sample of fixed size is drawn from the seed, which is printed; the same seed compares the same things.
"""

import argparse
import concurrent.futures
import pathlib
import random
import sys
import tempfile

import errors
import exceptions
import open_faults
import domain as domains
import report
import runner
from properties import PROPERTIES

SEED = 20
SAMPLE_LIMITS, ALL_LIMITS = (32, 250_000, 256 << 20, 4 << 20), (72, 2_500_000, 8 << 30, 16 << 20)


def checked(case_property, domain, row):
    """(comparisons, refusal or nothing) of a row."""
    try:
        return list(case_property.check(domain.weft, domain, row)), None
    except errors.Refused as refusal:
        return [], str(refusal)


def run_rows(rows, case_property, domain, pool, wanted, tally):
    """Runs rows until `wanted` of them were not refused (None: all), in an order that does not depend on who is faster."""
    ran = 0
    while wanted is None or ran < wanted:
        batch = [row for row, _ in zip(rows, range(wanted - ran if wanted is not None else 64))]
        if not batch:
            return
        for row, future in [(row, pool.submit(checked, case_property, domain, row)) for row in batch]:
            try:
                comparisons, refusal = future.result()
            except errors.Broken as broken:
                tally.broken(case_property, row, str(broken))
                ran += 1
                continue
            if refusal is not None:
                tally.refused(case_property, row, refusal)
                continue
            ran += 1
            for comparison in comparisons:
                tally.add(case_property, comparison)


def run(weft, chosen, seed, everything, times, jobs, out):
    """All properties chosen; the tally of what they found."""
    domain = domains.Domain(weft, *(ALL_LIMITS if everything else SAMPLE_LIMITS))
    tally = report.Tally(weft, exceptions.EXCEPTIONS + open_faults.OPEN, out)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for each in chosen:
            rows = each.rows(domain, random.Random(f"{seed} {each.name}"), everything)
            run_rows(rows, each, domain, pool, None if everything else max(1, round(each.sample * times)), tally)
            tally.finish(each)
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root")
    parser.add_argument("weft")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--all", action="store_true", help="all pairs of values, in place of a sample")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[each.name for each in PROPERTIES])
    parser.add_argument("--times", type=float, default=1, metavar="F", help="F times as many rows as the sample has")
    parser.add_argument("--work", help="keep the files that commands name here")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    options = parser.parse_args()
    work = pathlib.Path(options.work or tempfile.mkdtemp(prefix="weft_invariants_")).resolve()
    weft = runner.Weft(pathlib.Path(options.weft).resolve(), pathlib.Path(options.root).resolve(), work)
    chosen = [each for each in PROPERTIES if not options.only or each.name in options.only]
    print(f"seed {options.seed}{', all pairs' if options.all else ''}; commands run in {weft.root}, their files are in {work}")
    tally = run(weft, chosen, options.seed, options.all, options.times, options.jobs, sys.stdout)
    tally.table()
    sys.exit(1 if tally.failed else 0)


if __name__ == "__main__":
    main()
