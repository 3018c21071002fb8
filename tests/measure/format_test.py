"""Measurement files: the sample and the kept measurements fit the schema, line by line; and `weft measure` without a GPU says so."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path()
PROGRAM = ""
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float), "integer": int}


def problems(schema, value, defs, path="line"):
    """What of `value` breaks `schema`, one by one; knows the words of JSON Schema that our schema uses, and stops at others."""
    known = {"$ref", "$schema", "$defs", "title", "type", "enum", "const", "required", "properties", "additionalProperties",
             "items", "minItems", "maxItems", "minimum", "pattern", "allOf", "oneOf"}
    assert set(schema) <= known, set(schema) - known
    if "$ref" in schema:
        yield from problems(defs[schema["$ref"].removeprefix("#/$defs/")], value, defs, path)
        return
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        yield f"{path}: {value!r} is no {kind}"
        return
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        yield f"{path}: {value!r} is not allowed"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{path}: {value} is below {schema['minimum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{path}: {value!r} does not match"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{path}: {len(value)} items"
        for i, item in enumerate(value):
            yield from problems(schema.get("items", {}), item, defs, f"{path}[{i}]")
    if isinstance(value, dict):
        yield from (f"{path}: no {key}" for key in schema.get("required", []) if key not in value)
        others = schema.get("additionalProperties", {})
        for key, item in value.items():
            yield from problems(schema.get("properties", {}).get(key, others), item, defs, f"{path}.{key}")
    for part in schema.get("allOf", []):
        yield from problems(part, value, defs, path)
    if "oneOf" in schema:
        # The first problem of a kind says that it is not that one; all are listed only where none or several fit.
        fitting = sum(next(problems(one, value, defs, path), None) is None for one in schema["oneOf"])
        if fitting != 1:
            yield from min((list(problems(one, value, defs, path)) for one in schema["oneOf"]), key=len) or [f"{path}: fits several kinds"]


class Format(unittest.TestCase):
    def setUp(self):
        self.schema = json.loads((ROOT / "validate/measure/schema.json").read_text())

    def complaints(self, line):
        return list(problems(self.schema, line, self.schema["$defs"]))

    def check_file(self, path):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertEqual(lines[0]["kind"], "header", path)
        for number, line in enumerate(lines, start=1):
            self.assertEqual(self.complaints(line), [], f"{path.name}:{number}")
        sequences = [line["sequence"] for line in lines]
        self.assertEqual(sequences, sorted(sequences))

    def test_sample_fits_the_schema(self):
        self.check_file(ROOT / "tests/data/measure/sample.jsonl")

    def test_kept_measurements_fit_the_schema(self):
        for path in sorted((ROOT / "validate/measured").glob("**/*.jsonl")):
            self.check_file(path)

    def test_schema_refuses_what_is_broken(self):
        line = json.loads((ROOT / "tests/data/measure/sample.jsonl").read_text().splitlines()[1])
        for key, value in [("kind", "gem"), ("median_us", "1"), ("set", "all"), ("samples", 0), ("sequence", True)]:
            self.assertTrue(self.complaints({**line, key: value}), key)
        self.assertTrue(self.complaints({key: value for key, value in line.items() if key != "median_us"}))


class Command(unittest.TestCase):
    def run_weft(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([PROGRAM, "measure", *arguments], cwd=folder, capture_output=True, text=True, check=False,
                                    env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"})
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
        return result

    def test_without_a_gpu_it_says_so(self):
        result = self.run_weft("--quick")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, "no GPU to measure|CUDA runner 'weft-measure' is not built")

    def test_quick_and_full_exclude_each_other(self):
        result = self.run_weft("--quick", "--full")
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("program")
    options = parser.parse_args()
    ROOT, PROGRAM = options.root, options.program
    unittest.main(argv=sys.argv[:1])
