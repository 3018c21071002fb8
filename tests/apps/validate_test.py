"""What `weft validate` and `weft calibrate` promise: exit statuses, streams, files, and that what was fitted on is never counted."""

import argparse
import csv
import html.parser
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import patience

PROGRAM = ""
SOURCE = pathlib.Path()

# The shipped node; the profile is the test's own.
CLUSTER = """
name: four
profile: profile.yaml
node: {type: h200x4}
"""
PROFILE = """
kind: profile
name: start
parameters:
  network.nvlink4.efficiency: {value: 0.9, source: assumed}
"""
HEAD = """# env NCCL_NVLS_ENABLE=0
# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 4 minBytes 64 maxBytes 4294967296 step: 2(factor) warmup iters: 10 iters: 40 agg iters: 1 validation: 0 graph: 0
#  Rank  0 Group  0 Pid 1 on node device  0 [0000:00:06] NVIDIA H200
#  Rank  1 Group  0 Pid 1 on node device  1 [0000:00:07] NVIDIA H200
#  Rank  2 Group  0 Pid 1 on node device  2 [0000:00:08] NVIDIA H200
#  Rank  3 Group  0 Pid 1 on node device  3 [0000:00:09] NVIDIA H200
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
"""
TAIL = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1\n"
HEADER_KEYS = ["version", "commit", "command", "command_line", "seed", "configuration", "profile", "warnings", "digest", "interrupted"]
POINT_KEYS = ["file", "kind", "collective", "ranks", "nodes", "bytes", "algorithm", "protocol", "channels", "time_us", "algbw_GBps",
              "busbw_GBps", "in_place", "measured_us", "predicted_us", "relative_error", "training"]
SUMMARY_KEYS = ["points", "median", "geomean", "p95", "max"]
MIB = 1 << 20


def log(times):
    """A log of all-reduce; `times` are microseconds by size. In place takes 1 us more."""
    rows = [f"{size} {size // 4} float sum -1 {time:.2f} 0.00 0.00 N/A {time + 1:.2f} 0.00 0.00 N/A\n" for size, time in times.items()]
    return HEAD + "".join(rows) + TAIL


class Page(html.parser.HTMLParser):
    """Notes what a page would fetch or run."""

    def __init__(self):
        super().__init__()
        self.outside = []
        self.rows = 0

    def handle_starttag(self, tag, attributes):
        self.rows += tag == "tr"
        if tag in ("script", "link", "img", "iframe") or any(name == "src" or (name == "href" and not value.startswith("#")) for name, value in attributes):
            self.outside.append(tag)


class Test(unittest.TestCase):
    GRAIN = []

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("cluster.yaml", CLUSTER)
        self.write("profile.yaml", PROFILE)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def weft(self, *arguments, status=0):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=patience.seconds(120), check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def validate(self, *arguments, status=0):
        self.weft("validate", "--cluster", "cluster.yaml", "--json", "result.json", *self.GRAIN, *arguments, status=status)
        return json.loads((self.folder / "result.json").read_text(encoding="utf-8"))

    def calibrate(self, *arguments, status=0):
        fixed = ["--cluster", "cluster.yaml", "--date", "2025-11-21", *self.GRAIN]
        return self.weft("calibrate", "log.txt", *fixed, *arguments, status=status)

    def write_simulated_log(self, sizes, efficiency="0.7"):
        """A log with the times that the cluster takes at another efficiency."""
        self.write("truth.yaml", PROFILE.replace("0.9", efficiency))
        self.write("log.txt", log({size: 1.0 for size in sizes}))
        points = self.validate("log.txt", "--profile", "truth.yaml")["points"]
        self.write("log.txt", log({point["bytes"]: point["predicted_us"] for point in points if not point["in_place"]}))


