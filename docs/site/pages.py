#!/usr/bin/env python3
"""Writes the pages of the site that come from the program: commands, parameters, keys of files and results, what can be
chosen, models, words.

    docs/site/pages.py WEFT FOLDER

Nothing is kept here twice: names, texts and figures are what `weft --help`, `weft list` and `weft explain` print.
"""
import argparse
import json
import pathlib
import re
import subprocess

COLUMN = 30  # where the descriptions of a help text begin


def output(weft, *words):
    return subprocess.run([weft, *words], check=True, capture_output=True, text=True).stdout


def escaped(text):
    """Text as Markdown that shows it as it is; what stands between backticks is code."""
    pieces = text.strip().split("`")
    return "`".join(piece.replace("|", "\\|") if i % 2 else re.sub(r"([|<>*_\\])", r"\\\1", piece) for i, piece in enumerate(pieces))


def code(text):
    """An option in a cell, as code."""
    return "`" + text.strip().replace("|", "\\|") + "`"


def entries(lines):
    """(name, description) of each line of a help text's section; a long name has its description on the next line."""
    found = []
    for line in lines:
        if not line.strip():
            continue
        if line.startswith(" " * COLUMN):
            found[-1] = (found[-1][0], (found[-1][1] + " " + line.strip()).strip())
        elif len(line) > COLUMN and line[COLUMN - 1] == " ":
            found.append((line[:COLUMN].strip(), line[COLUMN:].strip()))
        else:
            found.append((line.strip(), ""))
    return found


def sections(help_text):
    """Its first line, its usage and {title: lines}."""
    first, usage, parts, title = "", "", {}, None
    for line in help_text.splitlines():
        if line.startswith("Usage: "):
            usage = line.removeprefix("Usage: ")
        elif re.match(r"^\S.*:$", line):
            title = line[:-1]
            parts[title] = []
        elif title is not None:
            parts[title].append(line)
        elif line.strip() and not first:
            first = line.strip()
    return first, usage, parts


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def command_text(weft, words, level):
    """A section on a command, and on the commands below it."""
    first, usage, parts = sections(output(weft, *words, "--help"))
    text = f"{'#' * level} weft {' '.join(words)}\n\n{escaped(first)}.\n\n```text\n{usage}\n```\n\n"
    below = [name for name, _ in entries(parts.pop("Subcommands", []))]
    for title, lines in parts.items():
        rows = [(code(name), escaped(what)) for name, what in entries(lines) if not name.startswith("-h,")]
        if rows:
            text += f"**{title}**\n\n" + table(("", ""), rows) + "\n"
    return text + "".join(command_text(weft, [*words, name], level + 1) for name in below)


def commands_page(weft):
    _, _, parts = sections(output(weft, "--help"))
    commands = entries(parts["Subcommands"])
    text = "# Commands\n\n" + table(("command", ""), [(f"[weft {name}](#weft-{name})", escaped(what)) for name, what in commands])
    return text + "\n" + "".join(command_text(weft, [name], 2) for name, _ in commands)


def parameters_page(weft):
    """A table for each group, which is the key without its last word."""
    groups = {}
    for line in output(weft, "list", "parameters").splitlines():
        key, _, rest = line.partition(" ")
        about, _, value = rest.strip().rpartition("; default ")
        groups.setdefault(key.rpartition(".")[0], []).append((key, about, value))
    text = "# Parameters\n\nKeys that a profile may set (`parameters:` in `configs/profiles`). `weft explain KEY` has range and sources.\n"
    for group, rows in groups.items():
        text += f"\n## {group}\n\n" + table(("key", "what it is", "default"),
                                            [(code(key), escaped(about), escaped(value)) for key, about, value in rows])
    return text


def choices_page(weft):
    text = "# What can be chosen\n\nNames that files and options take, as `weft list` prints them.\n"
    for line in output(weft, "list").splitlines():
        kind = re.match(r"^(\w+): (.*)$", line)
        if not kind or kind[1] == "parameters":
            continue
        rows = [row for row in output(weft, "list", kind[1]).split("\n\n")[0].splitlines() if row.strip()]
        pairs = [(row.split(None, 1) + [""])[:2] for row in rows]
        text += f"\n## {kind[1]}\n\n{escaped(kind[2])}\n\n" + table(("name", ""), [(code(name), escaped(what)) for name, what in pairs])
    return text


def topics(weft):
    """({topic: line}, {word: line}) of `weft explain`."""
    found, parts = None, []
    for line in output(weft, "explain").splitlines():
        if re.match(r"^\S+:$", line):
            found = {}
            parts.append(found)
        elif found is not None and re.match(r"^  \S", line):
            name, _, what = line.strip().partition(" ")
            found[name] = what.strip()
        elif found and line.startswith("   "):
            last = next(reversed(found))
            found[last] += " " + line.strip()
    return parts


