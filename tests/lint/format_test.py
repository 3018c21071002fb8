"""Fails where a C++ file differs from what clang-format 14 makes of it under .clang-format.

Other versions of clang-format lay out some code otherwise: without version 14 the test is skipped, and says so.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import repository

VERSION = "14"
SOURCE = re.compile(r"(sim|tests|validate)/.*\.(h|hpp|cpp|cu|cuh)")
STYLE = pathlib.Path(__file__).resolve().parents[2] / ".clang-format"


def formatter():
    for name in [f"clang-format-{VERSION}", "clang-format"]:
        program = shutil.which(name)
        if program:
            says = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
            if f"version {VERSION}." in says:
                return program
    print(f"skipped: no clang-format {VERSION} here (tools/install_deps.sh --dev installs it)")
    sys.exit(repository.SKIPPED)


def check(root):
    program = formatter()
    names = [name for name in repository.files(root) if SOURCE.fullmatch(name)]
    complaints = []
    for first in range(0, len(names), 100):  # one program for many files: it starts once
        command = [program, "--dry-run", "-Werror", f"--style=file:{STYLE}", *names[first : first + 100]]
        result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        lines = {}
        for name, number in re.findall(r"(?m)^(.+?):(\d+):\d+: error:", result.stderr):
            lines.setdefault(name, set()).add(int(number))
        for name, numbers in lines.items():
            places = ", ".join(map(str, sorted(numbers)[:8])) + (" ..." if len(numbers) > 8 else "")
            complaints.append(f"{name}: lines {places}: run clang-format -i {name}")
        if result.returncode != 0 and not lines:
            complaints.append(result.stderr)
    return complaints


def self_test():
    with tempfile.TemporaryDirectory() as root:
        repository.write(root, {"sim/fine.cpp": "int f() { return 1; }\n", "sim/bad.cpp": "int  f( ){return 1;}\n"})
        return repository.expect("format", check(root), "sim/bad.cpp", "lines 1")


if __name__ == "__main__":
    repository.main(check, self_test)
