"""Fails on a citation that leads nowhere.

`models/nccl §5.1` is section 5.1 of docs/models/nccl.md, and `§7 K4` is the known answer K4 under it. Sections may follow one
another: `models/network §1.7, §1.9`. A section of something published is named with it: `DeepSeek-V3 report §3.4`. In docs/models
`section 4.6` and `sections 4.6 and 4.7` are sections of the same document. Links of Markdown files lead to files and headings.
"""

import pathlib
import re

import repository

# Recorded input and output: kept as they came.
DATA = re.compile(r"(tests/(data|golden)|configs/bench|validate/measured)/.*(?<!README\.md)")
BINARY = re.compile(r".*\.(gz|png|jpg|pdf|zst|xz|svg)")
ITSELF = "tests/lint/citations_test.py"

LEADER = re.compile(r"[ \t]*\n[ \t]*(?://[/!]?|#|\*)?[ \t]*")  # the end of a comment's line and the next one's beginning
SECTION = r"§ ?([0-9A-Z][0-9A-Za-z]*(?:\.[0-9A-Za-z]+)*)"
DOCUMENT = re.compile(r"(?<![\w/.])models/([a-z_]+)(?![\w/])(?!\.\w)")
# Words that may stand between a document's name, or a section of it, and its next section.
BETWEEN = re.compile(r"[\"'\s,;:/-]*(?:and|or|to)?(?:\s*\([^()§]*\))?(?:'s \w+)?[\"'\s,;:/-]*(?:and|or|to)?\s*")
CASES = re.compile(r"[,;\s]*(?:and\s*)?(K\d+)(?:\s*(?:-|to)\s*(K\d+))?")
PUBLISHED = re.compile(r"(?:\breport|(?<![\w/])[A-Z][\w.-]*\d|(?<![\w/])[A-Z]{2,} \d+)[,:]?\s*$")  # "DeepSeek-V3 report", "N21", "RFC 1952"
HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.M)
NUMBER = re.compile(r"(?:Appendix )?([0-9A-Z][0-9A-Za-z]*(?:\.[0-9A-Za-z]+)*)\b")
INNER = re.compile(r"\b[Ss]ections? (\d+(?:\.\d+)*[a-z]?)(?:(?:,| and| to) (\d+(?:\.\d+)*[a-z]?))?")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)


def headings(text):
    return HEADING.findall(CODE.sub(lambda code: code.group() if "\n" not in code.group() else "", text))


def sections(text):
    """Numbers of a document's headings: "5", "5.1", "A", "K4"."""
    return {found.group(1) for heading in headings(text) if (found := NUMBER.match(heading))}


def anchor(heading):
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Text:
    """A file's text with each line's end and the next one's comment mark made one blank, and the lines things were on."""

    def __init__(self, text):
        pieces, self.starts, at, length = [], [], 0, 0
        for found in LEADER.finditer(text):
            pieces.append(text[at : found.start()] + " ")
            length += len(pieces[-1])
            self.starts.append(length)
            at = found.end()
        self.text = "".join(pieces) + text[at:]

    def line(self, position):
        return 1 + sum(1 for start in self.starts if start <= position)


def citations(text):
    """(position, document or None, section) of all citations; None: nothing says whose section it is."""
    ends = {found.end(): found.group(1) for found in DOCUMENT.finditer(text)}
    last_end, last_document = None, None
    for found in re.finditer(SECTION, text):
        before = text[: found.start()]
        named = [end for end in ends if found.start() - 120 <= end <= found.start() and (last_end is None or end > last_end)]
        document = None
        if named and BETWEEN.fullmatch(text[max(named) : found.start()]):
            document = ends[max(named)]
        elif last_end is not None and BETWEEN.fullmatch(text[last_end : found.start()]):
            document = last_document
        if document is not None or not PUBLISHED.search(before[-60:]):
            yield found.start(), document, found.group(1)
        else:
            document = "published"
        last_end, last_document = found.end(), document
        if document not in (None, "published"):
            cases = CASES.match(text, found.end())
            while cases:
                for case in filter(None, cases.groups()):
                    yield cases.start(), document, case
                last_end = cases.end()
                cases = CASES.match(text, cases.end())


