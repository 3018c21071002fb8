"""Fails on what is written and then left out in silence: a model that no list names, and a test that nothing runs.

A registered object (Registration<...>, TraceFormat, ...) stands in a list of its kind, *.def. Files of C++ tests are called
*_test.cpp, in a folder whose CMakeLists.txt, or that of the nearest folder above, calls weft_add_tests. A test in Python is named
by that file.
"""

import pathlib
import re

import repository

OBJECT = re.compile(r"^const (Registration<\w+>|TraceFormat|TraceWriter|MeasurementFormat|ServerFormat|PointKind) (?:\w+::)*(\w+)\s*\{", re.M)
LISTED = re.compile(r"^WEFT_\w+\((\w+)\)", re.M)
GOOGLE_TEST = re.compile(r"^(TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(", re.M)


def program_of(names, name):
    """The CMakeLists.txt that a test's file belongs to."""
    for folder in pathlib.PurePath(name).parents:
        listing = str(folder / "CMakeLists.txt")
        if listing in names and str(folder) != ".":
            return listing
    return None


def check_models(root, names):
    listed = {name for file in names if file.startswith("sim/") and file.endswith(".def")
              for name in LISTED.findall(repository.text(root, file))}
    for file in names:
        if re.fullmatch(r"sim/.*\.cpp", file):
            for kind, name in OBJECT.findall(repository.text(root, file)):
                if name not in listed:
                    yield f"{file}: {kind} {name} stands in no list (*.def), so nobody can choose it"


def check_tests(root, names):
    for file in names:
        if re.fullmatch(r"tests/.*\.cpp", file) and GOOGLE_TEST.search(repository.text(root, file)):
            program = program_of(names, file)
            if not file.endswith("_test.cpp"):
                yield f"{file}: holds tests, so its name ends in _test.cpp"
            elif not program or "weft_add_tests(" not in repository.text(root, program):
                yield f"{file}: no program has it; {program} does not call weft_add_tests"
        elif re.fullmatch(r"tests/.*_test\.py", file):
            program = program_of(names, file)
            listing = repository.text(root, program) if program else ""
            stem = pathlib.PurePath(file).name.removesuffix("_test.py")
            if "*_test.py" not in listing and not re.search(rf"\b{stem}(_test\.py)?\b", listing):
                yield f"{file}: {program} does not run it"


def check(root):
    names = repository.files(root)
    known = set(names)
    return [*check_models(root, names), *check_tests(root, known)]


def self_test():
    model = "const Registration<Algorithm> builtin::ring{\n    .name = \"ring\",\n};\n"
    cases = [
        ("algorithm", "sim/collectives/algorithms/lost.cpp", model.replace("ring", "lost"), "Algorithm> lost stands in no list"),
        ("format", "sim/workloads/trace/formats/lost.cpp", "const TraceFormat lost{.name = \"lost\"};\n", "TraceFormat lost"),
        ("name of a test", "tests/core/lost.cpp", "TEST(A, B) {}\n", "_test.cpp"),
        ("folder of a test", "tests/lost/a_test.cpp", "TEST(A, B) {}\n", "no program has it"),
        ("folder without a program", "tests/golden/a_test.cpp", "TEST_F(A, B) {}\n", "does not call weft_add_tests"),
        ("in Python", "tests/core/lost_test.py", "print()\n", "does not run it"),
    ]
    allowed = {
        "sim/collectives/builtin.def": "WEFT_ALGORITHM(ring)\n",
        "sim/collectives/algorithms/ring.cpp": model,
        "tests/core/CMakeLists.txt": "weft_add_tests(core)\nadd_test(NAME a COMMAND python3 found_test.py)\n",
        "tests/core/config/a_test.cpp": "TEST(A, B) {}\n",
        "tests/core/found_test.py": "print()\n",
        "tests/golden/CMakeLists.txt": "file(GLOB rules *_test.py)\n",
        "tests/golden/any_test.py": "print()\n",
        "tests/support/help.cpp": "int a;\n",
    }
    return repository.complaints_about(check, cases, allowed)


if __name__ == "__main__":
    repository.main(check, self_test)
