#!/usr/bin/env python3
"""Kernel logs that `weft trace kernels` takes from PyTorch profiles: real ones, as tests/data/h200x4/kernels has them, and shapes
made by hand.

    trace_kernels_test.py ROOT WEFT
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import patience

ROOT = pathlib.Path()
PROGRAM = ""
LISTS = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor>"
CATTED = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 3, 64, 64>"


class TraceKernels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def weft(self, *arguments, expect=0):
        done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              timeout=patience.seconds(120), check=False)
        self.assertEqual(done.returncode, expect, f"weft {arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def rows(self, *files):
        return [json.loads(line) for line in self.weft("trace", "kernels", *files, "--gpu", "h200_sxm").stdout.splitlines()]

    def profile(self, launched, name="shapes.json", between=",\n"):
        """Kernels of 10 us, each with the operator and the shapes of its inputs."""
        events = []
        for number, (operator, inputs, kernel) in enumerate(launched, start=1):
            events += [
                {"ph": "X", "cat": "cpu_op", "name": operator, "pid": 1, "tid": 1, "ts": 100 * number, "dur": 9,
                 "args": {"External id": number, "Input Dims": inputs}},
                {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": 100 * number + 20, "dur": 10,
                 "args": {"External id": number, "stream": 7, "correlation": number, "device": 0, "grid": [8, 1, 1]}}]
        head = '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": ['
        path = self.folder / name
        path.write_text(head + between.join(map(json.dumps, events)) + "]}", encoding="utf-8")
        return path

    def test_rows_of_real_profiles_are_those_that_were_calibrated_with(self):
        for short, step in (("ddp", "ddp_h4096_l8_s2048"), ("ep4", "ep4_h4096_l4_s4096_e8k2")):
            files = sorted((ROOT / "tests/data/traces").glob(f"{step}.kineto.rank*.json.gz"))
            known = [json.loads(line) for line in (ROOT / f"tests/data/h200x4/kernels/{short}.jsonl").read_text().splitlines()]
            found = self.rows(*files)
            self.assertEqual([list(row) for row in found], [list(row) for row in known], short)
            for ours, theirs in zip(found, known):
                for key, value in theirs.items():
                    if isinstance(value, float):  # medians of an even number lie between two digits
                        self.assertAlmostEqual(ours[key], value, delta=0.0011, msg=str(theirs))
                    else:
                        self.assertEqual(ours[key], value, str(theirs))

    def test_lists_of_tensors_count_all_of_them(self):
        rows = self.rows(self.profile([
            ("aten::cat", [[[1024, 64], [1024, 192]], []], CATTED),
            ("aten::stack", [[[512, 8], [512, 8]], []], CATTED),
            ("aten::_foreach_add_", [[[4096], [64, 64]], [[4096], [64, 64]], []], LISTS),
            ("aten::_foreach_mul_", [[[1000], [24]], []], LISTS),
            ("aten::sum", [[77, 3], [], [], []], "void at::native::reduce_kernel<512, 1>"),
        ]))
        shapes = {(row["kind"], row.get("strided"), row["elements"], row["bytes"]) for row in rows if "elements" in row}
        self.assertEqual(shapes, {
            ("strided", "stack", 1024 * 256, 4 * 1024 * 256),
            ("strided", "stack", 8192, 4 * 8192),
            ("elementwise", None, 8192, 6 * 8192),  # two lists read, one written
            ("elementwise", None, 1024, 4 * 1024),
        })
        self.assertEqual(rows[0], {"weft_kernels": 1, "gpu": "h200_sxm", "machine": "NVIDIA H200"})

    def test_separators_may_lie_anywhere(self):
        launched = [("aten::silu", [[1024, number]], "silu_kernel") for number in range(1, 4000)]
        plain = self.rows(self.profile(launched, "plain.json"))
        for width in (1, 61, 977):  # blanks shift events over the ends of whatever pieces the file is read in
            self.assertEqual(self.rows(self.profile(launched, "wide.json", " " * width + ",\n" + " " * width)), plain)

    def test_a_matrix_product_with_something_added_has_the_products_sides(self):
        rows = self.rows(self.profile([
            ("aten::addmm", [[512], [2048, 1024], [1024, 512], [], []], "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT"),
            ("aten::bmm", [[4, 256, 64], [4, 64, 128]], "nvjet_tst_128x128_64x6_2x1_v_bz_NTN")]))
        # A weight gradient's A is transposed: NTN.
        sides = [tuple(row.get(key) for key in ("m", "n", "k", "batch", "weight_gradient")) for row in rows if row.get("kind") == "gemm"]
        self.assertEqual(sorted(sides), [(256, 128, 64, 4, True), (2048, 512, 1024, 1, False)])

    def test_what_has_no_shapes_is_refused(self):
        path = self.profile([("aten::silu", [], "silu_kernel")])
        done = self.weft("trace", "kernels", path, "--gpu", "h200_sxm", expect=2)
        self.assertIn("no kernel has an operator with shapes that are known", done.stderr)
        self.assertIn("record_shapes=True", done.stderr)
        self.assertIn("h200_sxm", self.weft("trace", "kernels", path, "--gpu", "h2000", expect=2).stderr)


if __name__ == "__main__":
    ROOT, PROGRAM = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve())
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
