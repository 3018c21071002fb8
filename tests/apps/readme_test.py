"""Runs the shell commands of README.md, docs/*.md and docs/tutorials/*.md, so that what a newcomer is told to type works, and prints what is shown.

    readme_test.py [--update] ROOT WEFT

Every block that opens with ```sh is run as one script, stopping at its first failing command, in a scratch folder that looks
like the root of a checkout that has been built: what a command reads is there, and new files stay there. A block that takes
long, or needs what this machine may not have, opens with ```sh skip. The set-up commands, which brought this test here, are not
run again.

A block that opens with ```text and follows commands holds lines of their output, in order; others may stand between them. So it is
in README.md, the first ten minutes and the tutorials, the pages whose figures are held. --update writes their lines anew: of each
the next one that differs in nothing but numbers and spaces.
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


def is_held(page):
    """Whether what the page shows of an output must be printed."""
    return page.name in ("README.md", "first_ten_minutes.md") or page.parent.name == "tutorials"


def blocks(markdown):
    """(line number, words of the fence, lines) of each block."""
    found, opened = [], False
    for number, line in enumerate(markdown.splitlines(), start=1):
        fence = re.match(r"^\s*```\s*(.*)$", line)
        if fence and not opened:
            found.append((number, fence.group(1).split(), []))
        elif not fence and opened:
            found[-1][2].append(line)
        opened = opened != bool(fence)
    return found


def scripts(markdown):
    """(line number, words after "sh", script, the text block that follows) of each shell block."""
    found = blocks(markdown)
    followed = zip(found, [*found[1:], (0, [], [])])
    return [(number, words[1:], "\n".join(script), (place, shown) if kind == ["text"] else (0, []))
            for (number, words, script), (place, kind, shown) in followed if words[:1] == ["sh"]]


def shape(line):
    """A line without its numbers: how --update finds the line again."""
    return re.sub(r"[-+]?\d[\d.]*", "#", " ".join(line.split()))


def compare(shown, printed, alike=lambda line: line):
    """(the printed lines that are `alike` those shown, in order; the first one shown that is not among them)."""
    found, rest = [], iter(printed)
    for line in shown:
        match = next((candidate for candidate in rest if alike(candidate) == alike(line)), None)
        if match is None:
            return found, line
        found.append(match)
    return found, None


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


def run(readme, source, program, update=False):
    ran, skipped, failures = 0, 0, []
    environment = dict(os.environ, PATH=f"{pathlib.Path(program).parent}{os.pathsep}{os.environ['PATH']}")
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        checkout(source, program, scratch)
        page = readme.read_text(encoding="utf-8")
        lines = page.splitlines()
        for number, words, script, (place, shown) in scripts(page):
            script = without_set_up(script)
            if "skip" in words or not script:
                skipped += 1
                continue
            ran += 1
            try:
                result = subprocess.run(
                    ["bash", "-euxo", "pipefail", "-c", script], cwd=scratch, env=environment, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=patience.seconds(BLOCK_SECONDS), check=False)
                printed = [line.rstrip() for line in result.stdout.splitlines()]
                found, missing = compare(shown, printed, shape if update else str.rstrip)
                if result.returncode != 0:
                    failures.append(f"{readme}:{number}: exit {result.returncode}\n{result.stdout[-4000:]}")
                elif missing is not None and is_held(readme):
                    failures.append(f"{readme}:{place + 1 + len(found)}: not printed, or not in this order:\n{missing}\n"
                                    f"by\n{script}\nwhich printed\n{result.stdout[-4000:]}")
                elif update:
                    lines[place : place + len(found)] = found
            except subprocess.TimeoutExpired:
                failures.append(f"{readme}:{number}: not done after {BLOCK_SECONDS} s\n{script}")
        if update:
            readme.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ran, skipped, failures


def self_test_of_outputs():
    """Two READMEs: of one the third shown line is not printed, of the other the lines stand in another order."""
    shown = "```sh\nprintf 'a 1\\nb 2\\nc 3\\n'\n```\n\n```text\n{}\n```\n"
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        readme = pathlib.Path(folder) / "README.md"
        for lines, where in (("a 1\nb 2\nc 4", ["8"]), ("b 2\na 1", ["7"]), ("a 1\nc 3", [])):
            readme.write_text(shown.format(lines), encoding="utf-8")
            failed = [re.search(r"README.md:(\d+)", failure).group(1) for failure in run(readme, folder, "/bin/true")[2]]
            if failed != where:
                wrong.append(f"self-test: expected failures in lines {where} for {lines!r}, got {failed}")
        readme.write_text(shown.format("b 7\nc 4.50"), encoding="utf-8")
        failures = run(readme, folder, "/bin/true", update=True)[2]
        if failures or readme.read_text(encoding="utf-8") != shown.format("b 2\nc 3"):
            wrong.append(f"self-test: --update wrote {readme.read_text(encoding='utf-8')!r}")
    return wrong


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


def pages(source):
    return [source / "README.md", *sorted(source.glob("docs/*.md")), *sorted(source.glob("docs/tutorials/*.md"))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--self-test", action="store_true", help="show that this test can fail")
    parser.add_argument("--update", action="store_true", help="write the lines that pages show anew")
    parser.add_argument("source", nargs="?", type=pathlib.Path, help="the checkout")
    parser.add_argument("program", nargs="?", type=pathlib.Path, help="the weft that was built")
    arguments = parser.parse_args()
    if arguments.self_test:
        failures = self_test() + self_test_of_outputs()
    elif arguments.update:
        source = arguments.source.resolve()
        failures = []
        for page in filter(is_held, pages(source)):
            failures += run(page, source, arguments.program.resolve(), update=True)[2]
    else:
        source, failures = arguments.source.resolve(), []
        for page in pages(source):
            ran, skipped, failed = run(page, source, arguments.program.resolve())
            print(f"{page.name}: {ran} blocks run, {skipped} skipped, {len(failed)} failed", flush=True)
            failures += failed
            if page.name == "README.md" and ran == 0:
                failures.append("README.md has no command to run")
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
