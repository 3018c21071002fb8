"""One scenario with a mechanism switched off and on: the tests of folding, skipping and hybrid fidelity run their scenarios here.

A test's command line is [--show] [--only TEXT] [--every N] ROOT WEFT: --show prints a line for every scenario, --only runs those whose
name has TEXT in it, --every takes one of N of the steps that tests share.
"""
import argparse
import glob
import json
import pathlib
import shlex
import subprocess
import tempfile

import patience

TIME_LIMIT = 600  # seconds, of one run


class Scenario:
    """A file for `weft run`, its text with {root} for the project's folder; or, without a text, the whole command."""

    def __init__(self, name, text="", command=("run", "scenario.yaml")):
        self.name, self.text, self.command = name, text, command


class Switching:
    def __init__(self, what):
        parser = argparse.ArgumentParser(description=what)
        parser.add_argument("--show", action="store_true", help="a line for every scenario")
        parser.add_argument("--only", default="", help="scenarios whose name has this in it")
        parser.add_argument("--every", type=int, default=1, help="one of so many of the shared steps")
        parser.add_argument("root", type=pathlib.Path)
        parser.add_argument("weft", type=pathlib.Path)
        arguments = parser.parse_args()
        self.show, self.only, self.every = arguments.show, arguments.only, arguments.every
        self.root, self.weft = arguments.root.resolve(), arguments.weft.resolve()
        self.wrong = []

    def chosen(self, scenarios):
        return [each for each in scenarios if self.only in each.name]

    def run(self, scenario, options):
        """The result of a scenario with more options: the switch."""
        with tempfile.TemporaryDirectory() as folder:
            if scenario.text:
                (pathlib.Path(folder) / "scenario.yaml").write_text(self.text_of(scenario), encoding="utf-8")
            command = [self.weft, *self.command(scenario), *options, "--quiet", "--json", "-"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=patience.seconds(TIME_LIMIT), check=False)
        assert done.returncode == 0, f"{scenario.name}: exit {done.returncode}\n{done.stderr}\n{self.reproduce(scenario, [options])}"
        return json.loads(done.stdout)

    def show_line(self, line):
        if self.show:
            print(line, flush=True)

    def fail(self, scenario, why, *switches):
        """Keeps what is wrong, with both values in `why` and what the two runs were."""
        self.wrong.append(f"{scenario.name}: {why}\n{self.reproduce(scenario, switches)}")

    def is_wrong(self, compare):
        """Whether `compare` finds something wrong, which is then forgotten: of what is known to be wrong."""
        before, self.wrong = self.wrong, []
        compare()
        found, self.wrong = bool(self.wrong), before
        return found

    def finish(self, summary):
        assert not self.wrong, f"{len(self.wrong)} wrong\n" + "\n".join(self.wrong)
        print(summary)

    def text_of(self, scenario):
        return scenario.text.replace("{root}", str(self.root))

    def command(self, scenario):
        """Names with a * are those of the files."""
        words = [word.replace("{root}", str(self.root)) for word in scenario.command]
        return [each for word in words for each in (sorted(glob.glob(word)) if "*" in word else [word])]

    def reproduce(self, scenario, switches):
        lines = [shlex.join(["weft", *self.command(scenario), *options]) for options in switches]
        if scenario.text:
            lines += ["with scenario.yaml:", self.text_of(scenario)]
        return "\n".join("    " + line for text in lines for line in text.splitlines())
