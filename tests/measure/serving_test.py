"""The companion of `weft measure --serving` without a GPU: its words, its shapes, and, over a stand-in for PyTorch, its files."""

import argparse
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path()
PROGRAM = ""


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Companion(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def environment(self, **settings):
        kept = {key: value for key, value in os.environ.items() if not key.startswith("NCCL_")}
        return {**kept, "PYTHONPATH": str((ROOT / "tests/measure/fake_torch").resolve()), **settings}

    def words(self, *arguments):
        return [sys.executable, str((ROOT / "validate/measure/serving.py").resolve()), *arguments]

    def run_it(self, *arguments, **settings):
        return subprocess.run(self.words(*arguments), cwd=self.folder.name, capture_output=True, text=True, check=False, timeout=60,
                              env=self.environment(**settings))

    def lines(self, name="measurements.jsonl"):
        return [json.loads(line) for line in (pathlib.Path(self.folder.name) / name).read_text().splitlines()]

    def assert_refused(self, result, pattern):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, pattern)
        self.assertEqual(list(pathlib.Path(self.folder.name).glob("measurements*")), [])


class Words(Companion):
    def test_help_and_version(self):
        result = self.run_it("--help")
        self.assertEqual(result.returncode, 0)
        for option in ("--model", "--tensor", "--budget", "--resume", "--output"):
            self.assertIn(option, result.stdout)
        self.assertEqual(self.run_it("--version").stdout, "weft-measure-serving 0.2.0\n")

    def test_without_pytorch_it_says_so(self):
        self.assert_refused(self.run_it(PYTHONPATH=self.folder.name, PYTHONNOUSERSITE="1"),
                            "needs PyTorch with CUDA|no GPU to measure|PyTorch does not start")

    def test_without_a_gpu_it_says_so(self):
        self.assert_refused(self.run_it(FAKE_GPUS="0"), "no GPU to measure: PyTorch 2.11.0")

    def test_an_old_pytorch_is_refused(self):
        self.assert_refused(self.run_it(FAKE_VERSION="2.4.1+cu121"), "needs PyTorch 2.5 or later, and .* has 2.4.1")

    def test_bad_words_are_refused(self):
        for words, pattern in ((["--model", "llama9"], "'llama9' is no file and none of llama2_7b"),
                               (["--model", '{"hidden": 4096}'], "expected 'ffn' .or 'intermediate_size'."),
                               (["--model", '{"hidden"'], "--model: Expecting"),
                               (["--model", '{"hidden": 64, "ffn": 64, "heads": 6, "kv_heads": 4, "layers": 1}'],
                                "6 heads do not share 4 key/value heads"),
                               (["--model", '{"experts": 8}'], "experts or latent attention are not measured"),
                               (["--tensor", "3"], "3 GPUs, but there are 2"),
                               (["--tensor", "0"], "expected a whole number from 1 to 1024"),
                               (["--budget", "soon"], "expected a time from 1s to 24h"),
                               (["--decode", "32"], "expected sequences x tokens such as 32x2048"),
                               (["--prefill", "1x1"], "of 2 tokens or more"),
                               (["--resume", "--force"], "--force: not with --resume"),
                               (["-o", "no/such/folder.jsonl"], "No such file")):
            with self.subTest(words=words):
                self.assert_refused(self.run_it(*words), pattern)

    def test_a_file_that_is_there_stays(self):
        path = pathlib.Path(self.folder.name) / "kept.jsonl"
        path.write_text("kept\n")
        for words in ([], ["--resume"]):
            result = self.run_it("-o", "kept.jsonl", *words)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(path.read_text(), "kept\n")


