"""Fails on functions of the C library in sim/ whose last bit is another on another machine, and with it a digest.

IEEE 754 says what + - * / and the square root give, to the bit. Of logarithms, exponentials, powers and angles it does not:
sim/core/portable_math.h has those that Weft needs. Random numbers are those of sim/core/random.h for the same reason.
"""

import re

import repository

SOURCE = re.compile(r"sim/.*\.(h|hpp|cpp|def)$")
FUNCTIONS = ("pow|exp|exp2|exp10|expm1|log|log2|log10|log1p|cbrt|hypot|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh"
             "|atanh|erf|erfc|tgamma|lgamma")
CALL = re.compile(rf"(?<![\w.:>])(?:(?:std)?::)?(?:{FUNCTIONS})[fl]?\(")
DISTRIBUTION = re.compile(r"\bstd::\w+_distribution\b|\bstd::mt19937|\bstd::default_random_engine\b")


def code_of(line):
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*", "", line)


def check_file(name, content):
    raw = False
    for number, line in enumerate(content.splitlines(), start=1):
        # Texts of several lines hold no code.
        raw = raw or 'R"' in line
        if raw:
            raw = ')"' not in line and ')--"' not in line
            continue
        call = CALL.search(code_of(line))
        if call:
            yield f"{name}:{number}: {call.group()}...) differs between C libraries: sim/core/portable_math.h"
        random = DISTRIBUTION.search(code_of(line))
        if random:
            yield f"{name}:{number}: {random.group()} differs between C++ libraries: sim/core/random.h"


def check(root):
    complaints = []
    for name in repository.files(root):
        if SOURCE.fullmatch(name):
            complaints += check_file(name, repository.text(root, name))
    return complaints


def self_test():
    cases = [
        ("power", "sim/collectives/a.cpp", "x = std::pow(a, b);\n", "sim/collectives/a.cpp:1", "portable_math.h"),
        ("logarithm", "sim/core/a.h", "// head\nreturn log2(x);\n", "sim/core/a.h:2", "log2("),
        ("global", "sim/core/a.cpp", "y = -::exp(x);\n", "exp("),
        ("float", "sim/core/a.cpp", "y = (sinf(x));\n", "sinf("),
        ("random", "sim/core/a.cpp", "std::normal_distribution<double> d;\n", "random.h"),
    ]
    allowed = {
        "sim/core/fine.cpp": 'portable_log(x); std::sqrt(x); logger.log(x); p->log(x); my::log(x); f("std::pow(2)"); // log2(n)\n',
        "tests/core/fine.cpp": "std::pow(a, b);\n",
    }
    return repository.complaints_about(check, cases, allowed)


if __name__ == "__main__":
    repository.main(check, self_test)
