"""Gives mutated inputs to the program itself, as a user would: scenarios, clusters, nodes, topologies, logs, results, traces and
databases of sweeps.

    python3 tests/fuzz/mutate_inputs.py ROOT PROGRAM --inputs 200            # the same ones each time
    python3 tests/fuzz/mutate_inputs.py ROOT PROGRAM --seconds 3600 --seed 7

Whatever the input says, the program ends by itself with status 0, 1 or 2, in little time and memory, writes its result whole or
not at all, and nothing that a terminal obeys. Inputs that break this are kept in --keep, with the command.
"""

import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SECONDS = 20
SIMULATES = ("run", "collective", "sweep")
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")
PIECES = [b"-1", b"0", b"9223372036854775807", b"9223372036854775808", b"4611686018427387904", b"1e308", b"nan", b"inf", b"1 ps",
          b"106 d", b"54 d", b"1 b/s", b"1 Tb/s", b"4096 PiB", b"1 B", b"null", b"true", b"[]", b"{}", b"\"", b"'", b"\n", b"\t", b"\x00",
          b"\x1b[2J", b"\xc2\x9b", b"\xff", b"\xef\xbb\xbf", b"\\x1b", b"999999999", b"*", b"&a ", b": ", b"- ", b", ", b"<", b">", b"|"]
UPWARDS = re.compile(rb"(?:\.\./)+(?=(?:clusters|models|profiles|nodes|scenarios|prices|rates)/)")
NUMBER = re.compile(rb"\d+(?:\.\d+)?")


def kinds(root):
    """(name, seeds, arguments) of each kind of input; IN is the input, OUT a file for the result."""
    configs, data = root / "configs", root / "tests/data"
    corpus = root / "tests/fuzz/corpus"
    errors = root / "tests/apps/errors"
    h200 = str(configs / "clusters/h200x4.yaml")
    found = [
        ("scenario", [*(configs / "scenarios").glob("*.yaml"), *(configs / "scenarios/training").glob("*.yaml"),
                      *(errors / "parts").rglob("*.yaml"), *(data / "scenarios").rglob("*.yaml")],
         ["run", "IN.yaml", "--json", "OUT", "--memory", "1 GiB"]),
        ("check", [*(configs / "scenarios").rglob("*.yaml"), *errors.glob("*.yaml"), *(configs / "nodes").glob("*.yaml"),
                   *(configs / "clusters").glob("*.yaml"), *(configs / "models").glob("*.yaml")], ["check", "IN.yaml"]),
        ("cluster", [*(configs / "clusters").glob("*.yaml")],
         ["collective", "all_reduce", "-c", "IN.yaml", "-b", "1M", "-e", "1M", "--json", "OUT", "--memory", "1 GiB"]),
        ("topo", [*(configs / "clusters").glob("*.yaml"), *(configs / "nodes").glob("*.yaml")], ["topo", "IN.yaml", "--graphml", "OUT"]),
        ("import", [*(data / "topologies").rglob("*.xml"), *errors.glob("*.xml")], ["topo", "import", "IN.xml", "--json", "OUT"]),
        ("channels", [*(data / "topologies").rglob("*.xml")], ["explain", "channels", "--topo-xml", "IN.xml", "--nccl", "version=2.28"]),
        ("matrix", [*errors.glob("*.topo"), *(data / "topologies").rglob("*.txt")], ["topo", "import", "IN.topo", "--json", "OUT"]),
        ("log", [*errors.glob("*.txt"), *(data / "broken_logs").glob("*"), *(data / "h200x4").rglob("*.txt")],
         ["validate", "-c", h200, "IN.txt", "--json", "OUT"]),
        ("result", [], ["report", "IN.json", "--markdown", "OUT"]),
        ("trace", [path for path in corpus.glob("*/*") if path.is_file()], ["trace", "info", "IN", "--json", "OUT"]),
        ("sweep", [], ["sweep", "sweep.yaml", "--db", "IN.sqlite", "--export", "csv", "--to", "OUT"]),
    ]
    return [(name, sorted(path for path in seeds if path.is_file() and path.stat().st_size < 1 << 20), arguments)
            for name, seeds, arguments in found]


