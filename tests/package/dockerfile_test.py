"""The steps of the Dockerfile fit the tree: what it copies is there, options are ones that scripts take, and the tarball that it unpacks is the
one that tools/package.sh makes. Nothing is built.

    dockerfile_test.py ROOT
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
STEPS = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.M)).splitlines()
STEPS = [step.split(None, 1) for step in STEPS if step.strip()]
INSTALL = (ROOT / "tools/install_deps.sh").read_text(encoding="utf-8")


class Dockerfile(unittest.TestCase):
    def test_what_is_copied_from_the_tree_is_there(self):
        for name, rest in STEPS:
            if name == "COPY" and not rest.startswith("--from="):
                for path in rest.split()[:-1]:
                    self.assertTrue((ROOT / path).exists(), path)

    def test_stages_that_are_copied_from_exist_and_are_debian_12_or_cuda(self):
        stages = [re.fullmatch(r"(\S+) AS (\S+)", rest).groups() for name, rest in STEPS if name == "FROM"]
        images = {stage: image.partition("-")[0] for image, stage in stages}
        self.assertEqual(images.pop("measure"), images.pop("cuda"))  # the libraries that the runner was built with
        self.assertEqual(set(images.values()), {"debian:12"})
        self.assertEqual(stages[-1][1], "runtime")  # what `docker build` makes unless told
        for name, rest in STEPS:
            if name == "COPY" and rest.startswith("--from="):
                self.assertIn(rest.split()[0].removeprefix("--from="), [stage for _, stage in stages])

    def test_scripts_that_run_are_copied_before_and_take_their_options(self):
        runs = [command.strip() for name, rest in STEPS if name == "RUN" for command in rest.split("&&")]
        self.assertIn("tools/package.sh", runs)
        for command in runs:
            words = command.split()
            if words[0].startswith("tools/"):
                self.assertTrue((ROOT / words[0]).stat().st_mode & 0o100, words[0])
            if words[0] == "tools/install_deps.sh":
                self.assertIn(f"  {words[1]}) packages=", INSTALL)

    def test_the_tarball_has_the_name_that_packaging_gives(self):
        script = (ROOT / "tools/package.sh").read_text(encoding="utf-8")
        self.assertIn("name=weft-$version-linux-$(uname -m)", script)
        self.assertIn("out=$PWD/build/packages", script)
        copied = next(rest for name, rest in STEPS if name == "COPY" and rest.startswith("--from=build"))
        self.assertTrue(pathlib.PurePath("/weft/build/packages/weft-0.2.0-linux-x86_64.tar.gz").match(copied.split()[1]))


if __name__ == "__main__":
    unittest.main()
