"""Sixteen commands where a file, a disk or a stream cannot take what they write.

    streams_and_disks_test.py ROOT WEFT [CIRCUMSTANCE...]

Whatever goes wrong, a command ends by itself: status 2 with the reason on standard error where that is open, or 0 with its result
whole. Nothing that is half written or has a temporary name is left. A small disk is mounted where that may be done.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import patience

HOSTS = """cluster:
  nodes: 4
  node: {type: host}
  fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s}}
"""
FILES = {
    "flows.yaml": HOSTS + "workload: {flows: [{from: h0, to: h1, bytes: 1 MB}]}\n",
    "calls.yaml": HOSTS + "workload: {collectives: [{kind: all_reduce, bytes: 1 MB, algorithm: plain_ring}]}\n",
    "cluster.yaml": HOSTS.partition("\n")[2].replace("\n  ", "\n")[2:],
    "step.yaml": """cluster: CONFIGS/clusters/h200x4.yaml
workload:
  model: {name: tiny, layers: 2, hidden: 1024, heads: 8, vocab: 32000, ffn: 4096}
  parallelism: {tensor: 4, data: 1}
  batch: {global: 1, micro: 1, sequence: 1024}
""",
    "sweep.yaml": "scenario: flows.yaml\ngrid: {simulation.seed: [1, 2, 3]}\n",
    "t.goal": "num_ranks 2\nrank 0 {\nl1: send 1000b to 1 tag 1\n}\nrank 1 {\nl1: recv 1000b from 0 tag 1\n}\n",
}
# Each writes to OUT, a file, or DIR, a folder.
COMMANDS = {
    "run": "run flows.yaml --json OUT",
    "timeline": "run calls.yaml --timeline OUT",
    "goal": "run step.yaml --write-goal OUT",
    "chakra": "run step.yaml --write-chakra DIR",
    "collective": "collective all_reduce -c CONFIGS/clusters/h200x4.yaml -b 1M -e 4M --json OUT",
    "experts": "experts combine -c CONFIGS/clusters/h200x4.yaml --tokens 16,64 --json OUT",
    "step": "step --model CONFIGS/models/llama3_8b.yaml -c CONFIGS/clusters/h200x4.yaml --phase decode --context 64 --json OUT",
    "sweep": "sweep sweep.yaml --db s.sqlite --export csv --to OUT",
    "compare": "compare calls.yaml --clusters cluster.yaml cluster.yaml --json OUT",
    "goodput": "goodput CONFIGS/goodput/young_k32.yaml --json OUT",
    "plan": "plan --model CONFIGS/models/llama3_8b.yaml --cluster CONFIGS/clusters/dgx_h100.yaml --gpus 8 --batch 8 --sequence 2048 --budget-plans 2 --json OUT",
    "replay": "replay t.goal --cluster flows_cluster.yaml --json OUT",
    "convert": "trace convert t.goal --to goal OUT",
    "topo": "topo CONFIGS/clusters/h200x4.yaml --graphml OUT",
    "import": "topo import DATA/topologies/hgx-h200-4gpu.xml -o OUT",
    "channels": "explain channels --topo-xml DATA/topologies/hgx-h200-4gpu.xml --xml OUT",
    "validate": "validate -c CONFIGS/clusters/h200x4.yaml DATA/h200x4/all_reduce_4gpu_Ring_Simple_ch1.txt --report DIR",
    "report": "report result.json --markdown OUT",
    "view": "view result.json --page OUT",
}
FILES["flows_cluster.yaml"] = FILES["cluster.yaml"]
STREAMS = {"stdin": [0], "stdout": [1], "stderr": [2], "all": [0, 1, 2]}


def words(command, out, folder):
    named = {"OUT": str(out), "DIR": str(folder)}
    text = command.replace("CONFIGS", os.environ["WEFT_CONFIG_DIR"]).replace("DATA", str(ROOT / "tests/data"))
    return [named.get(word, word) for word in text.split()]


def weft(arguments, work, prepare=None, **streams):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run([PROGRAM, *arguments], cwd=work, text=True, timeout=patience.seconds(120), check=False, preexec_fn=prepare,
                          **streams)


def made(place):
    """Files below a folder, but for what fills the disk."""
    return sorted(path for path in place.rglob("*") if path.is_file() and not path.name.startswith("filler"))


def is_whole(path):
    if path.suffix == ".json":
        json.loads(path.read_bytes())
    if path.suffix == ".sqlite":  # looked at elsewhere: even reading needs room
        with tempfile.TemporaryDirectory() as folder:
            for file in path.parent.glob(path.name + "*"):
                shutil.copy(file, folder)
            with contextlib.closing(sqlite3.connect(f"{folder}/{path.name}")) as database:
                return database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return not path.name.startswith(".weft-")


def whole_or_nothing(done, place, complaints, printed=True):
    """`printed`: standard output took what there was to say. Where it does not, results that were written before stay."""
    if done.returncode not in (0, 2):
        complaints.append(f"status {done.returncode}: {done.stderr!r}")
    left = made(place)
    for path in left:
        try:
            if not is_whole(path):
                complaints.append(f"leaves {path.name}, which is not whole")
        except (ValueError, sqlite3.Error) as error:
            complaints.append(f"leaves {path.name}: {error}")
    if printed and done.returncode == 2 and [path for path in left if "sqlite" not in path.name]:
        complaints.append(f"fails and leaves {[path.name for path in left]}")
    return complaints


def fill(disk):
    with open(disk / "filler", "wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096):
                pass
        except OSError:
            pass


def full_disk(name, work):
    """Nothing is left on it; then one block; then three."""
    complaints = []
    for blocks in (0, 1, 3):
        with tempfile.TemporaryDirectory() as disk_name:
            disk = pathlib.Path(disk_name)
            if LIBC.mount(b"tmpfs", os.fsencode(disk), b"tmpfs", 0, b"size=256k") != 0:
                raise PermissionError
            try:
                fill(disk)
                os.truncate(disk / "filler", (disk / "filler").stat().st_size - 4096 * blocks)
                arguments = words(COMMANDS[name].replace("s.sqlite", str(disk / "s.sqlite")), disk / "out", disk / "folder")
                done = weft(arguments, work)
                if blocks == 0 and done.returncode != 2:
                    complaints.append(f"status {done.returncode} on a full disk")
                if done.returncode == 2 and not any(word in done.stderr for word in ("No space left", "disk is full", "disk I/O error")):
                    complaints.append(f"does not say why: {done.stderr!r}")
                whole_or_nothing(done, disk, complaints)
            finally:
                LIBC.umount(os.fsencode(disk))
    return complaints


def file_limit(name, work):
    """No file may grow over 100 bytes."""
    place = work / "place"
    place.mkdir()
    arguments = words(COMMANDS[name].replace("s.sqlite", str(place / "s.sqlite")), place / "out", place / "folder")
    done = weft(arguments, work, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    complaints = [] if done.returncode == 2 and done.stderr else [f"status {done.returncode}: {done.stderr!r}"]
    return whole_or_nothing(done, place, complaints)


def full_output(name, work):
    """Standard output cannot take anything, and the result goes to it."""
    complaints = []
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = weft(words(COMMANDS[name], work / "place.out", work / "place"), work, stdout=full)
        prints = weft(words(COMMANDS[name], work / "again.out", work / "again"), work).stdout if "sweep" not in name else "rows"
        if prints and (done.returncode != 2 or "cannot write to standard output: No space left on device" not in done.stderr):
            complaints.append(f"printing: status {done.returncode}: {done.stderr!r}")
    if "OUT" not in COMMANDS[name]:
        return complaints
    done = weft(words(COMMANDS[name].replace("s.sqlite", "other.sqlite"), "/dev/full", work), work)
    if done.returncode != 2 or "No space left on device" not in done.stderr:
        complaints.append(f"as a file: status {done.returncode}: {done.stderr!r}")
    return complaints


def closed_streams(name, work):
    complaints = []
    for which, numbers in STREAMS.items():
        place = work / which
        place.mkdir()
        arguments = words(COMMANDS[name].replace("s.sqlite", str(place / "s.sqlite")), place / "out.json", place / "folder")
        if "--json" not in arguments:
            arguments = [str(place / "out") if word == str(place / "out.json") else word for word in arguments]

        def close(numbers=numbers):
            for number in numbers:
                os.close(number)

        done = weft(arguments, work, close)
        found = whole_or_nothing(done, place, [], 1 not in numbers)
        if 1 not in numbers and (done.returncode != 0 or not made(place)):
            found.append(f"status {done.returncode}, {len(made(place))} files: {done.stderr!r}")
        if done.returncode == 2 and 2 not in numbers and not done.stderr:
            found.append("fails without a word")
        complaints += [f"{which}: {complaint}" for complaint in found]
    return complaints


def few_descriptors(name, work):
    complaints = []
    for most in (16, 6, 4):
        place = work / f"place{most}"
        place.mkdir()
        arguments = words(COMMANDS[name].replace("s.sqlite", str(place / "s.sqlite")), place / "out", place / "folder")
        done = weft(arguments, work, lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
        if most == 16 and done.returncode != 0:
            complaints.append(f"16: status {done.returncode}: {done.stderr!r}")
        if done.returncode == 2 and not done.stderr:
            complaints.append(f"{most}: fails without a word")
        complaints += [f"{most}: {complaint}" for complaint in whole_or_nothing(done, place, [])]
    return complaints


CIRCUMSTANCES = {"full_disk": full_disk, "file_limit": file_limit, "full_output": full_output, "closed_streams": closed_streams,
                 "few_descriptors": few_descriptors}


def main():
    chosen = sys.argv[3:] or CIRCUMSTANCES
    failures = 0
    # A disk of one's own may be mounted by root, in a namespace that nobody else sees.
    mounts = LIBC.unshare(0x00020000) == 0 and LIBC.mount(b"none", b"/", None, 0x4000 | 0x40000, None) == 0
    for circumstance in chosen:
        if circumstance == "full_disk" and not mounts:
            print("full_disk: no disk can be mounted here: left out; file_limit is of its kind")
            continue
        wrong = 0
        for name in COMMANDS:
            with tempfile.TemporaryDirectory() as folder_name:
                work = pathlib.Path(folder_name)
                for file, text in FILES.items():
                    (work / file).write_text(text.replace("CONFIGS", os.environ["WEFT_CONFIG_DIR"]), encoding="utf-8")
                shutil.copy(ROOT / "tests/fuzz/corpus/result/flows.json", work / "result.json")
                for complaint in CIRCUMSTANCES[circumstance](name, work):
                    print(f"{circumstance}: {name}: {complaint}")
                    wrong += 1
        print(f"{circumstance}: {len(COMMANDS)} commands, {wrong} failures", flush=True)
        failures += wrong
    return 1 if failures else 0


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv[1]).resolve()
    PROGRAM = str(pathlib.Path(sys.argv[2]).resolve())
    os.environ["WEFT_CONFIG_DIR"] = str(ROOT / "configs")
    LIBC = ctypes.CDLL(None, use_errno=True)
    sys.exit(main())
