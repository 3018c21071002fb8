"""Fails on what should not lie in the project's files: notes to oneself, files that do too much, switched-off tests,
loops without an end in scripts, and paths of one machine.
"""

import re

import repository

MAX_LINES = 600
COUNTED = re.compile(r"(sim|tests|validate|plots)/.*\.(h|hpp|cpp|cu|cuh|py)")
# Recorded input and output: kept as they came.
DATA = re.compile(r"(tests/(data|golden)|configs/bench|validate/measured)/.*")
BINARY = re.compile(r".*\.(gz|png|jpg|pdf|zst|xz)")

# The patterns are spelled so that this file does not match itself.
RULES = [
    (r"(sim|tests|validate|plots|tools|cmake)/.*", r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b", "a mark left in the code"),
    (r"tests/.*", r"\bDIS" r"ABLED_|\bGTEST_" r"SKIP\(", "a test switched off"),
    (r".*\.(py|sh)|tools/[^.]*|\.ci/run", r"^\s*while (True|1|true|:)\s*[:;]", "a loop without an end"),
    (r".*\.(h|hpp|cpp|cu|cuh)", r"\bwhile \((1|!0)\)", "an endless loop; give it its condition, or write while (true)"),
    (r"(sim|tests|validate|plots|tools|cmake|configs)/.*", r"^\s*(//|#) (Of|Wh" r"at(?! if:)) ", "a comment that begins without its subject"),
    (r".*", r"(?<![\w.])/wo" r"rk/|\.lib" r"rary/|(?<![\w.])/ho" r"me/\w", "a path of one machine"),
]


def check(root):
    complaints = []
    for name in repository.files(root):
        if DATA.fullmatch(name) or BINARY.fullmatch(name):
            continue
        lines = repository.text(root, name).splitlines()
        if COUNTED.fullmatch(name) and len(lines) > MAX_LINES:
            complaints.append(f"{name}: {len(lines)} lines, the most is {MAX_LINES}; it probably holds two ideas")
        for files, pattern, rule in RULES:
            if re.fullmatch(files, name):
                matches = ((number, re.search(pattern, line)) for number, line in enumerate(lines, start=1))
                complaints += [f"{name}:{number}: '{m.group().strip()}': {rule}" for number, m in matches if m]
    return complaints


def self_test():
    cases = [
        ("mark", "sim/a.cpp", "int a;  // TO" "DO: b\n", "sim/a.cpp:1", "mark"),
        ("long", "sim/a.cpp", "int a;\n" * (MAX_LINES + 1), "601 lines"),
        ("off", "tests/a_test.cpp", "\nTEST(A, DIS" "ABLED_B) {}\n", "tests/a_test.cpp:2", "switched off"),
        ("skip", "tests/a_test.cpp", "GTEST_" "SKIP();\n", "switched off"),
        ("endless script", "tools/run.sh", "while true" "; do\n", "without an end"),
        ("endless", "sim/a.cpp", "while (1" ") {}\n", "endless loop"),
        ("comment", "sim/a.h", "// Wh" "at a link costs.\n", "sim/a.h:1", "without its subject"),
        ("comment in a script", "tools/run.sh", "  # O" "f the last run.\n", "without its subject"),
        ("machine", "README.md", "see /wo" "rk/main/README.md\n", "one machine"),
    ]
    allowed = {
        "sim/fine.cpp": "int a;\n" * MAX_LINES,
        "sim/loop.cpp": "while (true) {}\n",
        "tests/data/log.txt": "TO" "DO /wo" "rk/log\n",
        "README.md": "network/wo" "rk/topics, hackers\n",
    }
    return repository.complaints_about(check, cases, allowed)


if __name__ == "__main__":
    repository.main(check, self_test)
