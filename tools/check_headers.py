#!/usr/bin/env python3
"""Compiles every header of sim/ alone, as a preset with CMAKE_VERIFY_INTERFACE_HEADER_SETS does, in a third of its time.

    tools/check_headers.py [--compiler clang++-19] [--jobs N] [--and-includers] [HEADER...]

Most of such a compilation reads what the header includes. So a few headers that many include are compiled to precompiled ones, and
every other is read after one of those, but only after one that it includes itself: nothing is there that it does not ask for.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRECOMPILED = 16
# Bytes that a header of the standard library or of another project stands for, beside the size of our own.
FOREIGN = 30_000


def includes(names):
    """Of every header, what it includes directly: our own headers by name, others in angle brackets."""
    found = {}
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        found[name] = set(re.findall(r'(?m)^#include (?:"(sim/[^"]+)"|(<[^>]+>))', text))
        found[name] = {own or other for own, other in found[name]}
    return found


def closures(direct):
    """Of every header, all that it includes, itself too."""
    known = {}

    def closure(name):
        if name not in known:
            known[name] = {name}  # ends a circle of includes
            for included in direct.get(name, ()):
                known[name] |= closure(included)
        return known[name]

    return {name: closure(name) for name in direct}


def chosen(closure):
    """The headers whose precompiled form saves most, one after the other."""
    cost = {name: sum((ROOT / each).stat().st_size if each in closure else FOREIGN for each in closure[name]) for name in closure}
    saved = dict.fromkeys(closure, 0)
    picked = []
    for _ in range(PRECOMPILED):
        gain = {h: sum(max(0, cost[h] - saved[name]) for name in closure if h in closure[name]) - 2 * cost[h] for h in closure}
        best = max(gain, key=lambda h: (gain[h], h))
        if gain[best] <= 0:
            break
        picked.append(best)
        for name in closure:
            if best in closure[name]:
                saved[name] = max(saved[name], cost[best])
    return {name: max((h for h in picked if h in closure[name] and h != name), key=lambda h: cost[h], default=None) for name in closure}, picked


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default=shutil.which("clang++-19") or shutil.which("clang++") or "c++")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--and-includers", action="store_true", help="also the headers that include one of those named directly")
    parser.add_argument("headers", nargs="*", help="all, if none is named")
    options = parser.parse_args()
    names = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("sim/**/*.h"))
    direct = includes(names)
    wanted = options.headers or names
    if options.and_includers:
        named = set(wanted)
        wanted = [name for name in names if name in named or direct[name] & named]
    closure = closures(direct)
    base_of, picked = chosen({name: closure[name] for name in wanted})
    if "clang" not in options.compiler:
        picked = []  # of other compilers precompiled headers are made otherwise
    flags = [options.compiler, "-std=c++20", "-Wall", "-Wextra", "-Wno-pragma-once-outside-header", "-Werror", "-x"]

    def compile_one(name, *more):
        return subprocess.run([*flags, *more], cwd=ROOT, input=f'#include "{name}"\n', text=True, capture_output=True, check=False)

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        place = {name: os.path.join(folder, name.replace("/", "+") + ".pch") for name in picked}
        made = pool.map(lambda name: compile_one(name, "c++-header", "-I.", "-", "-o", place[name]), picked)
        place = {name: place[name] for name, result in zip(picked, made) if result.returncode == 0}

        def check(name):
            base = base_of[name]
            after = ["-include-pch", place[base]] if base in place else []
            return compile_one(name, "c++", "-I.", *after, "-fsyntax-only", "-")

        failed = 0
        for name, result in zip(wanted, pool.map(check, wanted)):
            if result.returncode != 0:
                failed += 1
                print(f"{name} does not compile alone:\n{result.stderr}", file=sys.stderr)
    print(f"headers: {len(wanted)} compiled alone, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
