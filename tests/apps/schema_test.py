"""Schemas: every shipped YAML file validates, broken ones that a schema can tell do not, and results are as their schemas say.

A schema knows keys, types, choices and what must be there. Which broken inputs of errors/ it must refuse follows from their
messages, by the kind of mistake (CATCHABLE). It need not refuse what only reading tells: ranges, names of devices, what two keys
mean together, and what stands in another file.

Exit status 77 where Python has no jsonschema or no yaml: the test is skipped.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
    import yaml
except ImportError as problem:
    print(f"skipped: {problem} (Debian: python3-jsonschema python3-yaml)")
    sys.exit(77)

CATCHABLE = {
    "unknown key": re.compile(r"unknown key '"),
    "missing key": re.compile(r"missing key '"),
    "wrong type": re.compile(r"expected (a duration such as '500 ns'|a size such as '64 KiB'|a bandwidth such as '400 Gb/s'|"
                             r"an integer such as '8'|a number such as '0\.5'|a ratio such as '0\.05' or '5 %'|true or false|a list|"
                             r"a map|a text), got (?P<found>.*)"),
    "no such choice": re.compile(r"unknown value '"),
    "no such model": re.compile(r"unknown (link type|fabric type|congestion control|NIC transport) '"),
    "unknown parameter": re.compile(r"unknown parameter '"),
}
# Right in form, and only too large; or a whole number to JSON, however it is written.
RIGHT_FORM = re.compile(r"'-?[0-9.]+(e[0-9]+)?( ?(ps|ns|us|ms|s|min|h|d|B|[kMGTP]i?B|[kMGT]?b/s))?'")
INTEGER_IN_FORM = re.compile(r"an integer.*got '-?[0-9.]+(e[0-9]+)?'")

# As sim/output/check_file.cpp tells files apart.
KINDS = [("goodput", ["checkpoint", "restart"]), ("failure_rates", ["causes"]), ("prices", ["amortisation"]), ("power", ["pue"]),
         ("sweep", ["grid", "list", "latin_hypercube", "random", "derive", "where", "objective"]),
         ("scenario", ["workload", "cluster", "simulation"]), ("cluster", ["node", "nodes", "fabric"]),
         ("profile", ["parameters", "calibrations", "validation"]), ("node", ["devices", "links"]), ("gpu", ["peaks", "sms", "base"]),
         ("model", ["layers", "hidden", "heads"])]


class Loader(yaml.SafeLoader):
    """YAML 1.2's core, as editors read it: true and false alone are truths, and dates are texts."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in [("bool", r"^(true|false)$", "tf"), ("null", r"^(null|~|)$", ["n", "~", ""]),
                            ("int", r"^-?(0|[1-9][0-9]*)$", "-0123456789"),
                            ("float", r"^-?(0|[1-9][0-9]*)((\.[0-9]+)([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$", "-0123456789")]:
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))
Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))


def load(file):
    return yaml.load(file.read_text(encoding="utf-8"), Loader)


def kind_of(document, file, depth=0):
    names = [kind for kind, _ in KINDS]
    if "extends" in document and document.get("kind") not in names:
        base = file.parent / document["extends"]
        return kind_of(load(base), base, depth + 1) if base.exists() and depth < 8 else None
    if document.get("kind") in names:
        return document["kind"]
    return next((kind for kind, keys in KINDS if any(key in document for key in keys)), None)


class Schemas:
    """As `weft schema --out` writes them to `folder`."""

    def __init__(self, program, root, folder):
        self.program, self.root, self.folder = program, root, pathlib.Path(folder)
        self.environment = dict(os.environ, WEFT_CONFIG_DIR=str(root / "configs"))
        self.made = {}
        subprocess.run([program, "schema", "--out", folder], cwd=root, env=self.environment, check=True, capture_output=True)

    def text(self, kind):
        return subprocess.run([self.program, "schema", kind], cwd=self.root, env=self.environment, check=True, capture_output=True,
                              text=True).stdout

    def validator(self, kind):
        if kind not in self.made:
            schema = json.loads((self.folder / f"{kind}.json").read_text(encoding="utf-8"))
            jsonschema.Draft202012Validator.check_schema(schema)
            self.made[kind] = jsonschema.Draft202012Validator(schema)
        return self.made[kind]

    def problem(self, kind, document):
        """Empty: it validates."""
        found = jsonschema.exceptions.best_match(self.validator(kind).iter_errors(document))
        return "" if found is None else f"{'.'.join(map(str, found.absolute_path))}: {found.message[:200]}"


