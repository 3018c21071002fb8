"""Every broken input in errors/ gives its exact message, exit status 2, in little time and memory.

Beside each NAME.expected, the text of standard error, lies what is wrong:

  NAME.yaml          weft check NAME.yaml
  NAME.xml, .topo    weft topo import NAME.xml
  NAME.txt           weft validate --cluster configs/clusters/h200x4.yaml NAME.txt
  NAME.args          weft with these arguments

All run from the root of the checkout, so that messages name files as a user there types them. `--update` writes what the program
says now; read every line of it before it is kept.
"""

import argparse
import difflib
import os
import pathlib
import shlex
import stat
import subprocess
import sys
import tempfile
import time

FOLDER = "tests/apps/errors"
SECONDS = 20
MEBIBYTES = 200
COMMANDS = {
    ".yaml": ["check"],
    ".xml": ["topo", "import"],
    ".topo": ["topo", "import"],
    ".txt": ["validate", "--cluster", "configs/clusters/h200x4.yaml"],
}


def cases(root):
    """(name, arguments) of every case; an input without a message, or the other way round, is a mistake of the folder."""
    folder = root / FOLDER
    found, wrong = [], []
    for file in sorted(folder.iterdir()):
        if file.suffix == ".args":
            found.append((file.stem, shlex.split(file.read_text(encoding="utf-8"))))
        elif file.suffix in COMMANDS:
            found.append((file.stem, [*COMMANDS[file.suffix], f"{FOLDER}/{file.name}"]))
        elif file.suffix == ".expected":
            if not any((folder / (file.stem + suffix)).exists() for suffix in [*COMMANDS, ".args"]):
                wrong.append(f"{FOLDER}/{file.name}: no input of that name")
    return found, wrong


def run(program, arguments, root):
    """(exit status, standard error, peak mebibytes, too slow?)"""
    environment = dict(os.environ, WEFT_CONFIG_DIR=str(root / "configs"))
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [program, *arguments], cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        slow = True
        for _ in range(100 * SECONDS):
            # wait4 gives the peak memory of this one child.
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                slow = False
                break
            time.sleep(0.01)
        if slow:
            process.kill()
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return process.returncode, errors.read().decode("utf-8", errors="replace"), usage.ru_maxrss / 1024, slow


def check(program, root, name, arguments, mebibytes, update):
    status, said, peak, slow = run(program, arguments, root)
    command = " ".join(["weft", *map(shlex.quote, arguments)])
    wrong = []
    if slow:
        wrong.append(f"not done after {SECONDS} s")
    elif status != 2:
        wrong.append(f"exit status {status}, expected 2")
    if peak > mebibytes:
        wrong.append(f"{peak:.0f} MiB of memory, at most {mebibytes}")
    expected = root / FOLDER / f"{name}.expected"
    if update:
        expected.write_text(said, encoding="utf-8")
    elif not expected.exists():
        wrong.append(f"no {name}.expected; it says:\n{said}")
    elif said != expected.read_text(encoding="utf-8"):
        wanted = expected.read_text(encoding="utf-8").splitlines(keepends=True)
        wrong.append("another message:\n" + "".join(difflib.unified_diff(wanted, said.splitlines(keepends=True), "expected", "said")))
    return [f"{name}: {command}\n  {text}" for text in wrong]


def self_test():
    """Wrong text, wrong status and a message without input must each be seen."""
    script = """#!/bin/sh
case "$2" in
  *fine*) echo fine >&2; exit 2;;
  *status*) echo status >&2; exit 0;;
  *) echo other >&2; exit 2;;
esac
"""
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        folder = root / FOLDER
        folder.mkdir(parents=True)
        program = root / "weft"
        program.write_text(script, encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        for name in ["fine", "status", "text"]:
            (folder / f"{name}.yaml").write_text("", encoding="utf-8")
            (folder / f"{name}.expected").write_text(f"{name}\n", encoding="utf-8")
        (folder / "lonely.expected").write_text("", encoding="utf-8")
        found, failures = cases(root)
        for name, arguments in found:
            failures += check(str(program), root, name, arguments, MEBIBYTES, False)
    said = [failure.split(":")[0] for failure in failures]
    return [] if said == [f"{FOLDER}/lonely.expected", "status", "text"] else [f"self-test: found {failures}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--self-test", action="store_true", help="show that this test can fail")
    parser.add_argument("--update", action="store_true", help="write the messages as they are now")
    parser.add_argument("--mebibytes", type=int, default=MEBIBYTES, help="memory that a case may take")
    parser.add_argument("source", nargs="?", type=pathlib.Path, help="the checkout")
    parser.add_argument("program", nargs="?", type=pathlib.Path, help="the weft that was built")
    parser.add_argument("names", nargs="*", help="only these cases")
    arguments = parser.parse_args()
    if arguments.self_test:
        failures = self_test()
    else:
        root = arguments.source.resolve()
        found, failures = cases(root)
        for name, command in found:
            if not arguments.names or name in arguments.names:
                failures += check(str(arguments.program.resolve()), root, name, command, arguments.mebibytes, arguments.update)
        print(f"{len(found)} broken inputs, {len(failures)} complaints")
        if len(found) < 20:
            failures.append(f"only {len(found)} broken inputs")
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
