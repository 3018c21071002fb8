"""Runs the shell commands of README.md, so that what a newcomer is told to type works.

Every block that opens with ```sh is run as one script, stopping at its first failing command, in a scratch folder that looks
like the root of a checkout that has been built: what a command reads is there, and new files stay there. A block that needs what
this machine may not have opens with ```sh skip. The set-up commands, which brought this test here, are not run again.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import patience

SET_UP = re.compile(r"^\s*(\./)?tools/(quickstart|test|install_deps)\.sh\b.*$|^\s*(git clone|cd)\s.*$")
BLOCK_SECONDS = 120


def blocks(markdown):
    """(line number, words after "sh", script) of each shell block."""
    found, script, opened = [], None, None
    for number, line in enumerate(markdown.splitlines(), start=1):
        fence = re.match(r"^\s*```\s*(.*)$", line)
        if fence and opened is None:
            opened = fence.group(1).split()
            script = []
            found.append((number, opened, script))
        elif fence:
            opened = None
        elif opened is not None:
            script.append(line)
    return [(number, words[1:], "\n".join(script)) for number, words, script in found if words[:1] == ["sh"]]


def without_set_up(script):
    kept = [":" if SET_UP.match(line) else line for line in script.splitlines()]
    return "\n".join(kept) if any(line.strip() not in ("", ":") for line in kept) else ""


def checkout(source, program, scratch):
    """Fills `scratch` with links to the checkout, except build/, where only the program is."""
    for entry in sorted(pathlib.Path(source).iterdir()):
        if entry.name not in ("build", ".git", "out"):
            (scratch / entry.name).symlink_to(entry)
    (scratch / "build/release/bin").mkdir(parents=True)
    (scratch / "build/release/bin/weft").symlink_to(program)
    (scratch / "build/weft").symlink_to("release/bin/weft")


def run(readme, source, program):
    ran, skipped, failures = 0, 0, []
    environment = dict(os.environ, PATH=f"{pathlib.Path(program).parent}{os.pathsep}{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        checkout(source, program, scratch)
        for number, words, script in blocks(readme.read_text(encoding="utf-8")):
            script = without_set_up(script)
            if "skip" in words or not script:
                skipped += 1
                continue
            ran += 1
            try:
                result = subprocess.run(
                    ["bash", "-euxo", "pipefail", "-c", script], cwd=scratch, env=environment, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=patience.seconds(BLOCK_SECONDS), check=False)
                if result.returncode != 0:
                    failures.append(f"{readme}:{number}: exit {result.returncode}\n{result.stdout[-4000:]}")
            except subprocess.TimeoutExpired:
                failures.append(f"{readme}:{number}: not done after {BLOCK_SECONDS} s\n{script}")
    return ran, skipped, failures


def self_test():
    """A README of which the third and the fifth block fail."""
    text = "\n".join([
        "```sh", "./tools/quickstart.sh", "```", "```sh skip", "false", "```",
        "```sh", "weft \\", "  broken", "echo not reached", "```",
        "```text", "false", "```",
        "```sh", "git clone x", "cd weft", "test -e kept.txt && weft fine > new.txt", "build/weft fine", "```",
        "```sh", "weft broken | cat", "```",
    ])
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "source"
        source.mkdir()
        (source / "kept.txt").touch()
        program = pathlib.Path(folder) / "weft"
        program.write_text("#!/bin/sh\ntest \"$1\" = fine\n", encoding="utf-8")
        program.chmod(0o755)
        readme = source / "README.md"
        readme.write_text(text, encoding="utf-8")
        ran, skipped, failures = run(readme, source, program)
        wrong = []
        if (ran, skipped) != (3, 2):
            wrong.append(f"self-test: ran {ran} blocks and skipped {skipped}, expected 3 and 2")
        if [re.search(r"README.md:(\d+)", failure).group(1) for failure in failures] != ["7", "21"]:
            wrong.append(f"self-test: expected failures in lines 7 and 21, got {failures}")
        if any("not reached" in failure.split("\n+ ")[-1] for failure in failures):
            wrong.append("self-test: went on after a failing command")
        if (source / "new.txt").exists():
            wrong.append("self-test: wrote into the checkout")
        return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--self-test", action="store_true", help="show that this test can fail")
    parser.add_argument("source", nargs="?", type=pathlib.Path, help="the checkout")
    parser.add_argument("program", nargs="?", type=pathlib.Path, help="the weft that was built")
    arguments = parser.parse_args()
    if arguments.self_test:
        failures = self_test()
    else:
        source = arguments.source.resolve()
        ran, skipped, failures = run(source / "README.md", source, arguments.program.resolve())
        print(f"README.md: {ran} blocks run, {skipped} skipped, {len(failures)} failed")
        if ran == 0:
            failures.append("README.md has no command to run")
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
