"""Fails on a document that names what does not exist: a file or folder of the tree, a command of weft, a type or a function; and on
a sentence of more than 40 words.

Looked at are links and what stands in backticks. A path counts from the root, from the document's folder or from sim/; a bare
file name of source may lie anywhere. `x.cpp` and `x_sync.cpp` stand for a file to be written: their folder must exist. The version
is one: that of CMakeLists.txt.
"""

import fnmatch
import itertools
import pathlib
import re

import repository

DOCUMENTS = re.compile(r"([A-Z]+\.md|(docs|sim|configs|validate|tests)/(.*/)?\w+\.md)")
# Data of others, and notes on the sources of others, whose links citations_test.py follows.
WRITTEN_BY_OTHERS = re.compile(r"tests/data/.*|docs/models/.*")
SOURCE = re.compile(r".+\.(h|hpp|cpp|cu|cuh|def|py|sh|cmake|md)")
CODE = re.compile(r"(sim|validate|tests)/.*\.(h|cpp|cu|cuh|py|def)")
PATH = re.compile(r"[\w.*{},/+\[\]-]+")
TO_BE_WRITTEN = re.compile(r"(\w+_)?[xX]([_.].*)?")
NAME = re.compile(r"(?:[A-Z][a-z0-9]+){2,}(?:::\w+)?(?:\(\))?|\w+::\w+(?:\(\))?|[a-z]+(?:_[a-z]+)+\(\)")
COMMAND = re.compile(r"(?:build/)?weft ([a-z]\w*)")
MOST_WORDS = 40
# No prose: a heading, a row of a table, markup.
NO_PROSE = re.compile(r"\s*(#|\||<|!\[)")
ITEM = re.compile(r"^\s*([-*+]|\d+\.)\s+")
# A word for a way of writing, and folders of other projects that documents name.
OTHERS = {"PascalCase", "tests/traces", "tools/topo_expl/models", "tools/msccl-algorithms", "tools/msccl-unit-test-algorithms"}


