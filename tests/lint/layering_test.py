"""Fails on an #include that points up the layers, or that brings a library where it does not belong.

core <- network <- collectives <- workloads <- scenario <- (measured, planning) <- output <- apps: a file includes its own layer and
those left of it; measured and planning do not know each other.
"""

import re

import repository

LAYERS = ["core", "network", "collectives", "workloads", "scenario", "measured", "planning", "output", "apps"]
APART = {"measured", "planning"}
SOURCE = re.compile(r"sim/.*\.(h|hpp|cpp|cu|cuh|def)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# (includes that match, are allowed only in files that match, the rule in words)
LIBRARIES = [
    (r"yaml-cpp/", r".*\.cpp", "yaml-cpp only in .cpp files"),
    (r"spdlog/", r".*\.cpp", "spdlog only in .cpp files"),
    (r"boost/graph/", r"sim/network/(topology|routing/[^/]+)\.cpp", "Boost.Graph only in topology.cpp and routing/*.cpp"),
    (r"CLI/", r"sim/apps/.*", "the command line only in apps"),
]

# A packet or an event must build none of these (once for each of them would be millions of allocations a second).
PACKET_LEVEL = re.compile(r"\bstd::(function|shared_ptr|make_shared|string)\b")
# Files of packet fidelity that set up and report, and touch no packet.
NOT_PER_PACKET = re.compile(r"sim/network/packet_level/(packet_fabric\.(h|cpp)|settings\.h|transport\.(h|cpp))")


def without_comments_and_literals(line):
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*", "", line)


def check_file(name, content):
    layer = name.split("/")[1]
    for number, line in enumerate(content.splitlines(), start=1):
        where = f"{name}:{number}"
        include = INCLUDE.match(line)
        if include:
            quote, target = include.groups()
            parts = target.split("/")
            if parts[0] == "sim" and len(parts) > 2 and parts[1] in LAYERS:
                above = layer in LAYERS and LAYERS.index(parts[1]) > LAYERS.index(layer)
                if above or layer != parts[1] and {layer, parts[1]} == APART:
                    yield f"{where}: {layer} includes {target}, which is above it ({' <- '.join(LAYERS)})"
            elif quote == '"':
                yield f"{where}: '{target}' is not a path from the project's root, such as sim/core/units.h"
            for library, allowed, rule in LIBRARIES:
                if re.match(library, target) and not re.fullmatch(allowed, name):
                    yield f"{where}: includes {target}: {rule}"
        elif name.startswith("sim/network/packet_level/") and not NOT_PER_PACKET.fullmatch(name):
            found = PACKET_LEVEL.search(without_comments_and_literals(line))
            if found:
                yield f"{where}: {found.group()} has no place on the packet path"


def check(root):
    complaints = []
    for name in repository.files(root):
        if SOURCE.fullmatch(name):
            complaints += check_file(name, repository.text(root, name))
    return complaints


def self_test():
    cases = [
        ("upward", "sim/core/a.h", '#include "sim/network/b.h"\n', "sim/core/a.h:1", "above it"),
        ("apps", "sim/planning/a.cpp", '// head\n#include "sim/apps/b.h"\n', "sim/planning/a.cpp:2", "above it"),
        ("beside", "sim/planning/a.cpp", '#include "sim/measured/predict.h"\n', "sim/planning/a.cpp:1", "above it"),
        ("relative", "sim/core/a.cpp", '#include "a.h"\n', "not a path from the project's root"),
        ("yaml", "sim/core/a.h", "#include <yaml-cpp/yaml.h>\n", "yaml-cpp only in .cpp"),
        ("spdlog", "sim/core/a.h", "#include <spdlog/spdlog.h>\n", "spdlog only in .cpp"),
        ("graph", "sim/network/router.cpp", "#include <boost/graph/adjacency_list.hpp>\n", "Boost.Graph only"),
        ("graph header", "sim/network/topology.h", "#include <boost/graph/graph_traits.hpp>\n", "Boost.Graph only"),
        ("options", "sim/core/a.cpp", "#include <CLI/CLI.hpp>\n", "only in apps"),
        ("callable", "sim/network/packet_level/a.cpp", "std::function<void()> f;\n", "std::function"),
        ("string", "sim/network/packet_level/a.h", "std::string name;\n", "std::string"),
    ]
    allowed = {
        "sim/core/fine.cpp": '#include <yaml-cpp/yaml.h>\n#include "sim/core/a.h"\n',
        "sim/network/topology.cpp": '#include <boost/graph/adjacency_list.hpp>\n#include "sim/core/a.h"\n',
        "sim/network/routing/ecmp.cpp": "#include <boost/graph/adjacency_list.hpp>\n",
        "sim/network/packet_level/fine.cpp": 'std::string_view a; // std::function is not for here\nf("std::string");\n',
        "sim/apps/main.cpp": '#include <CLI/CLI.hpp>\n#include "sim/scenario/scenario.h"\n#include "sim/apps/print.h"\n',
    }
    return repository.complaints_about(check, cases, allowed)


if __name__ == "__main__":
    repository.main(check, self_test)