def made_seeds(program, folder):
    """Seeds that only the program can make: a result and a database of a sweep."""
    (folder / "run.yaml").write_text("""cluster:
  nodes: 2
  node: {type: host}
  fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s}}
workload: {flows: [{from: h0, to: h1, bytes: 1 MB}]}
""", encoding="utf-8")
    (folder / "sweep.yaml").write_text("scenario: run.yaml\ngrid: {simulation.seed: [1, 2, 3]}\n", encoding="utf-8")
    subprocess.run([program, "run", "run.yaml", "--json", "result.json", "-q"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program, "sweep", "sweep.yaml", "--db", "seed.sqlite", "-q"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return {"result": [folder / "result.json"], "sweep": [folder / "seed.sqlite"]}


def mutated(data, chance):
    data = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        at = chance.randrange(len(data) + 1)
        length = chance.randrange(1, 65)
        kind = chance.randrange(8)
        if kind == 0 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 1 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del data[at:at + length]
        elif kind == 3:
            data[at:at] = data[at:at + length]
        elif kind == 4:
            data[at:at] = chance.choice(PIECES)
        elif kind == 5 and chance.randrange(8) == 0:
            del data[at:]
        else:  # another number where one is, which stays well-formed
            numbers = list(NUMBER.finditer(data))
            if numbers:
                place = chance.choice(numbers)
                data[place.start():place.end()] = chance.choice(PIECES[:8])
    return bytes(data)


def complaint(program, arguments, folder, out):
    """What is wrong with how the command ended; empty: nothing. Beside it, its status."""
    process = subprocess.Popen([program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
    try:
        stdout, stderr = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        # A number may ask for a long simulation, which is no fault; but it ends when it is told to.
        process.terminate()
        try:
            process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return f"does not end {SECONDS} s after SIGTERM", None
        may_last = arguments[0] in SIMULATES and process.returncode in (130, -signal.SIGTERM)
        return "" if may_last else f"not done after {SECONDS} s", process.returncode
    status = process.returncode
    if status not in (0, 1, 2):
        return f"status {status}: {stderr[-400:]!r}", status
    if status == 2 and not stderr:
        return "refused without a word", status
    found = CONTROL.search(stdout) or CONTROL.search(stderr)
    if found:
        return f"writes {found.group()!r}", status
    left = [path.name for path in folder.iterdir() if path.name.startswith(".weft-")]
    if left:
        return f"leaves {left}", status
    if status == 2 and out.exists():
        return "refuses, and leaves a result", status
    if status != 2 and "--json" in arguments:
        try:
            json.loads(out.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            return f"its result is no JSON: {error}", status
    return "", status


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tried(options, known, share):
    """Numbers of one process out of --jobs: how many inputs of each kind ended how, what failed, and the processor time."""
    root, program = options.root.resolve(), str(options.program.resolve())
    counts, failures = collections.Counter(), []
    begin, used_before = time.monotonic(), children_seconds()
    with tempfile.TemporaryDirectory() as scratch:
        seeds_folder = pathlib.Path(scratch) / "seeds"
        seeds_folder.mkdir()
        made = made_seeds(program, seeds_folder)
        for number in range(share, options.inputs or sys.maxsize, options.jobs):
            if options.seconds and time.monotonic() - begin > options.seconds:
                break
            for name, seeds, arguments in known:
                seeds = seeds or made.get(name, [])
                if not seeds or (options.kinds and name not in options.kinds):
                    continue
                chance = random.Random(f"{options.seed}/{name}/{number}")
                seed = chance.choice(seeds)
                folder = pathlib.Path(scratch) / "case"
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(seeds_folder, folder)
                given = next(word for word in arguments if word.startswith("IN"))
                file = folder / given.replace("IN", "in")
                # Files that a seed names beside itself are named from anywhere.
                data = UPWARDS.sub(os.fsencode(f"{root}/configs/"), seed.read_bytes())
                file.write_bytes(mutated(data, chance))
                out = folder / "out"
                command = [word.replace("IN", "in").replace("OUT", "out") for word in arguments]
                wrong, status = complaint(program, command, folder, out)
                counts[name, status] += 1
                if wrong:
                    kept = options.keep / f"{name}-{options.seed}-{number}{file.suffix}"
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, kept)
                    failures.append(f"{kept} (of {seed}): weft {' '.join(command)}: {wrong}")
                    print(failures[-1], flush=True)
    return counts, failures, children_seconds() - used_before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--inputs", type=int, default=0, help="so many of each kind")
    parser.add_argument("--seconds", type=float, default=0, help="or as many as there is time for")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the inputs")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build/mutated"))
    parser.add_argument("kinds", nargs="*", help="only these kinds")
    options = parser.parse_intermixed_args()
    root = options.root.resolve()
    os.environ["WEFT_CONFIG_DIR"] = str(root / "configs")
    known = kinds(root)
    with multiprocessing.Pool(options.jobs) as pool:
        shares = pool.starmap(tried, [(options, known, share) for share in range(options.jobs)], chunksize=1)
    counts = sum((share[0] for share in shares), collections.Counter())
    failures = [failure for share in shares for failure in share[1]]
    for name in dict.fromkeys(name for name, _, _ in known):
        by_status = {status: count for (kind, status), count in sorted(counts.items(), key=str) if kind == name}
        print(f"{name:<10} {sum(by_status.values()):>7} inputs, by status {by_status}")
    print(f"{sum(counts.values())} inputs, {sum(share[2] for share in shares) / 3600:.3f} CPU hours, {len(failures)} failures")
    return 1 if failures or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
