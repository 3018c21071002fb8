"""Progress on a terminal: a bar that never goes back, a rate, the time that is left; and nothing of it in a pipe.

    progress_test.py ROOT WEFT
"""
import contextlib
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import unittest

import patience

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
LOGS = ROOT / "tests/data/h200x4"
# Each takes longer than the 0.3 s before the first line.
PACKETS = ["run", ROOT / "configs/scenarios/alltoall_dcqcn.yaml"]
VALIDATION = ["validate", "--cluster", "h200x4", LOGS / "all_gather_4gpu.txt", LOGS / "all_reduce_2gpu.txt", "--uncertainty"]
PLAN = ["plan", "--model", "llama3_8b", "--cluster", "dgx_h100", "--budget-plans", "2"]


def drawn(*words):
    """What a command writes to a standard error that is a terminal."""
    controller, terminal = pty.openpty()
    environment = dict(os.environ, WEFT_CONFIG_DIR=str(ROOT / "configs"))
    with subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=terminal, env=environment) as process:
        os.close(terminal)
        text = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while data := os.read(controller, 4096):
                text += data
        os.close(controller)
        assert process.wait(timeout=patience.seconds(200)) == 0, text
    return text.decode("utf-8")


class Progress(unittest.TestCase):
    def assert_never_goes_back(self, text, unit):
        counts = [(int(done), int(total)) for done, total in re.findall(rf"\]  (\d+)/(\d+) {unit}", text)]
        self.assertGreater(len(counts), 1, text[:500])
        self.assertEqual(len({total for _, total in counts}), 1, "the whole changes")
        self.assertEqual([done for done, _ in counts], sorted(done for done, _ in counts))

    def test_packets_show_how_fast_they_run(self):
        text = drawn(*PACKETS)
        self.assert_never_goes_back(text, "collectives")
        self.assertRegex(text, r"\d [kM] events/s  simulated [\d.]+ [mun]s")

    def test_a_validation_and_its_uncertainty_are_one_bar(self):
        text = drawn(*VALIDATION)
        self.assert_never_goes_back(text, "rows")
        self.assertRegex(text, r"ETA \d+:\d\d")

    def test_a_fit_counts_without_a_bar_as_nobody_knows_its_end(self):
        lines = (LOGS / "all_reduce_4gpu_Ring_LL128.txt").read_text(encoding="utf-8").splitlines(keepends=True)
        rows = [line for line in lines if line.strip() and not line.startswith("#")]
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log.txt"
            log.write_text("".join([line for line in lines if line.startswith("#")] + rows[12:18]), encoding="utf-8")
            text = drawn("calibrate", log, "--cluster", "h200x4", "--fit", "device.launch.host_cost", "--sizes", "8-16G", "-o",
                         f"{folder}/p.yaml")
        counts = [int(count) for count in re.findall(r"\r(\d+) rows predicted", text)]
        self.assertGreater(len(counts), 1, text[:500])
        self.assertEqual(counts, sorted(counts))

    def test_a_plan_search_says_when_it_ends(self):
        self.assertRegex(drawn(*PLAN), r"\d+ s  \d+ plans simulated, \d+ wait  \d+\.\d/s  ends in \d+ s at the latest")

    def test_a_pipe_gets_nothing(self):
        environment = dict(os.environ, WEFT_CONFIG_DIR=str(ROOT / "configs"))
        for words in (PACKETS, PLAN):
            ran = subprocess.run([PROGRAM, *words], capture_output=True, text=True, env=environment, check=True)
            self.assertEqual(ran.stderr, "")


if __name__ == "__main__":
    unittest.main()