class ValidateTest(Test):
    def test_json_has_the_keys_that_programs_rely_on(self):
        self.write("log.txt", log({64: 20.0, MIB: 30.0, 64 * MIB: 300.0}))
        result = self.validate("log.txt")
        for key in HEADER_KEYS:
            self.assertIn(key, result)
        self.assertEqual(result["command"], "validate")
        self.assertEqual(result["profile"]["name"], "start")
        self.assertEqual(result["profile"]["stated_error"], "not validated")
        self.assertEqual(result["calibrations"], [])
        self.assertEqual(len(result["points"]), 6)
        for point in result["points"]:
            self.assertLessEqual(set(POINT_KEYS), set(point))
            self.assertAlmostEqual(point["relative_error"], point["predicted_us"] / point["measured_us"] - 1, places=9)
            self.assertEqual(point["file"], "log.txt")
        self.assertEqual(list(result["summary"]), SUMMARY_KEYS)
        self.assertEqual(result["summary"]["points"], 3)
        self.assertEqual(result["summary_by"]["all_reduce"], result["summary"])
        self.assertEqual(result["summary_by_file"]["log.txt"], result["summary"])
        self.assertEqual(result["configuration"]["measurements"][0]["nccl"], {"NCCL_NVLS_ENABLE": "0"})

    def test_results_go_to_stdout_and_repeat(self):
        self.write("log.txt", log({64: 20.0, MIB: 30.0}))
        first = self.weft("validate", "--cluster", "cluster.yaml", "log.txt")
        second = self.weft("validate", "--cluster", "cluster.yaml", "log.txt")
        self.assertEqual(first.stderr, "")
        self.assertIn("profile start: not validated", first.stdout)
        self.assertIn("fitted on no measurement", first.stdout)
        digest = r"# digest ([0-9a-f]{16})"
        self.assertEqual(re.search(digest, first.stdout).group(1), re.search(digest, second.stdout).group(1))

    def test_limits_set_the_exit_status(self):
        self.write_simulated_log([64 * MIB, 128 * MIB])
        arguments = ["--profile", "truth.yaml", "--max-median", "0.1%", "--max-p95", "0.001", "--max-error", "1 %"]
        self.assertEqual(self.validate("log.txt", *arguments)["missed"], [])
        missed = self.weft("validate", "--cluster", "cluster.yaml", "log.txt", "--max-median", "5%", "--max-error", "90%", status=1)
        self.assertRegex(missed.stderr, r"^failed: median error is \d+\.\d+ %, over the limit of 5 %\n$")
        self.assertIn("over the limits", missed.stdout)

    def test_a_limit_that_no_point_counts_for_is_missed(self):
        self.write("log.txt", "node:1:1 [0] NCCL INFO NCCL version 2.28.9\n" + log({MIB: 30.0}))
        missed = self.weft("validate", "--cluster", "cluster.yaml", "log.txt", "--max-median", "5%", status=1)
        self.assertIn("no point counts", missed.stderr)

    def test_report_is_a_folder_of_files_that_need_nothing_else(self):
        self.write("log.txt", log({64: 20.0, MIB: 30.0}))
        self.validate("log.txt", "--report", "deep/report")
        folder = self.folder / "deep" / "report"
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["index.html", "points.csv", "report.json", "report.md"])
        with open(folder / "points.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["bytes"] for row in rows], ["64", "64", str(MIB), str(MIB)])
        self.assertEqual([row["excluded"] for row in rows], ["", "in place", "", "in place"])
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        self.assertEqual(report["summary"]["points"], 2)
        self.assertEqual(len(report["points"]), 4)
        self.assertIn("| all_reduce | all | 2 |", (folder / "report.md").read_text(encoding="utf-8"))
        page = Page()
        page.feed((folder / "index.html").read_text(encoding="utf-8"))
        self.assertEqual(page.outside, [])
        self.assertGreater(page.rows, 6)

    def test_settings_of_the_command_line_win_over_the_log(self):
        self.write("log.txt", log({64 * MIB: 300.0}))
        self.assertEqual(self.validate("log.txt", "--nccl", "MAX_NCHANNELS=3")["points"][0]["channels"], 3)

    def test_bad_input_exits_with_2(self):
        self.write("log.txt", log({MIB: 30.0}))
        self.write("misspelt.yaml", CLUSTER + "nccl: {PROTO: Simpel}\n")
        cases = [
            (["--max-median", "5"], "--max-median: expected a share such as 5% or 0.05, got '5'"),
            (["--max-p95", "some"], "--max-p95: expected a share"),
            (["--nccl", "MAX_CHANNELS=3"], "unknown NCCL variable"),
            (["--nccl", "ALGO=Rign"], "did you mean 'Ring'?"),
            (["--cluster", "misspelt.yaml"], "misspelt.yaml:5:8: error: cluster.nccl.PROTO: NCCL_PROTO=Simpel"),
            (["absent.txt"], "absent.txt"),
            (["--profile", "absent.yaml"], "absent.yaml"),
            (["--timeline", "t.json"], "--timeline"),
        ]
        for arguments, message in cases:
            with self.subTest(arguments=arguments):
                cluster = [] if "--cluster" in arguments else ["--cluster", "cluster.yaml"]
                done = self.weft("validate", *cluster, "log.txt", *arguments, status=2)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stdout, "")