def alternatives(path):
    """a{b,c} -> ab, ac."""
    parts = re.split(r"\{([^{}]*)\}", path)
    choices = [part.split(",") if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = repository.files(root)
        self.known = set(self.files) | {str(folder) for name in self.files for folder in pathlib.PurePath(name).parents}
        self.names = {pathlib.PurePath(name).name for name in self.files}
        self.tops = {name.split("/")[0] for name in self.files if "/" in name}
        self.layers = {name.split("/")[1] for name in self.files if name.startswith("sim/") and name.count("/") > 1}
        self.words = set()
        for name in self.files:
            if CODE.fullmatch(name):
                self.words.update(re.findall(r"\w+", repository.text(root, name)))
        self.commands = {m.group(1) for name in self.files if (m := re.fullmatch(r"sim/apps/cmd_(\w+)\.cpp", name))}

    def has(self, path, folder):
        path = path.rstrip("/")
        for base in ("", folder, "sim"):
            whole = pathlib.PurePath(base, path)
            parts = []
            for part in whole.parts:
                if part == ".." and parts:
                    parts.pop()
                elif part != ".":
                    parts.append(part)
            whole = "/".join(parts)
            if whole in self.known or "*" in whole and any(fnmatch.fnmatchcase(name, whole) for name in self.known):
                return True
        return "/" not in path and any(fnmatch.fnmatchcase(name, path) for name in self.names)

    def is_path(self, text):
        first = text.split("/")[0]
        inside = "/" in text.rstrip("/") or text.endswith("/")
        return bool(PATH.fullmatch(text)) and (inside and first in self.tops | self.layers and first != "build" or bool(SOURCE.fullmatch(text)))


def complaint(tree, text, folder):
    """What is wrong with `text`, which stands in backticks of a document in `folder`; None where nothing is."""
    command = COMMAND.match(text)
    if command and tree.commands:
        return None if command.group(1) in tree.commands else f"no command 'weft {command.group(1)}'"
    if text in OTHERS:
        return None
    for path in alternatives(text) if tree.is_path(text) else []:
        if TO_BE_WRITTEN.fullmatch(pathlib.PurePath(path).name):
            path = str(pathlib.PurePath(path).parent)
        if path != "." and not tree.has(path, folder):
            return f"'{path}' does not exist"
    if NAME.fullmatch(text):
        missing = [word for word in re.findall(r"\w+", text) if word not in tree.words]
        if missing and not text.startswith("std::"):
            return f"nothing is called '{missing[0]}'"
    return None


def check_document(tree, name):
    folder = str(pathlib.PurePath(name).parent)
    fenced = False
    for number, line in enumerate(repository.text(tree.root, name).splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        wrong = [complaint(tree, text, folder) for text in re.findall(r"`([^`]+)`", line)]
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            path = target.split("#")[0]
            if path and not re.match(r"\w+:", target) and not tree.has(str(pathlib.PurePath(folder, path)), ""):
                wrong.append(f"the link to '{path}' leads nowhere")
        yield from (f"{name}:{number}: {text}" for text in wrong if text)


def sentences(text):
    """Every sentence with the line that its paragraph begins at. Code and links count as one word each."""
    paragraphs = []
    fenced = begins = False
    for number, line in enumerate(text.splitlines(), start=1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if fence or fenced or not line.strip() or NO_PROSE.match(line):
            begins = True
            continue
        if begins or not paragraphs or ITEM.match(line):
            paragraphs.append((number, []))
        begins = False
        paragraphs[-1][1].append(ITEM.sub("", line))
    for number, lines in paragraphs:
        prose = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", "Code", " ".join(lines))
        yield from ((number, sentence) for sentence in re.split(r"(?<=[.!?])[*)\"]*\s+(?=[*(\"]*[A-Z0-9])", prose))


def check_sentences(tree, name):
    for number, sentence in sentences(repository.text(tree.root, name)):
        words = [word for word in sentence.split() if re.search(r"\w", word)]
        if len(words) > MOST_WORDS:
            yield f"{name}:{number}: a sentence of {len(words)} words, at most {MOST_WORDS}: '{' '.join(words[:6])} ...'"


def check_versions(tree):
    """The version stands in several places."""
    found = {}
    for name, pattern in (("CMakeLists.txt", r"project\(Weft VERSION ([\d.]+)"), ("CITATION.cff", r"(?m)^version: ([\d.]+)"),
                          ("CHANGELOG.md", r"(?m)^## ([\d.]+)"), ("validate/measure/CMakeLists.txt", r"project\(WeftMeasure VERSION ([\d.]+)"),
                          ("validate/measure/serving.py", r'(?m)^VERSION = "([\d.]+)"')):
        if name in tree.known and (match := re.search(pattern, repository.text(tree.root, name))):
            found[name] = match.group(1)
    first = next(iter(found.values()), None)
    return [f"{name}: version {version}, in {next(iter(found))} it is {first}" for name, version in found.items() if version != first]


def check(root):
    tree = Tree(root)
    complaints = check_versions(tree)
    for name in tree.files:
        if DOCUMENTS.fullmatch(name) and not WRITTEN_BY_OTHERS.fullmatch(name):
            complaints += check_document(tree, name)
            complaints += check_sentences(tree, name)
    return complaints


def self_test():
    cases = [
        ("file", "docs/a.md", "\nSee `sim/core/gone.h`.\n", "docs/a.md:2", "'sim/core/gone.h' does not exist"),
        ("in a layer", "docs/a.md", "`core/gone.h`\n", "'core/gone.h'"),
        ("bare name", "sim/README.md", "`gone.cpp`\n", "'gone.cpp'"),
        ("folder", "CONTRIBUTING.md", "`configs/gone/x.yaml`\n", "'configs/gone'"),
        ("one of two", "docs/a.md", "`sim/core/{units,gone}.h`\n", "'sim/core/gone.h'"),
        ("pattern", "docs/a.md", "`configs/clusters/gone*.yaml`\n", "does not exist"),
        ("link", "docs/a.md", "[it](../gone.md#there)\n", "leads nowhere"),
        ("type", "docs/a.md", "A `GoneFabric` has it.\n", "'GoneFabric'"),
        ("function", "docs/a.md", "`FlowFabric::gone_part()`\n", "'gone_part'"),
        ("command", "docs/a.md", "`weft vanish --all`\n", "'weft vanish'"),
        ("long sentence", "docs/a.md", "\nShort. Now " + 20 * "two words " + "\n", "docs/a.md:2", "41 words"),
        ("version", "CITATION.cff", "version: 1.2.4\n", "CITATION.cff", "1.2.3"),
    ]
    allowed = {
        "CMakeLists.txt": "project(Weft VERSION 1.2.3 LANGUAGES CXX)\n",
        "CHANGELOG.md": "## 1.2.3 - today\n\n## 1.2.2 - before\n",
        "sim/core/units.h": "class FlowFabric { void solve_part(); };\n",
        "sim/apps/cmd_run.cpp": "int a;\n",
        "configs/clusters/h200x4.yaml": "nodes: 1\n",
        "docs/fine.md": "`sim/core/units.h`, `core/units.h`, `units.h`, `core/x.cpp`, `configs/clusters/*.yaml`, `core/`, `FlowFabric::solve_part()`,\n"
                        "`weft run`, `result.json`, `and/or`, `std::string`, [it](fine.md), [there](https://example.com/gone.md)\n"
                        "```sh\nweft vanish `gone.cpp`\n```\n" + 40 * "word " + "\n\n" + 10 * "it goes on. And on " + "\n- " + 30 * "item " + "\n",
    }
    return repository.complaints_about(check, cases, allowed)


if __name__ == "__main__":
    repository.main(check, self_test)