def shipped(schemas, root):
    wrong, count = [], 0
    for file in sorted((root / "configs").rglob("*.yaml")):
        document = load(file)
        kind = kind_of(document, file)
        problem = schemas.problem(kind, document) if kind else "of no kind"
        count += 1
        if problem:
            wrong.append(f"{file.relative_to(root)}: {kind}: {problem}")
    print(f"{count} shipped files, {len(wrong)} refused")
    return wrong


def mistakes(name, expected):
    """Kinds of mistake that a schema can tell, of those told of the file itself."""
    found = set()
    told = re.split(r"^(?=\S+:\d+:\d+: error: )", expected, flags=re.MULTILINE)
    for place, message, rest in (re.match(r"(.*?)(?:: error: (.*))?\n((?:.|\n)*)", one).groups("") for one in told if one):
        if "missing key" in message and "note: expected" not in rest:
            continue  # needed beside some other key only
        if not name.endswith("profile.yaml") and re.match(r" +\d+ \|.*\b[a-z_]+(\.[a-z_]+)+: ", rest):
            continue  # stands under a key path, which is a key of its own to a schema
        if not re.fullmatch(re.escape(name) + r":\d+:\d+", place):
            continue
        for kind, pattern in CATCHABLE.items():
            match = pattern.search(message)
            if not match or (kind == "wrong type" and (RIGHT_FORM.fullmatch(match["found"]) and INTEGER_IN_FORM.search(message))):
                continue
            if kind == "wrong type" and RIGHT_FORM.fullmatch(match["found"]) and re.search("[A-Za-z]", match["found"]):
                continue
            found.add(kind)
    return found


def broken(schemas, root):
    wrong, caught, others = [], {}, []
    for file in sorted((root / "tests/apps/errors").glob("*.yaml")):
        name = str(file.relative_to(root))
        kinds = mistakes(name, file.with_suffix(".expected").read_text(encoding="utf-8"))
        try:
            document = load(file)
        except (yaml.YAMLError, UnicodeDecodeError):
            continue  # no document at all
        kind = kind_of(document, file) if isinstance(document, dict) else None
        if not kinds or kind is None:
            others.append(file.stem)
            continue
        if not schemas.problem(kind, document):
            wrong.append(f"{name}: {kind}: validates, though it has: {', '.join(sorted(kinds))}")
        for one in kinds:
            caught.setdefault(one, []).append(file.stem)
    for one, names in sorted(caught.items()):
        print(f"{one}: {', '.join(names)}")
        if not names:
            wrong.append(f"no broken input has the mistake '{one}'")
    print(f"{len(others)} inputs have mistakes that reading alone tells")
    wrong += [f"no broken input has the mistake '{one}'" for one in CATCHABLE if one not in caught]
    return wrong


# As in a user's folder, whose name is put in for DIR. Other inputs than those that the schemas are made from.
RESULT_FILES = {
    "sweep.yaml": "kind: sweep\nscenario: CONFIGS/scenarios/known_answers/k03_two_flows_share.yaml\ngrid: {simulation.seed: [1, 2]}\n"
                  "metrics: [fct_max_us, drops]\nobjective: {minimize: fct_max_us}\n",
}
RESULTS = {
    "run_result": ["run", "configs/scenarios/known_answers/k03_two_flows_share.yaml", "--json", "-"],
    "collective_result": ["collective", "all_gather", "--cluster", "configs/clusters/dgx_a100.yaml", "-b", "4K", "-e", "8K", "-f", "2",
                          "--json", "-"],
    "experts_result": ["experts", "combine", "--cluster", "dgx_h100", "--tokens", "64", "--mode", "low_latency", "--json", "-"],
    "step_result": ["step", "--model", "llama3_8b", "--cluster", "dgx_h100", "--phase", "prefill", "--context", "256", "--json", "-"],
    "topo_result": ["topo", "configs/clusters/dgx_h100.yaml", "--json", "-"],
    "plan_result": ["plan", "--model", "llama2_7b", "--cluster", "dgx_a100", "--batch", "16", "--sequence", "1024", "--budget-plans", "2",
                    "--power", "datasheets", "--json", "-"],
    "serving_plan_result": ["plan", "--serve", "--model", "llama3_8b", "--cluster", "h100x2", "--prompt", "96", "--output", "4",
                            "--slo", "tpot=90ms", "--token-budgets", "4096", "--json", "-"],
    "compare_result": ["compare", "configs/scenarios/known_answers/k03_two_flows_share.yaml", "--clusters",
                       "configs/clusters/clos_hpcc_32_hosts.yaml", "configs/clusters/fat_tree_k16.yaml", "--json", "-"],
    "sweep_result": ["sweep", "DIR/sweep.yaml", "--db", "DIR/sweep.sqlite", "--export", "json", "--to", "-"],
    "validate_result": ["validate", "--cluster", "h200x4", "tests/data/h200x4/all_reduce_2gpu.txt", "tests/data/h200x4/micro.json",
                        "--max-error", "1%", "--json", "-"],
    "replay_result": ["replay", "DIR/step.goal", "--cluster", "dgx_a100", "--repeat", "2", "--json", "-"],
    "goodput_result": ["goodput", "configs/goodput/llama3_405b_16k.yaml", "--json", "-"],
}
BEFORE = {"replay_result": ["run", "configs/scenarios/training/gpt_1f1b.yaml", "--set", "workload.batch.global=8", "--write-goal",
                            "DIR/step.goal", "--quiet"]}