class Shapes(Companion):
    def setUp(self):
        super().setUp()
        self.blocks = load(ROOT / "validate/measure/weft_serving_blocks.py", "weft_serving_blocks")
        self.serving = load(ROOT / "validate/measure/serving.py", "serving")

    def test_the_shapes_are_those_of_the_shipped_models(self):
        for shape in self.blocks.SHIPPED.values():
            said = dict(line.split(": ", 1) for line in (ROOT / f"configs/models/{shape.name}.yaml").read_text().splitlines()
                        if ": " in line and not line.startswith("#"))
            for key in ("hidden", "ffn", "heads", "layers"):
                self.assertEqual(getattr(shape, key), int(said[key]), (shape.name, key))
            self.assertEqual(shape.kv_heads, int(said.get("kv_heads", said["heads"])))
            self.assertEqual(shape.head_dim, int(said.get("head_dim", shape.hidden // shape.heads)))

    def test_config_json_of_hugging_face(self):
        path = pathlib.Path(self.folder.name) / "config.json"
        path.write_text(json.dumps({"hidden_size": 4096, "intermediate_size": 12288, "num_attention_heads": 32,
                                    "num_key_value_heads": 8, "head_dim": 160, "num_hidden_layers": 36}))
        self.assertEqual(self.blocks.model_of(str(path)), self.blocks.Shape("config", 4096, 12288, 32, 8, 160, 36))

    def test_bytes_of_a_point(self):
        # A layer's weights 64 x (2 x 4 + 2 x 2) x 8 + 3 x 64 x 128, halved over two GPUs; 3 caches of 5 tokens of a key head of 8,
        # twice; between kernels 3 rows of 6 x 64 + 6 x 64 + 4 x 2 x 8.
        shape = self.blocks.Shape("x", 64, 128, 4, 2, 8, 2)
        point = self.blocks.Point(shape, 2, 2, 3, 1, 5)
        weights = 64 * (2 * 2 + 2 * 1) * 8 + 3 * 64 * 64
        self.assertEqual(self.blocks.bytes_of(point), 2 * (2 * (weights + 2 * 3 * 1 * 5 * 8) + 3 * (6 * 64 + 6 * 64 + 4 * 2 * 8)))

    def test_what_does_not_divide_or_fit(self):
        point = lambda tensor: self.blocks.Point(self.blocks.SHIPPED["llama3_8b"], 8, tensor, 1, 1, 512)
        self.assertEqual(self.blocks.why_not(point(8), 80e9), "")
        self.assertIn("do not divide over 3 GPUs", self.blocks.why_not(point(3), 80e9))
        size = self.blocks.bytes_of(point(1))
        self.assertEqual(self.blocks.why_not(point(1), size / 0.85 + 1), "")
        self.assertIn("do not fit", self.blocks.why_not(point(1), size / 0.85 - 1))

    def test_quartiles_by_linear_interpolation(self):
        self.assertEqual(self.serving.quartile([1, 2, 3, 4], 0.25), 1.75)
        self.assertEqual(self.serving.quartile([1, 2, 3, 4], 0.75), 3.25)

    def test_measure_decode_has_the_same_layers(self):
        decode = load(ROOT / "validate/serving/measure_decode.py", "measure_decode")
        shape = decode.shape_of("8b")
        expected = self.blocks.SHIPPED["llama3_8b"]
        self.assertEqual((shape.hidden, shape.ffn, shape.heads, shape.kv_heads, shape.head_dim),
                         (expected.hidden, expected.ffn, expected.heads, expected.kv_heads, expected.head_dim))
        self.assertIs(decode.blocks, self.blocks)


class Files(Companion):
    def check_schema(self, lines):
        format_test = load(ROOT / "tests/measure/format_test.py", "format_test")
        schema = json.loads((ROOT / "validate/measure/schema.json").read_text())
        for number, line in enumerate(lines, start=1):
            self.assertEqual(list(format_test.problems(schema, line, schema["$defs"])), [], number)
        self.assertEqual([line["sequence"] for line in lines], list(range(len(lines))))

    def test_a_run(self):
        result = self.run_it("--model", "llama3_8b", "--decode", "8x1024", "--prefill", "2x256", NCCL_ALGO="Ring")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "")
        lines = self.lines()
        self.check_schema(lines)
        self.assertEqual([line["kind"] for line in lines], ["header", *4 * ["serving_step"], "end"])
        self.assertEqual(lines[0]["machine"]["torch"], "2.11.0+cu130")
        self.assertEqual(lines[0]["machine"]["nccl"], 22809)
        self.assertEqual([gpu["name"] for gpu in lines[0]["machine"]["gpus"]], ["NVIDIA H200", "NVIDIA H200"])
        self.assertEqual([(line["tensor"], line["phase"], line["batch"], line["tokens"], line["context"]) for line in lines[1:-1]],
                         [(1, "prefill", 2, 256, 256), (1, "decode", 8, 1, 1024), (2, "prefill", 2, 256, 256), (2, "decode", 8, 1, 1024)])
        self.assertEqual([line.get("env") for line in lines[1:-1]], [None, None, {"NCCL_ALGO": "Ring"}, {"NCCL_ALGO": "Ring"}])
        self.assertEqual([line["median_us"] for line in lines[1:-1]], 4 * [250])
        self.assertEqual((lines[-1]["reason"], lines[-1]["measured"], lines[-1]["planned"]), ("finished", 4, 4))

    def test_what_fails_or_does_not_fit_is_skipped(self):
        words = ["--model", "llama3_8b", "--tensor", "1", "--decode", "4x512", "--decode", "8x512", "--decode", "4096x8192"]
        result = self.run_it(*words, FAKE_FAILS="4")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = self.lines()
        self.check_schema(lines)
        self.assertEqual([(line["kind"], line.get("reason")) for line in lines[1:]],
                         [("skip", "1104 GB do not fit a GPU's 150 GB"), ("skip", "RuntimeError: a kernel failed"),
                          ("serving_step", None), ("end", "finished")])

    def test_ranks_that_fail_end_their_points_and_no_others(self):
        words = ["--model", "llama3_8b", "--tensor", "2", "--decode", "8x512", "--decode", "4x512", "--decode", "2x512"]
        result = self.run_it(*words, FAKE_FAILS="4")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = self.lines()
        self.check_schema(lines)
        self.assertEqual([line["kind"] for line in lines[1:]], ["serving_step", "skip", "skip", "end"])
        self.assertEqual(lines[3]["reason"], "a process ended early")

    def test_resume_measures_what_is_missing(self):
        words = ["--model", "llama3_8b", "--tensor", "1", "--decode", "8x512"]
        self.assertEqual(self.run_it(*words).returncode, 0)
        path = pathlib.Path(self.folder.name) / "measurements.jsonl"
        path.write_text(path.read_text() + '{"kind": "serv')  # cut
        self.assertEqual(self.run_it(*words, "--decode", "16x512", "--resume").returncode, 0)
        lines = self.lines()
        self.check_schema(lines)
        self.assertEqual([line["kind"] for line in lines], ["header", "serving_step", "end", "resume", "serving_step", "end"])
        self.assertEqual([line["batch"] for line in lines if line["kind"] == "serving_step"], [8, 16])

    def test_the_budget_ends_it(self):
        words = ["--model", "llama3_8b", "--tensor", "1", "--budget", "1s"]
        self.assertEqual(self.run_it(*words, FAKE_SLEEP="0.02").returncode, 0)
        lines = self.lines()
        self.check_schema(lines)
        self.assertEqual(lines[-1]["reason"], "budget")
        self.assertEqual(lines[-1]["measured"], len(lines) - 2)
        self.assertLess(lines[-1]["measured"], 13)

    def test_interrupted_it_keeps_what_it_has(self):
        process = subprocess.Popen(self.words("--model", "llama3_8b"), cwd=self.folder.name, stderr=subprocess.PIPE, text=True,
                                   env=self.environment(FAKE_SLEEP="0.01"), start_new_session=True)
        path = pathlib.Path(self.folder.name) / "measurements.jsonl"
        for _ in range(300):
            if path.exists() and path.read_text().count("\n") > 2:
                break
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        self.assertEqual(process.wait(timeout=60), 130)
        self.assertNotIn("Traceback", process.stderr.read())
        process.stderr.close()
        lines = self.lines()
        self.check_schema(lines)
        self.assertEqual(lines[-1]["reason"], "interrupted")
        self.assertGreaterEqual(lines[-1]["measured"], 2)


class Command(Companion):
    """Through Weft's program, which finds the companion in this tree."""

    def run_weft(self, *arguments, **settings):
        return subprocess.run([PROGRAM, "measure", "--serving", *arguments], cwd=self.folder.name, capture_output=True, text=True,
                              check=False, timeout=60, env=self.environment(WEFT_PYTHON=sys.executable, **settings))

    def test_models_are_read_by_weft(self):
        model = pathlib.Path(self.folder.name) / "own.yaml"
        model.write_text("kind: model\nname: own\nlayers: 4\nhidden: 1024\nheads: 16\nkv_heads: 4\nhead_dim: 128\nffn: 2816\nvocab: 32000\n")
        result = self.run_weft("--model", "own.yaml", "--model", "llama3_8b", "--tensor", "2", "--decode", "8x512")
        self.assertEqual(result.returncode, 0, result.stderr)
        points = [line for line in self.lines() if line["kind"] == "serving_step"]
        self.assertEqual([[point[key] for key in ("model", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "tensor")]
                          for point in points],
                         [["own", 4, 1024, 16, 4, 128, 2816, 2], ["llama3_8b", 8, 4096, 32, 8, 128, 14336, 2]])

    def test_other_layers_are_refused(self):
        for model, what in (("mixtral_8x7b", "experts"), ("deepseek_v3", "latent attention"), ("gpt3_175b", "two matrices"),
                            ("llama9", "llama3_8b|llama2_7b")):
            with self.subTest(model=model):
                self.assert_refused(self.run_weft("--model", model), what)

    def test_the_runners_options_are_not_for_it(self):
        for words in (["--full"], ["--fine"], ["--perftest", "x"]):
            self.assert_refused(self.run_weft(*words), "--serving")
        result = subprocess.run([PROGRAM, "measure", "--tensor", "2"], cwd=self.folder.name, capture_output=True, text=True, check=False)
        self.assert_refused(result, "--serving")

    def test_a_python_that_is_missing(self):
        result = subprocess.run([PROGRAM, "measure", "--serving"], cwd=self.folder.name, capture_output=True, text=True, check=False,
                                env=self.environment(WEFT_PYTHON="no-such-python"))
        self.assert_refused(result, "no-such-python")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("program")
    options = parser.parse_args()
    ROOT, PROGRAM = options.root.resolve(), os.path.abspath(options.program)
    unittest.main(argv=sys.argv[:1])
