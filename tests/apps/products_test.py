#!/usr/bin/env python3
"""Products that a user measured: `weft calibrate --products` writes them, and steps and errors follow the table.

    products_test.py ROOT WEFT
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SHAPE = {"kind": "gemm", "m": 64, "n": 4096, "k": 4096, "type": "bf16", "launch": "graph"}
GAP = 0.5  # us


class Products(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("bare.yaml", f"kind: profile\nname: bare\ngpu: H100\nparameters: {{gpu.stream.graph_gap: {GAP} us}}\n")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run_weft(self, *args):
        return subprocess.run([PROGRAM, *args], cwd=self.folder, capture_output=True, text=True)

    def step(self, profile):
        done = self.run_weft("step", "--model", "llama3_8b", "--cluster", "dgx_h100", "--phase", "decode", "--batch", "64",
                             "--context", "1024", "--full-clock", "--profile", profile, "--json", "step.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        kernels = json.loads((self.folder / "step.json").read_text(encoding="utf-8"))["kernels"]
        return {kernel["name"]: kernel for kernel in kernels}, done.stdout

    def test_records_become_a_table_and_the_table_a_step(self):
        header = {"weft_measurements": 1, "kind": "header", "tool": "test", "machine": {"gpus": [{"index": 0, "name": "h100_sxm"}]}}
        records = [header, *({"id": str(us), **SHAPE, "median_us": us} for us in (11, 12.5, 20)), {"kind": "end", "reason": "finished"}]
        self.write("records.jsonl", "".join(json.dumps(record) + "\n" for record in records))
        self.write("there/none", "")
        done = self.run_weft("calibrate", "records.jsonl", "--cluster", "dgx_h100", "--profile", "bare.yaml", "--products", "own.csv",
                             "-o", "there/own.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        # The median of three, without the gap before the kernel.
        table = (self.folder / "own.csv").read_text(encoding="utf-8").splitlines()
        self.assertEqual(table[1:], [f"64,4096,4096,bf16,{12.5 - GAP:g},tensor,0,0"])
        self.assertIn("products:\n  - ../own.csv\n", (self.folder / "there/own.yaml").read_text(encoding="utf-8"))

        formula, plain = self.step("bare.yaml")
        own, printed = self.step("there/own.yaml")
        self.assertAlmostEqual(own["attention_out"]["time_us"], 12.5, places=3)
        self.assertEqual(own["attention_out"]["measured_share"], 1)
        # Products of other shapes follow as far as they are near, and the others not at all.
        self.assertTrue(0 < own["head"]["measured_share"] < own["qkv"]["measured_share"] < 1)
        self.assertEqual(own["norm"]["time_us"], formula["norm"]["time_us"])
        self.assertIn("measured %", printed)
        self.assertNotIn("measured", plain)

    def test_products_of_another_gpu_are_told_of(self):
        header = {"weft_measurements": 1, "kind": "header", "tool": "test", "machine": {"gpus": [{"index": 0, "name": "NVIDIA H200"}]}}
        records = [header, {"id": "one", **SHAPE, "median_us": 11}, {"kind": "end", "reason": "finished"}]
        self.write("records.jsonl", "".join(json.dumps(record) + "\n" for record in records))
        done = self.run_weft("calibrate", "records.jsonl", "--cluster", "dgx_h100", "--profile", "bare.yaml", "--products", "own.csv",
                             "-o", "own.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"warning: measured on NVIDIA H200, but the GPUs of cluster '.*' are ")

    def test_wrong_rows_are_located(self):
        self.write("own.csv", "m,n,k,type,time_us\n64,4096,4096,bf16,12\n64,4096,4096,bf16,13\n1,2,3,bf16,-4\n1,2,3,bf61,4\n")
        self.write("own.yaml", "kind: profile\nname: own\nproducts: [own.csv]\n")
        done = self.run_weft("check", "own.yaml")
        self.assertEqual(done.returncode, 2)
        for text in ("own.csv:3:1: error: 64 x 4096 x 4096 bf16 takes 13 us here, and 12 us in ", "own.csv:4:12: error: time_us: expected a time",
                     "own.csv:5:7: error: unknown type 'bf61'"):
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv[2]).resolve())
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