def results(schemas, root):
    """Results of every command that writes one."""
    wrong = [f"{file.stem}: no result is tried" for file in schemas.folder.glob("*_result.json") if file.stem not in RESULTS]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in RESULT_FILES.items():
            (pathlib.Path(folder) / name).write_text(text.replace("CONFIGS", str(root / "configs")), encoding="utf-8")

        def run(words):
            words = [word.replace("DIR", folder) for word in words]
            return subprocess.run([schemas.program, *words], cwd=root, env=schemas.environment, check=False, capture_output=True, text=True)

        for kind, words in RESULTS.items():
            if kind in BEFORE:
                run(BEFORE[kind]).check_returncode()
            ran = run(words)
            if ran.returncode not in (0, 1):
                wrong.append(f"weft {' '.join(words)}: exits with {ran.returncode}: {ran.stderr}")
                continue
            result = json.loads(ran.stdout)
            problem = schemas.problem(kind, result)
            if problem:
                wrong.append(f"weft {' '.join(words)}: {kind}: {problem}")
            for key in ("version", "command"):
                if key in result and not schemas.problem(kind, {name: value for name, value in result.items() if name != key}):
                    wrong.append(f"{kind}: a result without {key} validates")
            if "digest" in result and not schemas.problem(kind, {**result, "digest": 1}):
                wrong.append(f"{kind}: a result whose digest is a number validates")
    print(f"{len(RESULTS)} results")
    return wrong


LISTS = {
    "- {file: '*.txt', nccl: {NVLS_ENABLE: 0}}\n- {file: old.txt, collective: all_gather}\n": True,
    "- {nccl: {ALGO: Ring}}\n": False,  # names no log
    "- {file: a.txt, collectiv: all_gather}\n": False,
    "- {file: a.txt, collective: all_gathr}\n": False,
    "file: a.txt\n": False,  # no list
}


def lists(schemas, root):
    """Lists of measured logs: those of docs/validation.md's kind validate, broken ones do not."""
    texts = {text: is_right for text, is_right in LISTS.items()}
    texts.update({file.read_text(encoding="utf-8"): True for file in (root / "validate").rglob("measurements.yaml")})
    return [f"measurements: {'refused' if is_right else 'validates'}: {text}" for text, is_right in texts.items()
            if (schemas.problem("measurements", yaml.load(text, Loader)) == "") != is_right]


def keys_of_one_choice(schemas):
    """A key that all but one choice of another key need is no key that all need."""
    def scenario(call):
        return {"cluster": "h200x4", "workload": {"collectives": [call]}}
    right = [{"kind": "alltoallv", "sizes": [["0", "1 KiB"], ["1 KiB", "0"]], "ranks": 2}, {"kind": "all_reduce", "bytes": "1 MiB"}]
    wrong = [{"bytes": "1 MiB"}]
    return ([f"scenario: refused: {call}" for call in right if schemas.problem("scenario", scenario(call))] +
            [f"scenario: validates: {call}" for call in wrong if not schemas.problem("scenario", scenario(call))])


def written(schemas, root):
    """--out writes what is printed, for every kind that is listed."""
    wrong = []
    listed = subprocess.run([schemas.program, "schema"], cwd=root, env=schemas.environment, check=True, capture_output=True,
                            text=True).stdout
    for file in sorted(schemas.folder.iterdir()):
        if f"\n  {file.stem}" not in listed:
            wrong.append(f"weft schema does not list {file.stem}")
    for kind in ("node", "topo_result"):
        if (schemas.folder / f"{kind}.json").read_text(encoding="utf-8") != schemas.text(kind):
            wrong.append(f"{kind}.json is not what weft schema {kind} prints")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path)
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    with tempfile.TemporaryDirectory() as folder:
        schemas = Schemas(arguments.program.resolve(), root, folder)
        wrong = shipped(schemas, root) + broken(schemas, root) + results(schemas, root) + lists(schemas, root) + keys_of_one_choice(schemas) + written(
            schemas, root)
    for one in wrong:
        print(one)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
