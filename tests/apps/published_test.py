#!/usr/bin/env python3
"""The published rows: each is a scenario that `weft check` accepts, and the script turns results into the units that were printed.

    published_test.py ROOT WEFT
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]) if len(sys.argv) > 2 else pathlib.Path(__file__).resolve().parents[2]
WEFT = sys.argv[2] if len(sys.argv) > 2 else ""
sys.path[:0] = [str(ROOT / "validate/published"), str(ROOT / "validate/training")]
import blocks  # noqa: E402
import rows  # noqa: E402
import torch_blocks_summary as torch_blocks  # noqa: E402
import torch_steps  # noqa: E402


def result(seconds, gpus, model, batch, tflops=0.0):
    return {"iteration_time_ns": seconds * 1e9, "gpus": gpus, "model_tflops_per_gpu": tflops, "tokens_per_second_per_gpu": 5.0,
            "configuration": {"scenario": {"workload": {"model": model, "batch": batch}}}}


GPT3 = {"layers": "96", "hidden": "12288", "vocab": "51200"}


# us of an alltoall in half, NCCL 2.29.2, by its bytes: tables of nccl-tests in ai-dynamo/aiconfigurator @ 095f58a, to which no
# profile was fitted.
ALLTOALLS = {
    ("dgx_h100", ()): {131072: 9.74, 524288: 14.85, 2097152: 18.58, 8388608: 41.36},
    ("dgx_b200", ()): {524288: 19.04, 2097152: 22.12, 8388608: 34.67},
    ("gb300_nvl72", ("-t", "4", "-g", "1")): {524288: 17.21, 2097152: 18.16, 8388608: 31.05},
}


class PublishedTest(unittest.TestCase):
    def test_alltoalls_change_from_ll_to_simple_where_published_ones_do(self):
        for (cluster, layout), published in ALLTOALLS.items():
            done = subprocess.run([WEFT, "collective", "alltoall", "-c", ROOT / f"configs/clusters/{cluster}.yaml", "-d", "half",
                                   "--nccl", "version=2.29.2", "-b", "128K", "-e", "8M", "-n", "20", *layout, "-q",
                                   "--json", "-"],
                                  capture_output=True, text=True, check=True)
            for point in json.loads(done.stdout)["points"]:
                if point["bytes"] in published:
                    ratio = point["time_us"] / published[point["bytes"]]
                    self.assertLess(abs(ratio - 1), 0.14, f"{cluster} {point['bytes']}: {ratio:.2f}")

    def test_every_row_is_a_scenario(self):
        self.assertGreater(len(blocks.all_rows()), 100)
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / rows.file_name(row) for row in blocks.all_rows()]
            self.assertEqual(len(set(files)), len(files))
            for row, file in zip(blocks.all_rows(), files):
                file.write_text(rows.scenario(row))
            done = subprocess.run([WEFT, "check", *map(str, files)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_96_form_gives_what_narayanan_printed(self):
        # models/workloads §8, case 33: 384 A100, B = 1536, 153 TFLOP/s are a step of 76.8 s.
        row = blocks.Row("9.2", "x", "x", "tflops", 153, formula="96")
        batch = {"global": "1536", "sequence": "2048"}
        self.assertAlmostEqual(rows.predicted(row, result(76.8, 384, GPT3, batch)), 153, delta=0.5)

    def test_the_72_form_gives_megascales_mfu(self):
        # models/workloads §9.4: 40.0 s on 256 A100 with V = 64000 are printed as 53.0 %.
        row = blocks.Row("9.4", "x", "x", "mfu", 53, formula="72")
        batch = {"global": "768", "sequence": "2048"}
        self.assertAlmostEqual(rows.predicted(row, result(40.0, 256, {**GPT3, "vocab": "64000"}, batch)), 53.0, delta=0.2)

    def test_samples_count_the_global_batch(self):
        batch = {"global": "144", "sequence": "1024"}
        whole = blocks.Row("9.8", "x", "x", "samples", 1)
        self.assertAlmostEqual(rows.predicted(whole, result(2.0, 8, GPT3, batch)), 72)
        self.assertAlmostEqual(rows.predicted(blocks.Row("9.13", "x", "x", "samples_per_gpu", 1), result(2.0, 8, GPT3, batch)), 9)

    def test_a_block_counts_once_and_refused_rows_not_at_all(self):
        errors = rows.block_errors([{"block": "9.8 GPT-3", "error": 0.1}, {"block": "9.8 LoRA", "error": -0.3},
                                    {"block": "9.1", "error": None}, {"block": "9.5", "error": 0.05}])
        self.assertEqual(set(errors), {"9.8", "9.5"})
        self.assertAlmostEqual(errors["9.8"], 0.2)

    def test_ranks_of_an_nvl72_job_leave_eight_gpus_of_each_rack(self):
        places = blocks.racks_of_64(128)
        self.assertEqual((places[63], places[64], places[127]), (63, 72, 135))

    def test_gpus_of_every_plan_are_those_of_its_name(self):
        for row in blocks.all_rows():
            if row.block != "9.4" or not row.name.split()[-1].isdigit():
                continue
            plan = row.changes["workload"]["parallelism"]
            gpus = 8 * plan.get("pipeline", 8) * plan["data"]
            self.assertEqual(gpus, int(row.name.split()[-1]), row.name)


class ProfilesTest(unittest.TestCase):
    """What profiles take from measurements in the tree is what those say."""

    def measured(self, name):
        return json.loads((ROOT / "validate/measured" / name).read_text())

    def assert_profile(self, profile, key, expected):
        text = (ROOT / "configs/validation" / profile).read_text()
        found = re.search(re.escape(key) + r": \{value: ([0-9.]+)", text)
        self.assertIsNotNone(found, key)
        self.assertAlmostEqual(float(found.group(1)) / expected, 1.0, delta=0.004, msg=key)

    def test_flash_attention_2_on_h100(self):
        runs = [run for run in self.measured("h100x1_torch.json")["runs"] if "kernels" in run]
        attention = torch_blocks.attention_rates(runs)
        self.assertEqual(sorted(attention), [8192, 32768])
        forward, backward = (sum(rates[i] for rates in attention.values()) / 2 / torch_blocks.PEAK["bf16"] for i in (0, 1))
        self.assert_profile("../profiles/h100_sxm.yaml", "gpu.attention.flash2_forward_efficiency", forward)
        self.assert_profile("../profiles/h100_sxm.yaml", "gpu.attention.flash2_backward_efficiency", backward)

    def test_flash_attention_2_and_fp8_on_h200(self):
        runs = [run for run in self.measured("h200x2_torch.json")["runs"] if "kernels" in run and not run["config"].get("cp")]
        forward, backward = (rate / torch_blocks.PEAK["bf16"] for rate in torch_blocks.attention_rates(runs)[8192])
        self.assert_profile("h200x2/profiles/h200_torch_fp8.yaml", "gpu.gemm.fp8_efficiency",
                            torch_blocks.gemm_rate(runs, True) / torch_blocks.PEAK["fp8"])
        self.assert_profile("../profiles/h200_sxm.yaml", "gpu.attention.flash2_forward_efficiency", forward)
        self.assert_profile("../profiles/h200_sxm.yaml", "gpu.attention.flash2_backward_efficiency", backward)

    def test_the_hosts_pace_by_kernels_of_a_layer(self):
        # Forward 13 kernels (two norms, four products, two batched ones with softmax and dropout between, activation, two residual
        # sums), backward 21; recomputation runs the forward ones again.
        kernels = {False: 13 + 21, True: 13 + 13 + 21}
        each = [1e3 * (run["forward_ms_a_layer"] + run["backward_ms_a_layer"]) / kernels[run["recompute"]]
                for run in self.measured("h100x1_host_pace.json")["runs"] if not run["tensor_parallel"]]
        self.assertEqual(len(each), 2)
        self.assert_profile("published/profiles/a100_sxm.yaml", "device.launch.host_cost", math.sqrt(each[0] * each[1]))


class TorchStepsTest(unittest.TestCase):
    """Compiled blocks on two H200: their steps were not fitted."""

    def test_six_layers_in_bf16(self):
        runs = [run for run in json.loads(torch_steps.MEASURED.read_text())["runs"]
                if run["config"].get("compile") and run["config"]["layers"] == 6 and not run["config"].get("fp8")]
        self.assertEqual(len(runs), 2)  # FSDP and tensor parallelism
        for run in runs:
            with self.subTest(torch_steps.name_of(run["config"])):
                predicted = torch_steps.predicted_ms(WEFT, run["config"])
                self.assertAlmostEqual(predicted / run["steady_ms"], 1.0, delta=0.05)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
