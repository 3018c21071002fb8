"""Fails on what reads or writes a file past core/used_files.h and core/output_file.h, which keep outputs from overwriting inputs.

Files are read by open_input() or after note_input(), and written by write_file() or OutputFile. What stands below may do it
another way, and says why.
"""

import re

import repository

SOURCE = re.compile(r"sim/.*\.(h|hpp|cpp|cu|cuh|def)$")
GUARDS = r"sim/core/(used_files|output_file|output_folder|unfinished|file_lock)\.(h|cpp)"
DATABASE = r"sim/planning/sweep/database\.cpp"

# (pattern, files that may, pattern of what else must stand in such a file, the rule in words)
RULES = [
    (r"\b(o|basic_o)fstream\b|\bstd::(basic_)?(fstream|filebuf)\b|[^_\w](fopen|freopen|creat|mkstemp|tmpfile)\s*\([^)]*\"[wa]",
     GUARDS, None, "files are written by core/output_file.h"),
    (r"(?<![\w.>])::open\s*\(|\bO_(WRONLY|RDWR|CREAT)\b", GUARDS, None, "files are written by core/output_file.h"),
    (r"\bfilesystem::(rename|remove|remove_all|copy|copy_file|resize_file)\b|\bfs::(rename|remove|remove_all|copy|copy_file|resize_file)\b"
     r"|(?<![\w.>])::?(rename|unlink|truncate)\s*\(", GUARDS, None, "files are replaced and removed by core/output_file.h"),
    (r"\bcreate_director(y|ies)\b", GUARDS, None, "folders of outputs are made by make_output_folder()"),
    (r"\bSQLITE_OPEN_(READWRITE|CREATE)\b|\bsqlite3_open\s*\(", DATABASE, r"begin_output\(", "a database that is written is claimed first"),
    (r"\bSQLITE_OPEN_READONLY\b", DATABASE + r"|sim/workloads/trace/nsys/database\.cpp", r"(note_input|begin_output)\(", "a database that is read is told to note_input()"),
    (r"\bfopen\s*\(", r"sim/workloads/trace/input_stream\.cpp", r"note_input\(", "a file that is read is told to note_input()"),
    # memory.cpp asks the machine about itself: nobody's input.
    (r"\bstd::ifstream(\s+\w+)?\s*[({](?!const\b)", GUARDS + r"|sim/core/memory\.cpp", None, "files are read by open_input()"),
]


def without_comments(line):
    return re.sub(r"//.*", "", line)


def check(root):
    complaints = []
    for name in repository.files(root):
        if not SOURCE.fullmatch(name):
            continue
        text = repository.text(root, name)
        for number, line in enumerate(text.splitlines(), start=1):
            for pattern, allowed, needed, rule in RULES:
                found = re.search(pattern, without_comments(line))
                if not found:
                    continue
                if re.fullmatch(allowed, name) and (needed is None or re.search(needed, text)):
                    continue
                complaints.append(f"{name}:{number}: '{found.group().strip()}': {rule}")
                break
    return complaints


def self_test():
    cases = [
        ("stream", "sim/apps/a.cpp", '  std::ofstream out{"a"};\n', "sim/apps/a.cpp:1", "output_file.h"),
        ("fopen", "sim/apps/a.cpp", '  auto* f = std::fopen(name, "wb");\n', "output_file.h"),
        ("descriptor", "sim/core/a.cpp", "  const int f = ::open(name, O_WRONLY);\n", "output_file.h"),
        ("rename", "sim/apps/a.cpp", "  std::filesystem::rename(a, b);\n", "replaced and removed"),
        ("folder", "sim/apps/a.cpp", "  fs::create_directories(a);\n", "make_output_folder"),
        ("input", "sim/core/a.cpp", "  std::ifstream in{path};\n", "open_input"),
        ("input by file", "sim/core/a.cpp", '  auto* f = fopen(path, "rb");\n', "note_input"),
        ("database", "sim/planning/sweep/database.cpp", "  flags = SQLITE_OPEN_READWRITE;\n", "claimed first"),
        ("trace", "sim/workloads/trace/nsys/database.cpp", "  flags = SQLITE_OPEN_READONLY;\n", "note_input"),
    ]
    allowed = {
        "sim/core/output_file.cpp": "  descriptor = ::open(name, O_WRONLY | O_CREAT);\n  ::rename(a, b);\n",
        "sim/core/used_files.cpp": "  return std::ifstream{file, std::ios::binary};\n",
        "sim/core/memory.cpp": '  std::ifstream in{"/proc/self/statm"};\n',
        "sim/apps/a.cpp": "  std::ifstream in = open_input(path);  // no std::ofstream\n  write_file(path, write);\n",
        "tests/a_test.cpp": '  std::ofstream{"a"} << text;\n',
    }
    return repository.complaints_about(check, cases, allowed)


if __name__ == "__main__":
    repository.main(check, self_test)
