"""What the lint tests share: the project's files, and how a test reports.

A lint test is a function root -> list of complaints, with a self-test: broken trees it must complain about.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77  # ctest's SKIP_RETURN_CODE for these tests
BUILD_FOLDERS = {".git", "build", "out", "__pycache__"}


def files(root):
    """Paths of the project's files below `root`, relative and sorted: what git tracks, or all there is without git."""
    root = pathlib.Path(root)
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=False)
        if listed.returncode == 0:
            names = listed.stdout.decode().split("\0")
            return sorted(name for name in names if name and (root / name).is_file())
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [s for s in subfolders if s not in BUILD_FOLDERS and not s.startswith("build-")]
        found += [str((pathlib.Path(folder) / name).relative_to(root)) for name in names]
    return sorted(found)


def text(root, name):
    return (pathlib.Path(root) / name).read_text(encoding="utf-8", errors="replace")


def write(root, tree):
    """Makes the files of `tree`, a mapping of name to text, below `root`."""
    for name, content in tree.items():
        path = pathlib.Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def main(check, self_test):
    """Runs `check` on the tree given, or `self_test`; exits 1 with the complaints if there are any."""
    parser = argparse.ArgumentParser()
    parser.add_argument("root", nargs="?", default=str(pathlib.Path(__file__).resolve().parents[2]))
    parser.add_argument("--self-test", action="store_true", help="show that this test can fail")
    arguments = parser.parse_args()
    complaints = self_test() if arguments.self_test else check(arguments.root)
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)


def expect(name, complaints, *parts):
    """For self-tests: complaints about `complaints` itself, which must be one that holds every one of `parts`."""
    if len(complaints) == 1 and all(part in complaints[0] for part in parts):
        return []
    return [f"self-test {name}: expected one complaint with {parts}, got {complaints}"]


def complaints_about(check, cases, allowed):
    """For self-tests: what is wrong with `check`. It must find nothing in the tree `allowed`, and one thing in it with the file of
    each case, (name, path, content, parts of the complaint...)."""
    complaints = []
    for name, path, content, *parts in cases:
        with tempfile.TemporaryDirectory() as root:
            write(root, allowed | {path: content})
            complaints += expect(name, check(root), *parts)
    with tempfile.TemporaryDirectory() as root:
        write(root, allowed)
        complaints += [f"self-test: nothing is wrong with {complaint}" for complaint in check(root)]
    return complaints
