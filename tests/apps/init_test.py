"""`weft init` writes a project that is well-formed and runs, and writes over nothing; `weft` alone says what to try.

    init_test.py WEFT
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
FILES = {"cluster.yaml", "profile.yaml", "model.yaml", "scenario.yaml", "README.md"}


def weft(*words, folder=None):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, cwd=folder)


class Init(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name) / "my project"

    def test_writes_a_project_that_is_well_formed_and_runs(self):
        made = weft("init", str(self.folder))
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual({file.name for file in self.folder.iterdir()}, FILES)
        checked = weft("check", ".", folder=self.folder)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        self.assertEqual(sorted(re.findall(r"^ok  \S*?(\w+)\.yaml: (\w+)", checked.stdout, re.MULTILINE)),
                         [("cluster", "cluster"), ("model", "model"), ("profile", "profile"), ("scenario", "scenario")])
        ran = weft("run", "scenario.yaml", folder=self.folder)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout, r"(?m)^iteration +\d")

    def test_commands_of_its_readme_are_commands(self):
        weft("init", str(self.folder))
        commands = re.findall(r"^    weft (.*?)(?: +#.*)?$", (self.folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertGreaterEqual(len(commands), 5)
        for command in commands:
            if command.startswith("plan"):
                command += " --budget-plans 1"  # the search of all takes long
            with self.subTest(command):
                done = weft(*command.split(), folder=self.folder)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_writes_over_nothing(self):
        for name in sorted(FILES):
            with self.subTest(name):
                folder = self.folder / name.partition(".")[0]
                folder.mkdir(parents=True)
                (folder / name).write_text("mine", encoding="utf-8")
                refused = weft("init", str(folder))
                self.assertEqual(refused.returncode, 2)
                self.assertIn(f"{name}' is there already", refused.stderr)
                self.assertEqual([file.name for file in folder.iterdir()], [name])
                self.assertEqual((folder / name).read_text(encoding="utf-8"), "mine")

    def test_does_not_follow_a_link_out_of_the_folder(self):
        self.folder.mkdir()
        (self.folder / "model.yaml").symlink_to(self.folder.parent / "elsewhere.yaml")
        self.assertEqual(weft("init", str(self.folder)).returncode, 2)
        self.assertFalse((self.folder.parent / "elsewhere.yaml").exists())

    def test_a_file_is_no_folder(self):
        self.folder.write_text("mine", encoding="utf-8")
        refused = weft("init", str(self.folder))
        self.assertEqual(refused.returncode, 2)
        self.assertEqual(self.folder.read_text(encoding="utf-8"), "mine")


class Alone(unittest.TestCase):
    def test_shows_five_commands_that_work(self):
        alone = weft()
        self.assertEqual(alone.returncode, 2)
        commands = re.findall(r"^  weft (.*?)(?:   .*)$", alone.stderr, re.MULTILINE)
        self.assertEqual(len(commands), 5)
        with tempfile.TemporaryDirectory() as folder:
            for command in commands:
                with self.subTest(command):
                    done = weft(*command.split(), folder=folder)
                    self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
