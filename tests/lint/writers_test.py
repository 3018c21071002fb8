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
    (r"\b(o|basic_o)fstream\b|\bstd::(basic_)?(fstream|filebuf)\b|\bfmt::output_file\b|[^_\w](fopen|freopen)\s*\([^)]*\"[wa]"
     r"|(?<![\w.>])(std::|::)?(fdopen|freopen|gzopen|creat|mkd?temp|mkstemp|tmpfile|tmpnam|popen)\s*\(",
     GUARDS, None, "files are written by core/output_file.h"),
    (r"(?<![\w.>])::open(at)?\s*\(|\bO_(WRONLY|RDWR|CREAT)\b", GUARDS, None, "files are written by core/output_file.h"),
    (r"\b\w+::(rename|remove_all|copy_file|resize_file|create_(hard_link|symlink)|copy_symlink)\b|\b(filesystem|fs)::(remove|copy)\b"
     r"|\bstd::remove\s*\([^,]*\)|(?<![\w.>:])(::)?(rename|renameat|unlink|unlinkat|truncate|ftruncate|symlink)\s*\(",
     GUARDS, None, "files are replaced and removed by core/output_file.h"),
    (r"\bnamespace (?!fs\b)\w+ = std::filesystem\b|\busing namespace std::filesystem\b", GUARDS, None, "std::filesystem is called fs, or as it is"),
    (r"\bcreate_director(y|ies)\b|(?<![\w.>:])(::)?mkdir(at)?\s*\(", GUARDS, None, "folders of outputs are made by make_output_folder()"),
    (r"\bSQLITE_OPEN_(READWRITE|CREATE)\b|\bsqlite3_open(16)?\s*\(", DATABASE, r"begin_output\(", "a database that is written is claimed first"),
    (r"\bSQLITE_OPEN_READONLY\b", DATABASE + r"|sim/workloads/trace/nsys/database\.cpp", r"(note_input|begin_output)\(", "a database that is read is told to note_input()"),
    (r"\bfopen\s*\(", r"sim/workloads/trace/input_stream\.cpp", r"note_input\(", "a file that is read is told to note_input()"),
    # A stream, a member or one that is opened later; not a reference, and not what open_input() or a function around it gives.
    # memory.cpp asks the machine about itself: nobody's input.
    (r"\bifstream\b(?!\s*&)(?!\s+\w+ = open\w*\()(?!\s+open\w*\(const )", GUARDS + r"|sim/core/memory\.cpp", None, "files are read by open_input()"),
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
        ("rename by C", "sim/apps/a.cpp", "  std::rename(a, b);\n", "replaced and removed"),
        ("unlink", "sim/apps/a.cpp", "  if (unlink(a) != 0) return;\n", "replaced and removed"),
        ("remove by C", "sim/apps/a.cpp", "  std::remove(name.c_str());\n", "replaced and removed"),
        ("another name", "sim/apps/a.cpp", "namespace files = std::filesystem;\n", "called fs"),
        ("compressed", "sim/apps/a.cpp", "  auto out = gzopen(name, mode);\n", "output_file.h"),
        ("fmt", "sim/apps/a.cpp", "  auto out = fmt::output_file(name);\n", "output_file.h"),
        ("mkdir", "sim/apps/a.cpp", "  mkdir(name, 0777);\n", "make_output_folder"),
        ("member", "sim/core/a.h", "  std::ifstream file_;\n", "open_input"),
        ("opened later", "sim/core/a.cpp", "  std::ifstream in; in.open(path);\n", "open_input"),
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
        "sim/core/b.cpp": "std::ifstream open(const std::string& path) {\n  transport.unlink(pair);\n  std::remove(a, b, 0);\nvoid read(std::ifstream& in);\n",
        "tests/a_test.cpp": '  std::ofstream{"a"} << text;\n',
    }
    return repository.complaints_about(check, cases, allowed)


if __name__ == "__main__":
    repository.main(check, self_test)
