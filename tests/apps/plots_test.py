"""Every figure of plots/ from a small result: PNG and SVG are written, and a result of another kind is refused. The examples of
every script's help run as they stand, and draw the pictures that they name.

    plots_test.py SOURCE_DIR WEFT
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
SCRIPTS = sorted(file.name for file in (ROOT / "plots").glob("*.py") if file.name != "style.py")
LONG = {"dcqcn.py", "hpcc.py"}  # their studies take minutes, and tests of their own run these

POINT = {"collective": "all_reduce", "kind": "collective", "ranks": 4, "nodes": 1, "in_place": False, "file": "log.txt"}
SWEEP = {"points": [{**POINT, "bytes": 1 << n, "time_us": 10.0 + n, "busbw_GBps": 5.0 * n} for n in (10, 20, 30)]}
VALIDATION = {"points": [{**POINT, "bytes": 1 << n, "measured_us": 10.0, "predicted_us": 10.0 + n / 10, "relative_error": n / 100,
                          "training": n == 20} for n in (10, 20, 30)]}
LINKS = {"ports": [{"name": "n0.gpu0->n0.nvswitch0", "utilization": 0.5}, {"name": "n0.nvswitch0->n0.gpu0#1", "utilization": 0.9}]}
MANY_LINKS = {"ports": [{"name": f"n{h}.gpu{g}->leaf{g}", "utilization": 0.1 * g} for h in range(32) for g in range(8)]}
COMPARISON = {"clusters": [{"name": "A"}, {"name": "B"}],
              "workloads": [{"scenario": "s.yaml", "collective": "alltoall", "bytes": 1 << 20,
                             "runs": [{"time_us": 10.0}, {"time_us": 20.0}]},
                            {"scenario": "s.yaml", "collective": "all_gather", "bytes": 1 << 20, "runs": [{"time_us": 5.0}, None]}]}
SERIES = {"series": [{"quantity": "queue", "of": "s0->h1", "time_ns": [0, 1000, 2000], "value": [0, 4096, 1024]},
                     {"quantity": "rate", "of": 3, "time_ns": [0, 1000, 2000], "value": [100, 50, 75]}]}
TIMELINE = {"traceEvents": [
    {"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "rank 0 channels"}},
    {"name": "thread_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "channel 0 lane 0"}},
    {"name": "all_reduce 4096", "cat": "collective", "ph": "X", "ts": 0, "dur": 9, "pid": 0, "tid": 0, "args": {"calls": 1}},
    {"name": "wait", "cat": "wait", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 0, "args": {"call": 0}},
    {"name": "send 1", "cat": "step", "ph": "X", "ts": 3, "dur": 5, "pid": 1, "tid": 0, "args": {"call": 0, "bytes": 4096}}]}
STEPS = [{"tokens_per_second": 1000.0 * n, "gpus": n} for n in (1, 2, 4)]


class PlotsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def draw(self, script, *results, arguments=(), status=0):
        names = []
        for index, result in enumerate(results):
            names.append(f"result{index}.json")
            (self.folder / names[-1]).write_text(json.dumps(result), encoding="utf-8")
        done = subprocess.run([sys.executable, ROOT / "plots" / script, *names, "-o", "figure", *arguments], cwd=self.folder,
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def assert_drawn(self, script, *results, arguments=()):
        self.draw(script, *results, arguments=arguments)
        self.assertEqual((self.folder / "figure.png").read_bytes()[:4], b"\x89PNG")
        self.assertIn("<svg", (self.folder / "figure.svg").read_text(encoding="utf-8"))

    def test_a_sweep(self):
        self.assert_drawn("collective_sweep.py", SWEEP, SWEEP)

    def test_a_validation(self):
        self.assert_drawn("validation.py", VALIDATION)

    def test_links(self):
        self.assert_drawn("link_heatmap.py", LINKS)

    def test_links_of_many_hosts_are_joined(self):
        self.assert_drawn("link_heatmap.py", MANY_LINKS)

    def test_scaling(self):
        self.assert_drawn("scaling.py", *STEPS)

    def test_a_comparison(self):
        self.assert_drawn("comparison.py", COMPARISON)
        self.assert_drawn("comparison.py", COMPARISON, arguments=["--relative"])

    def test_series(self):
        self.assert_drawn("series.py", SERIES)

    def test_a_timeline_of_channels(self):
        self.assert_drawn("timeline.py", TIMELINE)
        self.draw("timeline.py", TIMELINE, arguments=["--iteration", "1"], status=2)

    def test_examples_of_every_help_run_as_they_stand(self):
        for name in ("configs", "plots", "tests", "validate"):
            (self.folder / name).symlink_to(ROOT / name)
        environment = dict(os.environ, PATH=f"{PROGRAM.parent}:{os.environ['PATH']}", WEFT_CONFIG_DIR=str(ROOT / "configs"))
        for script in SCRIPTS:
            told = subprocess.run([sys.executable, ROOT / "plots" / script, "--help"], capture_output=True, text=True, check=True).stdout
            told = told.split("\n\n", 1)[1].split("\npositional arguments:")[0]  # between the usage and the arguments
            example = "".join(f"{line[4:]}\n" for line in told.splitlines() if line.startswith("    "))
            with self.subTest(script):
                self.assertIn(f"plots/{script}", example)
                subprocess.run(["bash", "-n"], input=example, text=True, check=True)
                if script in LONG:
                    continue
                ran = subprocess.run(["bash", "-ec", example], cwd=self.folder, env=environment, capture_output=True, text=True,
                                     timeout=300, check=False)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                for picture in re.findall(r"-o (\S+)", example):
                    self.assertTrue(any((self.folder / f"{picture}{end}").stat().st_size > 1000 for end in ("", ".png")
                                        if (self.folder / f"{picture}{end}").exists()), picture)

    def test_every_figure_has_a_title(self):
        for script in SCRIPTS:
            self.assertIn("style.title(", (ROOT / "plots" / script).read_text(encoding="utf-8"), script)

    def test_the_same_picture_twice(self):
        self.draw("collective_sweep.py", SWEEP)
        first = (self.folder / "figure.svg").read_bytes()
        self.draw("collective_sweep.py", SWEEP)
        self.assertEqual(first, (self.folder / "figure.svg").read_bytes())

    def test_a_result_of_another_kind_is_refused(self):
        done = self.draw("comparison.py", SWEEP, status=2)
        self.assertIn("expected a result with workloads", done.stderr)


if __name__ == "__main__":
    unittest.main()
