"""The module weft: each function gives what the command writes, and tells mistakes, progress and Ctrl-C.

    PYTHONPATH=BUILD/python module_test.py ROOT WEFT [TEST ...]
"""

import inspect
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

import weft

ROOT, PROGRAM = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
CLUSTER = ROOT / "configs/clusters/h200x4.yaml"
TRACES = [ROOT / f"tests/data/traces/small.rank{rank}.json" for rank in (0, 1)]
LOG = ROOT / "tests/data/h200x4/all_reduce_2gpu.txt"
# They belong to the process, not to what was simulated.
OF_THE_PROCESS = {"command_line", "wall_s", "peak_memory_bytes"}
COLLECTIVE = {"cluster": str(CLUSTER), "workload": {"collectives": [{"kind": "all_reduce", "bytes": "1 MiB"}]}}
# 32 senders to one receiver in packets: minutes, if nobody ends it.
LONG = ROOT / "configs/bench/w1_k8.yaml"


def simulated(result):
    """A result without what differs from one process to another."""
    data = result.to_dict() if isinstance(result, weft.Result) else result
    return {key: value for key, value in data.items() if key not in OF_THE_PROCESS}


def command(*words):
    """The JSON that the program writes."""
    done = subprocess.run([PROGRAM, *map(str, words), "--quiet"], capture_output=True, text=True, check=True)
    return simulated(json.loads(done.stdout))