def check_citations(name, raw, known):
    read = Text(raw)
    for found in DOCUMENT.finditer(read.text):
        if found.group(1) not in known:
            yield f"{name}:{read.line(found.start())}: there is no docs/models/{found.group(1)}.md"
    for position, document, section in citations(read.text):
        where = f"{name}:{read.line(position)}"
        if document is None:
            yield f"{where}: §{section} of which document? Write models/NAME §{section}, or name what was published"
        elif document in known and document != "published" and section not in known[document]:
            yield f"{where}: docs/models/{document}.md has no section {section}"


def check_inner(name, raw, numbers):
    for found in INNER.finditer(raw):
        for number in filter(None, found.groups()):
            if number not in numbers:
                yield f"{name}:{raw.count(chr(10), 0, found.start()) + 1}: this document has no section {number}"


def check_links(root, name, raw):
    text = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), raw)
    for found in LINK.finditer(text):
        target, _, heading = found.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        where = f"{name}:{text.count(chr(10), 0, found.start()) + 1}"
        path = (pathlib.Path(root) / name).parent / target if target else pathlib.Path(root) / name
        if not path.exists():
            yield f"{where}: the link leads to {target}, which is not there"
        elif heading and path.suffix == ".md":
            if heading not in {anchor(h) for h in headings(path.read_text(encoding="utf-8"))}:
                yield f"{where}: {target or name} has no heading #{heading}"


def check(root):
    names = [n for n in repository.files(root) if n != ITSELF and not DATA.fullmatch(n) and not BINARY.fullmatch(n)]
    documents = {pathlib.Path(n).stem: n for n in names if re.fullmatch(r"docs/models/[a-z_]+\.md", n)}
    known = {stem: sections(repository.text(root, n)) for stem, n in documents.items()}
    known["published"] = set()
    complaints = []
    for name in names:
        raw = repository.text(root, name)
        complaints += check_citations(name, raw, known)
        if name in documents.values():
            complaints += check_inner(name, raw, known[pathlib.Path(name).stem])
        if name.endswith(".md"):
            complaints += check_links(root, name, raw)
    return complaints


def self_test():
    document = "# NCCL\n\n## 1 Topology\n\n### 1.2 Links\n\n### 2.3b Copies\n\n### K4 Parking lot\n\n## Appendix A Golden data\n"
    cases = [
        ("section", "sim/core/a.h", "// See models/nccl §7.\n", "sim/core/a.h:1", "no section 7"),
        ("second section", "sim/core/a.cpp", "int a;\n// models/nccl §1.2 (links), §1.3\n", "sim/core/a.cpp:2", "no section 1.3"),
        ("next line", "sim/core/a.h", "// See (models/nccl\n// §9).\n", "sim/core/a.h:2", "no section 9"),
        ("case", "configs/a.yaml", "# models/nccl §1 K5: a test\n", "no section K5"),
        ("document", "configs/a.yaml", '{reference: "models/mccl §1"}\n', "there is no docs/models/mccl.md"),
        ("mentioned", "tests/a_test.cpp", "// As models/mccl has it.\n", "there is no docs/models/mccl.md"),
        ("whose", "docs/a.md", "As §1.2 says.\n", "docs/a.md:1", "which document"),
        ("old name", "validate/a.py", "# nccl-model §1.2\n", "which document"),
        ("inner", "docs/models/network.md", "## 1 Links\n\nSee section 1.1.\n", "docs/models/network.md:3", "no section 1.1"),
        ("link", "docs/a.md", "[here](models/nothing.md)\n", "which is not there"),
        ("anchor", "docs/a.md", "[here](models/nccl.md#3-nothing)\n", "no heading #3-nothing"),
    ]
    allowed = {
        "docs/models/nccl.md": document,
        "docs/fine.md": "[here](models/nccl.md#12-links), [there](https://a.b/c.md), `[a](b)`, models/nccl §1\n",
        "sim/core/fine.h": "// models/nccl §1.2, §2.3b; §A. DeepSeek-V3 report §3.4, RFC 1952 §2.2 (N21 §4.2)\n"
        "// models/nccl §1, K4 and\n// §1.2. Files: configs/models/llama.yaml, sim/workloads/model.h\n",
    }
    return repository.complaints_about(check, cases, allowed)


if __name__ == "__main__":
    repository.main(check, self_test)