class CalibrateTest(Test):
    """A fit predicts its rows a hundred times and more, so the machine that is measured and fitted is the fluid one."""

    GRAIN = ["--grain", "fluid"]
    SIZES = [16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB, 256 * MIB, 512 * MIB]
    FIT = ["--fit", "network.nvlink4.efficiency,collectives.simple.base_latency", "--sizes", "16M,64M,512M", "-o", "fitted.yaml"]

    def test_writes_a_profile_that_recovers_the_truth(self):
        self.write_simulated_log(self.SIZES)
        done = self.calibrate(*self.FIT, "--validate-from", "64M")
        self.assertEqual(done.stderr, "")
        text = (self.folder / "fitted.yaml").read_text(encoding="utf-8")
        efficiency = float(re.search(r"efficiency: \{value: ([\d.]+), source: fitted, calibration: all_reduce\}", text).group(1))
        self.assertAlmostEqual(efficiency, 0.7, delta=0.005 * 0.7)
        for line in ["name: fitted", "date: 2025-11-21", "machine: 4 x NVIDIA H200", "samples: 3"]:
            self.assertIn(line, text)
        self.assertRegex(text, r"data: log.txt from 64 MiB, points: 2,")
        self.weft("check", "fitted.yaml")

    def test_what_was_fitted_on_is_training_and_not_counted(self):
        self.write_simulated_log(self.SIZES)
        self.calibrate(*self.FIT)
        result = self.validate("log.txt", "--profile", "fitted.yaml")
        training = {point["bytes"] // MIB for point in result["points"] if point["training"]}
        self.assertEqual(training, {16, 64, 512})
        self.assertEqual(result["summary"]["points"], 3)
        self.assertEqual(result["calibrations"][0]["training"][0]["bytes"], [16 * MIB, 64 * MIB, 512 * MIB])
        short = self.weft("validate", "--cluster", "cluster.yaml", *self.GRAIN, "--profile", "fitted.yaml", "log.txt").stdout
        summary = result["summary"]
        self.assertEqual(short.splitlines()[1], f"error  median {100 * summary['median']:.2f} %, 95th percentile {100 * summary['p95']:.2f} %, "
                         f"largest {100 * summary['max']:.2f} %, of 3 points that were not fitted")
        self.assertIn("# 1 calibration of the profile: -v tells each\n", short)
        table = self.weft("validate", "--cluster", "cluster.yaml", "--profile", "fitted.yaml", "log.txt", "-v").stdout
        self.assertIn("calibration all_reduce: ", table)
        self.assertIn("log.txt (all_reduce, 4 ranks: 16 MiB, 64 MiB, 512 MiB)", table)

    def test_uncertainty_of_a_prediction_is_that_of_the_values_behind_it(self):
        fit = ("calibrations: {a: {date: d, tool: t, machine: m, samples: 1, fit_error: 1 %, training: [], "
               "uncertainty: [{parameter: network.nvlink4.efficiency, std_error: 5 %}]}}")
        self.write("known.yaml", PROFILE.replace("source: assumed", "source: measured, calibration: a").rstrip() + "\n" + fit + "\n")
        self.write("log.txt", log({64: 20.0, 1024 * MIB: 4500.0}))
        table = self.weft("validate", "--cluster", "cluster.yaml", "--profile", "known.yaml", "--uncertainty", *self.GRAIN, "log.txt").stdout
        self.assertRegex(table, r"calibrations make of collective: 2 predictions, median \d")
        small, large = (point for point in self.validate("log.txt", "--profile", "known.yaml", "--uncertainty")["points"] if not point["in_place"])
        self.assertIsNone(small["predicted_sd"])  # links do not act on 64 B
        self.assertAlmostEqual(large["predicted_sd"], math.log(1.05), delta=0.1 * math.log(1.05))  # links set the pace of 1 GiB
        self.assertTrue(all(point["predicted_sd"] is None for point in self.validate("log.txt", "--profile", "known.yaml")["points"]))

    def test_a_cluster_may_name_the_profile_that_is_to_be_written(self):
        self.write_simulated_log(self.SIZES)
        (self.folder / "profile.yaml").unlink()
        self.calibrate(*self.FIT[:-1], "profile.yaml")
        self.weft("check", "profile.yaml")
        self.validate("log.txt")

    def test_a_profile_on_stdout_is_nothing_but_the_profile(self):
        self.write_simulated_log(self.SIZES)
        done = self.calibrate(*self.FIT[:-1], "-")
        self.assertTrue(done.stdout.startswith("kind: profile\nname: "))

    def test_the_same_inputs_give_the_same_file(self):
        self.write_simulated_log(self.SIZES)
        first = self.calibrate(*self.FIT[:-1], "-").stdout
        self.assertEqual(first, self.calibrate(*self.FIT[:-1], "-").stdout)

    def test_a_value_at_the_end_of_its_range_is_an_error_with_advice(self):
        self.write("log.txt", log({512 * MIB: 800.0}))  # twice as fast as the links
        fit = ["--fit", "network.nvlink4.efficiency", "--sizes", "512M", "-o", "fitted.yaml"]
        done = self.calibrate(*fit, status=2)
        self.assertRegex(done.stderr, r"error: network.nvlink4.efficiency ends at the upper end of its range, 1: .*\n +--keep-bounds ")
        self.assertFalse((self.folder / "fitted.yaml").exists())
        self.assertIn("warning: network.nvlink4.efficiency ends at the upper end", self.calibrate(*fit, "--keep-bounds").stderr)
        self.weft("check", "fitted.yaml")

    def test_bad_input_exits_with_2_and_writes_nothing(self):
        self.write("log.txt", log({MIB: 30.0, 64 * MIB: 300.0}))
        good = ["--fit", "network.nvlink4.efficiency", "--sizes", "64M", "-o", "fitted.yaml"]
        cases = [
            (["--fit", "network.nvlink4.eficiency", *good[2:]], "did you mean 'network.nvlink4.efficiency'?"),
            ([*good[:3], "65M", *good[4:]], "no log has an out-of-place row of 65 MiB"),
            ([*good[:3], "64 apples", *good[4:]], "--sizes: expected a size such as 64M"),
            ([*good[:3], ",", *good[4:]], "--sizes or --train: expected what to fit to"),
            ([*good, "--date", "yesterday"], "--date: expected a day such as 2025-11-21"),
            ([*good[:5], "absent/fitted.yaml"], "absent/fitted.yaml"),
        ]
        for arguments, message in cases:
            with self.subTest(arguments=arguments):
                command = ["calibrate", "log.txt", "--cluster", "cluster.yaml", *arguments]
                self.assertIn(message, self.weft(*command, status=2).stderr)
                self.assertFalse((self.folder / "fitted.yaml").exists())


class KernelsTest(Test):
    """Logs of kernels, which no cluster and no simulation is needed for."""

    def setUp(self):
        super().setUp()
        self.logs = sorted(str(path) for path in (SOURCE / "tests" / "data" / "h200x4" / "kernels").glob("*.jsonl"))

    def test_the_shipped_profile_is_what_the_shipped_logs_give(self):
        shipped = SOURCE / "configs" / "profiles" / "h200_sxm.yaml"
        text = shipped.read_text(encoding="utf-8")
        self.weft("calibrate", *self.logs, "--profile", str(shipped), "-o", "again.yaml")
        again = (self.folder / "again.yaml").read_text(encoding="utf-8")
        # The version that fitted and its day stay in a profile, whatever version fits it again.
        tool = re.compile(r"tool: weft calibrate [0-9.]+|date: [0-9-]+")
        self.assertEqual(tool.sub("tool", again), tool.sub("tool", text))

    def test_kernels_are_points_and_those_fitted_to_do_not_count(self):
        result = self.validate(self.logs[0])
        kinds = {point["kind"] for point in result["points"]}
        self.assertEqual(kinds, {"gemm", "attention", "memory", "optimizer"})
        self.assertEqual(result["summary"]["points"], len(result["points"]))
        self.weft("calibrate", *self.logs, "--profile", "profile.yaml", "-q", "-o", "fitted.yaml")
        result = self.validate(self.logs[0], "--profile", "fitted.yaml")
        self.assertTrue(all(point["training"] for point in result["points"]))
        self.assertEqual(result["summary"]["points"], 0)

    def test_uncertainty_of_a_kernel_is_that_of_its_own_class(self):
        self.write("known.yaml", "kind: profile\nname: known\nparameters: {gpu.gemm.efficiency: {value: 0.8, source: measured, calibration: a}}\n"
                   "calibrations: {a: {date: d, tool: t, machine: m, samples: 1, fit_error: 1 %, training: [], "
                   "uncertainty: [{parameter: gpu.gemm.efficiency, std_error: 5 %}]}}\n")
        points = self.validate(self.logs[0], "--profile", "known.yaml", "--uncertainty")["points"]
        longest = max((point for point in points if point["kind"] == "gemm"), key=lambda point: point["predicted_us"])
        self.assertAlmostEqual(longest["predicted_sd"], math.log(1.05), delta=0.15 * math.log(1.05))  # multiplying is nine tenths
        self.assertTrue(all(point["predicted_sd"] is None for point in points if point["kind"] != "gemm"))

    def test_fitted_profile_says_how_well_it_knows_kernels(self):
        self.weft("calibrate", *self.logs, "--profile", "profile.yaml", "-q", "-o", "fitted.yaml")
        table = self.weft("validate", "--cluster", "cluster.yaml", "--profile", "fitted.yaml", "--uncertainty", "--report", "report", self.logs[0]).stdout
        for kind in ["gemm", "attention", "memory", "optimizer"]:
            self.assertRegex(table, rf"calibrations make of {kind}: \d+ predictions, median \d")
            self.assertRegex((self.folder / "report" / "report.md").read_text(encoding="utf-8"), rf"\| {kind} \| \d+ \| \d+\.\d+ \|")
        self.assertIn("One standard error of the predictions", (self.folder / "report" / "index.html").read_text(encoding="utf-8"))

    def test_bad_input_exits_with_2(self):
        self.write("log.txt", log({64 * MIB: 300.0}))
        out = ["-o", "fitted.yaml"]
        for arguments, message in [
                ([self.logs[0], "log.txt", *out], "one after the other, not together"),
                ([self.logs[0], *out], "--profile or --cluster: expected the profile"),
                ([self.logs[0], "--profile", "profile.yaml", "--fit", "gpu.gemm.fixed", *out], "--fit: not for kernels"),
                (["log.txt", *out], "--cluster: expected the cluster"),
        ]:
            done = self.weft("calibrate", *arguments, status=2)
            self.assertIn(message, done.stderr)
            self.assertFalse((self.folder / "fitted.yaml").exists())


class MeasuredNodeTest(Test):
    """The real logs: all-reduce of four GPUs, fitted on two of the seven sizes from 64 MiB up, message by message."""

    def test_all_reduce_from_64_mib_is_within_5_percent_and_its_median_within_2(self):
        data = SOURCE / "tests" / "data" / "h200x4" / "all_reduce_4gpu.txt"
        cluster = ["--cluster", str(SOURCE / "configs" / "clusters" / "h200x4.yaml")]
        self.weft("calibrate", str(data), *cluster, "--profile", str(SOURCE / "configs" / "profiles" / "h100_sxm.yaml"), "--fit",
                  "network.nvlink4.efficiency", "--sizes", "64M,512M", "-o", "fitted.yaml")
        self.weft("validate", str(data), *cluster, "--profile", "fitted.yaml", "--json", "result.json")
        points = json.loads((self.folder / "result.json").read_text(encoding="utf-8"))["points"]
        errors = sorted(abs(p["relative_error"]) for p in points if not p["in_place"] and p["bytes"] >= 64 * MIB)
        self.assertEqual(len(errors), 7)
        self.assertLess(errors[-1], 0.05)
        self.assertLess(errors[3], 0.02)


def main():
    global PROGRAM, SOURCE
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path, help="the checkout")
    parser.add_argument("program", type=pathlib.Path, help="the weft that was built")
    arguments, rest = parser.parse_known_args()
    PROGRAM = str(arguments.program.resolve())
    SOURCE = arguments.source.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