def models_page(weft):
    text = "# Models\n\nWhat each model assumes and leaves out, with its sources: what `weft explain NAME` prints.\n"
    for name, line in topics(weft)[0].items():
        text += f"\n## {name}\n\n{escaped(line)}\n\n```text\n{output(weft, 'explain', name).rstrip()}\n```\n"
    return text


def glossary_page(weft):
    text = "# Glossary\n\nWords of the output and of the field: what `weft explain WORD` prints.\n\n"
    return text + "\n".join(f"**{word}**: {escaped(meaning)}\n" for word, meaning in sorted(topics(weft)[1].items()))


def kinds(weft):
    """[(kind, what it is)] of `weft schema`: files, and results."""
    files, results = output(weft, "schema").split("Results:\n")
    return ([line.strip() for line in files.splitlines() if line.startswith("  ")],
            [line.strip().split(None, 1) for line in results.splitlines() if line.startswith("  ")])


def type_text(schema):
    """What a value is: its type, with the form of its unit, or its choices."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2].removesuffix("_keys").removesuffix("_changes")
        return FORMS.get(name, f"a {name}")
    if "enum" in schema:
        return "one of " + ", ".join(code(str(choice)) for choice in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(filter(None, (type_text(one) for one in schema[key]))))
    if schema.get("type") == "array":
        return f"list of {type_text(schema.get('items', {})) or 'values'}"
    if "properties" in schema or "additionalProperties" in schema:
        return "map"
    written = schema.get("type", "")
    return " or ".join(written) if isinstance(written, list) else written


FORMS = {"text": "text", "true_or_false": "true or false", "integer": "integer", "number": "number", "ratio": "ratio: 0.05 or 5 %",
         "duration": "duration: 500 ns", "size": "size: 64 KiB", "bandwidth": "bandwidth: 400 Gb/s"}


def key_rows(schema, required, path="", depth=0):
    """(path, schema, whether it must be there) of every key, deepest behind its own map."""
    if not isinstance(schema, dict) or depth > 12:
        return
    required = required if isinstance(required, dict) else {}
    required = required.get("else", required)
    if schema.get("type") == "array" or "items" in schema:
        yield from key_rows(schema.get("items"), required.get("items"), path + "[]", depth + 1)
    for key, value in schema.get("properties", {}).items():
        name = f"{path}.{key}" if path else key
        yield name, value, key in required.get("required", schema.get("required", []))
        yield from key_rows(value, required.get("properties", {}).get(key), name, depth + 1)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from key_rows(schema["additionalProperties"], required.get("additionalProperties"), f"{path}.NAME" if path else "NAME", depth + 1)


FIRST = ("scenario", "cluster", "node", "model", "sweep", "goodput")  # what people write; other kinds follow


def keys_page(weft):
    text = ("# Keys of YAML files\n\nEvery key that a file of each kind may have, as `weft schema KIND` has it: the readers' own declarations. "
            "`[]` stands for each item of a list, `NAME` for a name of one's own. An empty value may have several forms, with its unit. "
            "Ranges, and what keys mean together, are told by `weft check`.\n")
    for kind in sorted(kinds(weft)[0], key=lambda one: FIRST.index(one) if one in FIRST else len(FIRST)):
        schema = json.loads(output(weft, "schema", kind))
        parts = schema["$defs"] if "$defs" in schema else {}
        keys = parts.get(f"{kind}_keys", schema)
        rows = []
        for path, value, must in key_rows(keys, parts.get(kind, {})):
            if kind == "gpu" and path.startswith("base."):  # a GPU of the same keys
                continue
            about = value.get("description", "") if isinstance(value, dict) else ""
            rows.append((code(path), type_text(value) if isinstance(value, dict) else "",
                         "must be there" if must else escaped(about.removeprefix("default: "))))
        text += f"\n## {kind}\n\n" + (table(("key", "value", "default"), rows) if rows else "")
    return text


def results_page(weft):
    text = ("# Keys of results\n\nWhat commands write with `--json`, as `weft schema KIND` has it. Times end in their unit: `_ns`, `_us`. "
            "Keys that not every result of a kind has are in italics.\n")
    for kind, what in kinds(weft)[1]:
        schema = json.loads(output(weft, "schema", kind))
        rows = [(code(path) if must else f"*{code(path)}*", type_text(value)) for path, value, must in key_rows(schema, schema)
                if not path.startswith("configuration.")]
        text += f"\n## {kind}\n\n{escaped(what)}\n\n" + table(("key", "value"), rows)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    pages = {"commands": commands_page, "parameters": parameters_page, "choices": choices_page, "models": models_page,
             "glossary": glossary_page, "keys": keys_page, "results": results_page}
    for name, page in pages.items():
        (options.folder / f"{name}.md").write_text(page(options.weft))


if __name__ == "__main__":
    main()