class EachFunctionIsItsCommand(unittest.TestCase):
    maxDiff = 4000

    def test_run_of_a_file(self):
        file = ROOT / "configs/scenarios/llama3_8b_dp32.yaml"
        result = weft.run(file)
        self.assertEqual(simulated(result), command("run", file, "--json", "-"))
        self.assertEqual(result.exit_code, 0)

    def test_run_of_a_dict_is_that_of_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "scenario.yaml"
            file.write_text(f"cluster: {CLUSTER}\nworkload: {{collectives: [{{kind: all_reduce, bytes: 1 MiB}}]}}\n", encoding="utf-8")
            of_file = command("run", file, "--json", "-", "--seed", 7)
        of_dict = simulated(weft.run(COLLECTIVE, seed=7))
        self.assertEqual(of_dict["points"], of_file["points"])
        self.assertEqual(of_dict["digest"], of_file["digest"])

    def test_step_is_a_run_of_its_parts(self):
        result = weft.step("llama3_8b", ROOT / "configs/clusters/dgx_h100_superpod.yaml", overrides={"nodes": 4},
                           parallelism={"tensor": 1, "pipeline": 1, "data": 32, "zero": 3},
                           batch={"global": 128, "micro": 1, "sequence": 8192})
        self.assertEqual(result.gpus, 32)
        # tokens/s = sequences x tokens of each / time of the step
        self.assertAlmostEqual(result.tokens_per_second, 128 * 8192 / (result.iteration_time_ns * 1e-9), delta=1)
        self.assertEqual(result.tables[0], "ranks")

    def test_step_has_the_phase_that_is_said(self):
        where = ROOT / "configs/clusters/h200x4.yaml"
        decode = weft.step("llama3_8b", where, phase="decode", batch=8, context=1024, tensor=4)
        of_command = command("step", "--model", "llama3_8b", "-c", where, "--phase", "decode", "--batch", 8, "--context", 1024, "--tensor", 4,
                             "--json", "-")
        self.assertEqual(decode.digest, of_command["digest"])
        self.assertEqual(decode.rows(), of_command["kernels"])
        self.assertAlmostEqual(decode.time_us, sum(kernel["total_us"] for kernel in decode.rows()), delta=1)
        self.assertEqual(weft.serving_step("llama3_8b", where, phase="decode", batch=8, context=1024, tensor=4).digest, decode.digest)
        with self.assertRaisesRegex(weft.ConfigError, "phase: unknown value 'prefil'"):
            weft.step("llama3_8b", where, phase="prefil", context=8)
        small = weft.step("llama3_8b", where, phase="decode", batch=8, context=1024, tensor=4, weights="fp8", kv_cache="fp8")
        self.assertEqual(small.rows(), command("step", "--model", "llama3_8b", "-c", where, "--phase", "decode", "--batch", 8, "--context",
                                               1024, "--tensor", 4, "--weights", "fp8", "--kv-cache", "fp8", "--json", "-")["kernels"])
        # The cache is halved, and weights at most.
        held, full = small.memory_per_gpu_bytes, decode.memory_per_gpu_bytes
        self.assertEqual(held.kv_cache, full.kv_cache / 2)
        self.assertTrue(full.weights / 2 <= held.weights < full.weights)

    def test_step_takes_the_precision_of_weights(self):
        where = ROOT / "configs/clusters/h200x4.yaml"
        result = weft.step("llama3_8b", where, phase="decode", batch=1, context=1024, weights="w4a16")
        self.assertEqual(result.digest, command("step", "--model", "llama3_8b", "-c", where, "--phase", "decode", "--batch", 1, "--context",
                                                1024, "--weights", "w4a16", "--json", "-")["digest"])
        # Products of 4 + 20/128 bits a weight, where activations are few.
        plain = weft.step("llama3_8b", where, phase="decode", batch=1, context=1024)
        of = {kernel["name"]: kernel["bytes"] for kernel in result.rows()}
        of_plain = {kernel["name"]: kernel["bytes"] for kernel in plain.rows()}
        self.assertAlmostEqual(of["down"] / of_plain["down"], (4 + 20 / 128) / 16, delta=0.002)
        self.assertEqual(of["head"], of_plain["head"])
        with self.assertRaisesRegex(weft.ConfigError, "weights: unknown value 'w4a8'"):
            weft.step("llama3_8b", where, phase="decode", context=8, weights="w4a8")

    def test_collective(self):
        result = weft.collective("all_reduce", CLUSTER, minbytes="1M", maxbytes=2 << 20, algo="ring")
        self.assertEqual(simulated(result),
                         command("collective", "all_reduce", "--cluster", CLUSTER, "-b", "1M", "-e", "2M", "--algo", "ring", "--json", "-"))
        self.assertEqual([row["bytes"] for row in result.rows()], [1 << 20, 2 << 20])
        # Bus bandwidth of an all-reduce is 2 (n - 1) / n of the algorithm's.
        self.assertAlmostEqual(result.points[0].busbw_GBps, 1.5 * result.points[0].algbw_GBps)

    def test_replay(self):
        result = weft.replay(TRACES, CLUSTER, as_recorded=True)
        self.assertEqual(simulated(result), command("replay", *TRACES, "--cluster", CLUSTER, "--as-recorded", "--json", "-"))
        self.assertAlmostEqual(result.relative_error, result.iteration_time_ns / result.traced_step_ns - 1)

    def test_plan(self):
        model = {"name": "small", "layers": 4, "hidden": 1024, "heads": 8, "ffn": 4096, "vocab": 32000}
        result = weft.plan(model, CLUSTER, batch=8, sequence=512)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "small.yaml"
            file.write_text("".join(f"{key}: {value}\n" for key, value in model.items()), encoding="utf-8")
            of_program = command("plan", "--model", file, "--cluster", CLUSTER, "--batch", 8, "--sequence", 512, "--json", "-")
        self.assertEqual(simulated(result)["plans"], of_program["plans"])
        times = [row["iteration_time_ns"] for row in result.rows("plans")]
        self.assertEqual(times, sorted(times))

    def test_plan_of_serving(self):
        words = ["--serve", "--slo", "ttft=500ms,tpot=30ms", "--prompt", 512, "--output", 64, "--token-budgets", 2048, "--aggregated",
                 "--budget-plans", 3]
        result = weft.plan("llama3_8b", "dgx_h100", serve=True, slo="ttft=500ms,tpot=30ms", prompt=512, output=64,
                           token_budgets=[2048], aggregated=True, budget_plans=3)
        self.assertEqual(simulated(result)["servings"],
                         command("plan", "--model", "llama3_8b", "--cluster", "dgx_h100", *words, "--json", "-")["servings"])
        self.assertEqual(len(result.rows("servings")), 3)

    def test_size(self):
        words = ["--model", "llama3_8b", "--cluster", "dgx_h100", "--cluster", "dgx_b200", "--tokens", "1e9", "--budget-plans", "1"]
        result = weft.size("llama3_8b", ["dgx_h100", "dgx_b200"], tokens=1e9, budget_plans=1)
        self.assertEqual(simulated(result), command("size", *words, "--json", "-"))
        self.assertEqual([row["gpus"] for row in result.rows()], [8, 8])

    def test_goodput(self):
        job = ROOT / "configs/goodput/young_k32.yaml"
        self.assertEqual(simulated(weft.goodput(job)), command("goodput", job, "--json", "-"))

    def test_compare(self):
        half = ROOT / "configs/clusters/h200x4_half_nvlink.yaml"
        result = weft.compare(COLLECTIVE, [CLUSTER, half])
        rows = result.rows()
        self.assertEqual(len(rows), 2)
        self.assertEqual(rows[0]["ratio"], 1)
        self.assertAlmostEqual(rows[1]["ratio"], rows[1]["time_us"] / rows[0]["time_us"])
        self.assertGreater(rows[1]["ratio"], 1)

    def test_sweep(self):
        space = {"scenario": COLLECTIVE, "grid": {"workload.collectives[0].bytes": ["64 KiB", "1 MiB"]}, "metrics": ["time_us"]}
        result = weft.sweep(space, jobs=2)
        self.assertEqual([row["workload.collectives[0].bytes"] for row in result.rows()], [64 << 10, 1 << 20])
        self.assertEqual(result.points[1].time_us, weft.run(COLLECTIVE).points[0].time_us)

    def test_a_sweep_goes_on_with_its_database(self):
        space = {"scenario": COLLECTIVE, "grid": {"workload.collectives[0].bytes": ["64 KiB", "1 MiB"]}, "metrics": ["time_us"]}
        with tempfile.TemporaryDirectory() as folder:
            database = pathlib.Path(folder) / "points.sqlite"
            first = weft.sweep(space, db=database)
            self.assertEqual(simulated(weft.sweep(space, db=database)), simulated(first))
            self.assertEqual(simulated(weft.sweep(space, db=database, resume=True)), simulated(first))

    def test_validate(self):
        result = weft.validate(LOG, CLUSTER)
        self.assertEqual(simulated(result), command("validate", LOG, "--cluster", CLUSTER, "--json", "-"))
        row = result.points[0]
        self.assertAlmostEqual(row.relative_error, row.predicted_us / row.measured_us - 1)

    def test_topology(self):
        result = weft.topology(CLUSTER, route=("n0.gpu0", "n0.gpu1"), bom=True)
        self.assertEqual(simulated(result),
                         command("topo", CLUSTER, "--route", "n0.gpu0", "n0.gpu1", "--bom", "--json", "-"))
        self.assertEqual(result.devices.gpu, 4)

    def test_files_beside_the_result(self):
        with tempfile.TemporaryDirectory() as folder:
            timeline = pathlib.Path(folder) / "timeline.json"
            weft.collective("all_reduce", CLUSTER, minbytes="1M", maxbytes="1M", timeline=timeline)
            weft.collective("all_reduce", CLUSTER, minbytes="1M", maxbytes="1M", timeline=timeline)  # nothing is claimed still
            self.assertTrue(json.loads(timeline.read_text(encoding="utf-8")))

    def test_check_tells_mistakes_with_their_places(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder) / "bad.yaml"
            bad.write_text("cluster: nowhere.yaml\nsimulatoin: {}\nworkload: {collectives: []}\n", encoding="utf-8")
            result = weft.check([CLUSTER, bad])
        self.assertEqual(result.exit_code, 2)
        good, wrong = result.to_dict()["files"]
        self.assertEqual((good["ok"], good["kind"]), (True, "cluster"))
        self.assertFalse(wrong["ok"])
        errors = result.files[1].errors
        self.assertIn((2, 1), [(error.line, error.column) for error in errors])

    def test_schema_is_that_of_the_command(self):
        text = subprocess.run([PROGRAM, "schema", "model"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(weft.schema("model"), json.loads(text))
        with self.assertRaises(weft.ConfigError):
            weft.schema("no_such_kind")

    def test_warnings_are_told_by_pythons_own(self):
        with self.assertWarns(weft.ConfigWarning) as caught:
            result = weft.collective("all_reduce", ROOT / "configs/clusters/dgx_h100.yaml", nodes=2, set={"nic.transport": "sockets"},
                                     minbytes="1M", maxbytes="1M")
        self.assertIn(str(caught.warning), result.to_dict()["warnings"])
        self.assertEqual(caught.filename, __file__)

    def test_explain_and_names(self):
        self.assertIn("ring", weft.names("algorithms"))
        self.assertEqual(weft.explain("ring").strip(), subprocess.run([PROGRAM, "explain", "ring"], capture_output=True, text=True,
                                                                      check=True).stdout.strip())

    def test_arguments_are_the_options_of_the_command(self):
        # A function has these in another way, or not: tables, folders and limits of the command line.
        other = {"json", "quiet", "verbose", "out", "help", "clusters", "model", "cluster", "map"}
        not_of = {"run": set(), "replay": {"max_error", "fidelity"}, "plan": {"timeline", "fidelity"}, "compare": {"timeline"}, "goodput": set(),
                  "size": {"timeline"},
                  "sweep": {"timeline", "export", "to"}, "topology": {"nccl_view"}, "collective": set(),
                  "validate": {"max_median", "max_p95", "max_error", "timeline", "fidelity"}}
        for name, missing in not_of.items():
            text = subprocess.run([PROGRAM, "topo" if name == "topology" else name, "--help"], capture_output=True, text=True,
                                  check=True).stdout
            options = {option.replace("-", "_") for option in re.findall(r"^ +(?:-\w,? ?)*--([\w-]+)", text, re.MULTILINE)} - other
            arguments = {argument for argument, parameter in inspect.signature(getattr(weft, name)).parameters.items()
                         if parameter.kind == parameter.KEYWORD_ONLY} - other - {"progress"}
            with self.subTest(name):
                self.assertEqual(arguments, options - missing)

    def test_every_function_says_what_it_takes_and_gives(self):
        for name in weft.__all__:
            self.assertTrue(getattr(weft, name).__doc__, name)


class Mistakes(unittest.TestCase):
    def mistake(self, function, *arguments, **options):
        with self.assertRaises(weft.ConfigError) as raised:
            function(*arguments, **options)
        return raised.exception

    def test_of_a_file_have_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "scenario.yaml"
            file.write_text(f"cluster: {CLUSTER}\nworkload:\n  collectives:\n    - kind: all_reduce\n      bytes: 12 ns\n",
                            encoding="utf-8")
            error = self.mistake(weft.run, file)
            self.assertEqual((error.file, error.line, error.column, error.key), (str(file), 5, 14, "workload.collectives[0].bytes"))
            self.assertIn("expected", str(error))
        # All of them, each with its own place.
        self.assertEqual(len(error.diagnostics), 1)

    def test_of_a_dict_have_their_key(self):
        wrong = {**COLLECTIVE, "workload": {"collectives": [{"kind": "all_reduce", "bytes": [1]}]}}
        error = self.mistake(weft.run, wrong)
        self.assertEqual((error.file, error.key), ("<scenario>", "workload.collectives[0].bytes"))

    def test_of_a_key_that_is_missing_or_unknown_name_it(self):
        self.assertEqual(self.mistake(weft.run, {"cluster": str(CLUSTER), "workload": {"collectives": [{"kind": "all_reduce"}]}}).key,
                         "workload.collectives[0].bytes")
        self.assertEqual(self.mistake(weft.run, {**COLLECTIVE, "simulation": {"gain": "auto"}}).key, "simulation.gain")

    def test_of_a_type_that_no_configuration_has_name_the_key(self):
        for wrong in ({"cluster": {1, 2}}, {"cluster": b"x"}, {"cluster": float("nan")}, {"cluster": object()}):
            self.assertEqual(self.mistake(weft.run, wrong).key, "cluster")
        self.assertEqual(self.mistake(weft.run, {"workload": {"collectives": [{"bytes": {1}}]}}).key, "workload.collectives[0].bytes")

    def test_of_an_argument_name_it(self):
        self.assertEqual(self.mistake(weft.collective, "all_reduce", CLUSTER, channels=1000).key, "channels")
        self.assertEqual(self.mistake(weft.collective, "all_reduce", CLUSTER, seed=-1).key, "seed")
        self.assertEqual(self.mistake(weft.collective, "all_reduce", CLUSTER, grain="coarse").key, "grain")
        self.assertEqual(self.mistake(weft.collective, "all_reduce", CLUSTER, iters="many").key, "iters")

    def test_of_an_arguments_type(self):
        for call in (lambda: weft.run(7), lambda: weft.run(None), lambda: weft.collective("all_reduce", CLUSTER, seed=object()),
                     lambda: weft.run(COLLECTIVE, set=["nodes=4"]), lambda: weft.run(COLLECTIVE, progress=3),
                     lambda: weft.topology(CLUSTER, route="n0"), lambda: weft.compare(COLLECTIVE, str(CLUSTER))):
            self.assertRaises(TypeError, call)

    def test_leave_nothing_behind(self):
        self.mistake(weft.run, "no_such_file.yaml")
        self.assertEqual(weft.run(COLLECTIVE).exit_code, 0)


class WhileACommandRuns(unittest.TestCase):
    def test_progress_is_told(self):
        told = []

        def end_after_two(unit, done, total):
            told.append((unit, done, total))
            if len(told) == 2:
                raise ZeroDivisionError("of the caller")

        with self.assertRaisesRegex(ZeroDivisionError, "of the caller"):
            weft.run(LONG, progress=end_after_two)
        self.assertEqual([unit for unit, _, _ in told], ["flows", "flows"])
        self.assertEqual({total for _, _, total in told}, {128})  # flows of the scenario

    def test_ctrl_c_keeps_what_is_finished(self):
        begin = time.monotonic()
        with self.assertRaises(weft.Interrupted) as raised:
            weft.run(LONG, progress=lambda *_: os.kill(os.getpid(), signal.SIGINT))
        self.assertIsInstance(raised.exception, KeyboardInterrupt)
        self.assertTrue(raised.exception.result.interrupted)
        self.assertLess(time.monotonic() - begin, 60)
        # And the handler is Python's again, and the next command is not interrupted.
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.assertFalse(weft.run(COLLECTIVE).interrupted)

    def test_other_threads_run(self):
        beats, ended = [], threading.Event()

        def beat():
            while not ended.is_set():
                beats.append(time.monotonic())
                time.sleep(0.005)

        other = threading.Thread(target=beat)
        other.start()
        begin = time.monotonic()
        weft.collective("all_reduce", CLUSTER, minbytes="8", maxbytes="1G")
        took = time.monotonic() - begin
        ended.set()
        other.join()
        during = [at for at in beats if begin < at < begin + took]
        gaps = [b - a for a, b in zip([begin, *during], [*during, begin + took])]
        self.assertLess(max(gaps), 0.5 * took)

    def test_two_threads_have_their_own_results(self):
        sizes, results = (1 << 20, 2 << 20, 4 << 20), {}

        def call(size):
            results[size] = weft.collective("all_reduce", CLUSTER, minbytes=size, maxbytes=size)

        threads = [threading.Thread(target=call, args=(size,)) for size in sizes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([results[size].points[0].bytes for size in sizes], list(sizes))

    def test_a_command_within_a_command_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "progress"):
            weft.run(LONG, progress=lambda *_: weft.run(COLLECTIVE))


class Results(unittest.TestCase):
    def setUp(self):
        self.result = weft.run(COLLECTIVE)

    def test_are_maps_and_attributes(self):
        self.assertEqual(self.result["points"][0]["bytes"], self.result.points[0].bytes)
        self.assertIn("makespan_ns", dir(self.result))
        with self.assertRaisesRegex(AttributeError, "makespan_ns"):
            self.result.makespan  # noqa: B018
        with self.assertRaises(AttributeError):
            self.result.makespan_ns = 0
        self.assertRaises(KeyError, self.result.rows, "makespan_ns")

    def test_are_copied_and_kept(self):
        copy = self.result.to_dict()
        copy["points"][0]["bytes"] = 0
        self.assertEqual(self.result.points[0].bytes, 1 << 20)
        kept = pickle.loads(pickle.dumps(self.result))
        self.assertEqual((kept.to_dict(), kept.exit_code), (self.result.to_dict(), 0))

    def test_give_a_dataframe(self):
        # pandas is optional; its stand-in keeps what it is given.
        stand_in = types.ModuleType("pandas")
        stand_in.DataFrame = list
        before = sys.modules.get("pandas")
        try:
            sys.modules["pandas"] = stand_in
            self.assertEqual(self.result.to_dataframe(), self.result.rows())
            sys.modules["pandas"] = None
            self.assertRaisesRegex(ImportError, "python3-pandas", self.result.to_dataframe)
        finally:
            sys.modules.pop("pandas")
            if before is not None:
                sys.modules["pandas"] = before

    def test_nested_maps_are_columns(self):
        self.assertEqual(weft.Result({"points": [{"a": {"b": 1}, "c": [1, 2]}]}).rows(), [{"a.b": 1, "c": [1, 2]}])
        self.assertEqual(weft.Result({"a": 1}).rows(), [{"a": 1}])


class CommandLine(unittest.TestCase):
    def both(self, *words):
        done = [subprocess.run([*start, *words], capture_output=True, text=True, check=False, env=os.environ)
                for start in ([PROGRAM], [sys.executable, "-m", "weft"])]
        return [(one.returncode, one.stdout, one.stderr) for one in done]

    def test_is_that_of_the_program(self):
        for words in (["list"], ["--version"], ["run"], ["no_such_command"], ["topo", str(CLUSTER)], []):
            program, module = self.both(*words)
            self.assertEqual(program, module, words)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
