#!/usr/bin/env python3
"""No command writes over a file that it reads, nor two outputs into one file: exit status 2, nothing lost, nothing left behind.

Every output of every command is tried on every input that the command has, and one on other spellings of the input's path, a
symbolic link and a hard link to it. What FILE or DIR options there are, the help of the commands says: a new one has to stand below.

    outputs_test.py ROOT WEFT
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import patience

ROOT = pathlib.Path()
PROGRAM = ""

CLUSTER = "kind: cluster\nprofile: profile.yaml\nnode: {type: ./node.yaml}\n"
LOG = """# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 4 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 10 iters: 40 agg iters: 1 validation: 0 graph: 0
#  Rank  0 Group  0 Pid 1 on node device  0 [0000:00:06] NVIDIA H200
#  Rank  1 Group  0 Pid 1 on node device  1 [0000:00:07] NVIDIA H200
#  Rank  2 Group  0 Pid 1 on node device  2 [0000:00:08] NVIDIA H200
#  Rank  3 Group  0 Pid 1 on node device  3 [0000:00:09] NVIDIA H200
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
1048576 262144 float sum -1 30.00 0.00 0.00 N/A 31.00 0.00 0.00 N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 1
"""
FILES = {
    "shapes.json": '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": ['
                   '{"ph": "X", "cat": "cpu_op", "name": "aten::silu", "pid": 1, "tid": 1, "ts": 1, "dur": 9,'
                   ' "args": {"External id": 1, "Input Dims": [[1024, 8]]}},'
                   '{"ph": "X", "cat": "kernel", "name": "silu_kernel", "pid": 0, "tid": 7, "ts": 20, "dur": 10,'
                   ' "args": {"External id": 1, "stream": 7, "correlation": 1, "grid": [8, 1, 1]}}]}',
    "profile.yaml": "kind: profile\nname: start\nextends: base_profile.yaml\n",
    "base_profile.yaml": "kind: profile\nname: base\nparameters: {}\n",
    "other_profile.yaml": "kind: profile\nname: other\nparameters: {}\n",
    "base.yaml": "cluster: cluster.yaml\n",
    "cluster.yaml": CLUSTER,
    "other.yaml": "name: other\n" + CLUSTER,
    "run.yaml": "extends: base.yaml\nworkload: {flows_file: flows.txt}\n",
    "flows.txt": "0 1 1000000\n",
    "step.yaml": "cluster: cluster.yaml\nworkload:\n  model: model.yaml\n  parallelism: {data: 4}\n  batch: {global: 4, micro: 1, sequence: 128}\n",
    "model.yaml": "{name: tiny, layers: 2, hidden: 256, heads: 4, kv_heads: 4, head_dim: 64, ffn: 512, vocab: 1000}\n",
    "serve.yaml": "cluster: cluster.yaml\nworkload: {inference: {model: model.yaml, requests: {trace: requests.csv}}}\n",
    "requests.csv": "0.0,10,10\n",
    "bench.json": '{"completed": 1, "request_throughput": 1.0, "total_token_throughput": 20.0, "output_throughput": 10.0}\n',
    "background.yaml": "cluster: cluster.yaml\nworkload: {background: {cdf_file: sizes.txt, load: 1 %, until: 10 us}}\n",
    "sizes.txt": "0 0\n1000 100\n",
    "sizes.csv": "0,4K,4K,4K\n" * 4,
    "sweep.yaml": "scenario: run.yaml\ngrid: {simulation.seed: [1, 2]}\n",
    "job.yaml": "kind: goodput\ncluster: cluster.yaml\nrates: rates.yaml\ncheckpoint: {blocking: 30 s}\nrestart: {detection: 600 s}\n",
    "rates.yaml": "{kind: failure_rates, source: a test, date: 2024, causes: [{cause: anything, per: gpu, mtbf: 3.09 h}]}\n",
    "log.txt": LOG,
    "measurements.yaml": "- {file: log.txt}\n",
    "perftest.txt": "nothing yet\n",
}
COPIED = {
    "node.yaml": "configs/nodes/h200x4.yaml",
    "prices.yaml": "configs/prices/list_2024.yaml",
    "power.yaml": "configs/power/datasheets.yaml",
    "algorithm.xml": "tests/data/msccl/ring_all_reduce.xml",
    "node.xml": "tests/data/topologies/one.xml",
    "traces/small.rank0.json": "tests/data/traces/small.rank0.json",
    "traces/small.rank1.json": "tests/data/traces/small.rank1.json",
}
COST = ["--prices", "prices.yaml", "--power", "power.yaml"]
BOOKS = ["prices.yaml", "power.yaml"]
HARDWARE = ["cluster.yaml", "node.yaml", "profile.yaml", "base_profile.yaml"]
RESULTS = ["--json", "--timeline"]

# (command, arguments, inputs, outputs, ...): each output with each input in turn.
CASES = [
    ("run", ["run.yaml", *COST], ["run.yaml", "base.yaml", "flows.txt", *HARDWARE, *BOOKS], [*RESULTS, "--series", "--write-goal"]),
    ("run", ["step.yaml"], ["step.yaml", "model.yaml"], [*RESULTS, "--write-goal"]),
    ("run", ["serve.yaml"], ["requests.csv"], ["--json"]),
    ("run", ["serve.yaml", "--measured", "bench.json"], ["bench.json"], ["--json"]),
    ("run", ["background.yaml"], ["sizes.txt"], ["--json"]),
    ("run", ["run.yaml", "--profile", "other_profile.yaml"], ["other_profile.yaml"], ["--json"]),
    ("collective", ["all_reduce", "-c", "cluster.yaml", "-b", "1M", "-e", "1M", "--msccl", "algorithm.xml"],
     [*HARDWARE, "algorithm.xml"], RESULTS),
    ("collective", ["alltoallv", "-c", "cluster.yaml", "--sizes", "sizes.csv"], [*HARDWARE, "sizes.csv"], ["--json"]),
    ("collective", ["all_reduce", "--topo-xml", "node.xml", "-b", "1M", "-e", "1M"], ["node.xml"], ["--json"]),
    ("replay", ["traces/small.rank0.json", "traces/small.rank1.json", "--cluster", "cluster.yaml"],
     ["traces/small.rank0.json", "traces/small.rank1.json", *HARDWARE], RESULTS),
    ("trace info", ["traces"], ["traces/small.rank0.json", "traces/small.rank1.json"], ["--json"]),
    ("trace convert", ["traces"], ["traces/small.rank0.json", "traces/small.rank1.json"], ["--to goal"]),
    ("trace convert", ["step.yaml"], ["step.yaml", "model.yaml", *HARDWARE], ["--to goal"]),
    ("trace kernels", ["shapes.json"], ["shapes.json"], ["-o"]),
    ("sweep", ["sweep.yaml", "--export", "csv"], ["sweep.yaml", "run.yaml", "base.yaml", "flows.txt", *HARDWARE], ["--to", "--db"]),
    ("plan", ["--model", "model.yaml", "--cluster", "cluster.yaml", *COST], ["model.yaml", *HARDWARE, *BOOKS], ["--json", "--write"]),
    ("compare", ["run.yaml", "--clusters", "cluster.yaml", "other.yaml", *COST], ["run.yaml", "other.yaml", *HARDWARE, *BOOKS], ["--json"]),
    ("experts", ["dispatch", "-c", "cluster.yaml", "--tokens", "16"], HARDWARE, ["--json"]),
    ("size", ["--model", "model.yaml", "--cluster", "cluster.yaml", "--tokens", "1e9", "--batch", "8", "--failures", "rates.yaml", *COST],
     ["model.yaml", "rates.yaml", *HARDWARE, *BOOKS], ["--json"]),
    ("step", ["--model", "model.yaml", "-c", "cluster.yaml", "--phase", "decode", "--context", "64"], ["model.yaml", *HARDWARE], ["--json"]),
    ("goodput", ["job.yaml"], ["job.yaml", "rates.yaml", *HARDWARE], ["--json"]),
    ("validate", ["measurements.yaml", "-c", "cluster.yaml"], ["measurements.yaml", "log.txt", *HARDWARE], ["--json"]),
    ("calibrate", ["measurements.yaml", "-c", "cluster.yaml", "--fit", "network.nvlink4.efficiency", "--sizes", "1M"],
     ["measurements.yaml", "log.txt", *HARDWARE], ["-o", "--json"]),
    ("calibrate", ["measurements.yaml", "-c", "cluster.yaml"], ["measurements.yaml", "log.txt", *HARDWARE], ["--products"]),
    ("topo", ["cluster.yaml", *COST], [*HARDWARE, *BOOKS], ["--dot", "--graphml", "--nccl-xml", "--json"]),
    ("topo import", ["node.xml", "--profile", "other_profile.yaml"], ["node.xml", "other_profile.yaml"],
     ["--dot", "--graphml", "--nccl-xml", "--json", "-o"]),
    ("explain", ["channels", "--cluster", "cluster.yaml"], HARDWARE, ["--xml", "--json"]),
    ("explain", ["channels", "--topo-xml", "node.xml"], ["node.xml"], ["--xml", "--json"]),
    ("check", ["cluster.yaml"], ["cluster.yaml"], ["--json"]),
    ("report", ["result.json"], ["result.json"], ["--html", "--markdown"]),
    ("view", ["result.json"], ["result.json"], ["--page"]),
    ("measure", ["--perftest", "perftest.txt"], ["perftest.txt"], ["--output"]),
]
# Options that must be given although another one is tried.
NEEDED = {"calibrate": ["-o", "spare.yaml"], "trace convert": ["--to", "goal", "spare.goal"],
          "trace kernels": ["--gpu", "h200_sxm"]}

# Outputs that are folders: an input lies in the folder, under a name that the command writes there.
FOLDERS = [
    ("run", ["d/x.yaml", "--out", "d"], "run.yaml", "d/x.yaml", ["--json", "x.yaml"]),
    ("collective", ["all_reduce", "-c", "d/collective_all_reduce.json", "--out", "d"], "cluster.yaml", "d/collective_all_reduce.json", []),
    ("validate", ["d/points.csv", "-c", "cluster.yaml", "--report", "d"], "log.txt", "d/points.csv", []),
    ("sweep", ["d/x.sqlite", "--out", "d"], "sweep.yaml", "d/x.sqlite", []),
    ("run", ["d/d.0.et", "--write-chakra", "d"], "step.yaml", "d/d.0.et", ["--write-goal", "d/d.0.et"]),
]

# FILE and DIR options of the help; inputs, and outputs by where they are tried.
INPUTS = {"--prices", "--failures", "--power", "--profile", "--cluster", "--clusters", "--msccl", "--model", "--topo-xml", "--perftest", "--sizes", "--measured",
          "SCENARIO", "TRACES", "FILES", "JOB", "MEASUREMENTS", "RESULT", "SWEEP", "cluster", "file", "files"}
FOLDER_OUTPUTS = {"--out", "--report", "--write-chakra"}
# Named by an option that these commands refuse.
REFUSED = {("sweep", "--json"), ("sweep", "--timeline"), ("compare", "--timeline"), ("plan", "--timeline"), ("size", "--timeline"),
           ("validate", "--timeline"), ("experts", "--timeline"), ("step", "--timeline"),
           ("calibrate", "--timeline"), ("validate", "--out"), ("trace info", "--format")}


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "traces").mkdir()
        for name, text in FILES.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        for name, source in COPIED.items():
            shutil.copy(ROOT / source, self.folder / name)
        (self.folder / "result.json").write_text('{"command": "goodput", "digest": "0"}\n', encoding="utf-8")

    def weft(self, command, *arguments):
        return subprocess.run([PROGRAM, *command.split(), *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=patience.seconds(60), check=False)

    def content(self):
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def spellings(self, name):
        """Other names of the same file; the links are new."""
        path = self.folder / name
        symbolic, hard = self.folder / "symbolic", self.folder / "hard"
        symbolic.unlink(missing_ok=True)
        hard.unlink(missing_ok=True)
        symbolic.symlink_to(path)
        os.link(path, hard)
        return [name, f"traces/../{name}", str(path), "symbolic", "hard"]

    def refuses(self, command, arguments, before, *said):
        done = self.weft(command, *arguments)
        told = f"weft {command} {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
        self.assertEqual(done.returncode, 2, told)
        for text in said:
            self.assertIn(text, done.stderr, told)
        self.assertEqual(self.content(), before, told)

    def test_are_no_file_that_the_command_reads(self):
        for command, arguments, inputs, outputs in CASES:
            for name in inputs:
                for spelling in self.spellings(name):
                    before = self.content()
                    for output in outputs if spelling == name else outputs[:1]:
                        option = output.split()[0]
                        needed = [] if option in NEEDED.get(command, []) else NEEDED.get(command, [])
                        with self.subTest(command=command, output=output, path=spelling):
                            self.refuses(command, [*arguments, *needed, *output.split(), spelling], before,
                                         f"{option}: cannot write '{spelling}': this command reads that file")

    def test_in_a_folder_are_no_file_that_the_command_reads(self):
        (self.folder / "d").mkdir()
        for command, arguments, source, name, more in FOLDERS:
            text = (self.folder / source).read_text(encoding="utf-8")
            for file in ["cluster.yaml", "base.yaml", "run.yaml", "model.yaml", "flows.txt", "node.yaml", "profile.yaml"]:
                text = text.replace(f" {file}", f" ../{file}").replace(f"./{file}", f"./../{file}").replace(f"{{flows_file: {file}",
                                                                                                     f"{{flows_file: ../{file}")
            (self.folder / name).write_text(text, encoding="utf-8")
            with self.subTest(command=command, name=name):
                self.refuses(command, [*arguments, *more], self.content(), "cannot write", "this command reads that file")
            (self.folder / name).unlink()

    def test_of_a_trace_are_not_its_own_files(self):
        self.assertEqual(self.weft("trace convert", "step.yaml", "--to", "chakra", "t").returncode, 0)
        before = self.content()
        self.refuses("trace convert", ["t", "--to", "chakra", "t"], {**before}, "cannot write 't/", "this command reads that file")
        again = self.weft("trace convert", "t", "--to", "chakra", "u")
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_are_not_one_file_twice(self):
        before = self.content()
        for command, arguments, _, outputs in CASES:
            for i, first in enumerate(outputs):
                for second in outputs[:i]:
                    for one, other in [("new", "new"), ("new", "./new"), ("-", "-"), ("/dev/stdout", "-")]:
                        if one != "new" and "--db" in (first, second):
                            continue
                        with self.subTest(command=command, first=first, second=second, path=other):
                            needed = [] if "-o" in (first, second) else NEEDED.get(command, [])
                            said = "standard output" if one != "new" else "that file"
                            self.refuses(command, [*arguments, *needed, *first.split(), one, *second.split(), other], before, said)
        self.refuses("validate", ["log.txt", "-c", "cluster.yaml", "--report", "traces", "--json", "traces/report.json"], before,
                     "that file")

    def test_of_a_sweep_are_not_its_database(self):
        self.assertEqual(self.weft("sweep", "sweep.yaml", "--db", "x.sqlite").returncode, 0)
        for name in ("x.sqlite", "x.sqlite-wal", "traces/../x.sqlite"):
            before = self.content()
            self.refuses("sweep", ["sweep.yaml", "--db", "x.sqlite", "--export", "csv", "--to", name], before, "--db writes that file")
        self.refuses("sweep", ["sweep.yaml", "--db", "x.csv", "--export", "csv"], self.content(), "--db writes that file")

    def test_of_every_kind_are_in_this_test(self):
        tried = {(command, output.split()[0]) for command, _, _, outputs in CASES for output in outputs}
        tried |= {(command, {"-o": "--output"}.get(output, output)) for command, output in tried}
        for command in sorted({case[0] for case in CASES} | {"list", "check"}):
            text = self.weft(command, "--help").stdout
            for names in re.findall(r"^  (\S+(?:,\S+)?) (?:FILE|DIR|FORMAT OUT)\b", text, re.MULTILINE):
                name = names.split(",")[-1]
                known = name in INPUTS | FOLDER_OUTPUTS or (command, name) in tried | REFUSED
                self.assertTrue(known, f"weft {command} {name}: is it read or written? Say so in this test")

    def test_leave_nothing_behind_when_a_signal_ends_the_command(self):
        """A timeline is written while its step runs: so a second Ctrl-C and SIGTERM find it unfinished."""
        (self.folder / "long.yaml").write_text(FILES["step.yaml"] + "simulation: {iterations: 1000, skip: false}\n", encoding="utf-8")
        before = self.content()
        for signals in ([signal.SIGTERM], [signal.SIGINT, signal.SIGINT], [signal.SIGHUP]):
            process = subprocess.Popen([PROGRAM, "run", "long.yaml", "--timeline", "t.json"], cwd=self.folder, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL,
                                       preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGINT, signal.SIGHUP)])
            deadline = time.monotonic() + patience.seconds(60)
            while process.poll() is None and time.monotonic() < deadline and not list(self.folder.glob(".weft-*")):
                time.sleep(0.01)
            self.assertIsNone(process.poll(), "it was over before it could be stopped")
            for number in signals:
                process.send_signal(number)
            process.wait(timeout=patience.seconds(60))
            after = {name: text for name, text in self.content().items() if name != "t.json"}
            self.assertEqual(after, before, signals)
            (self.folder / "t.json").unlink(missing_ok=True)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv[1]).resolve()
    PROGRAM = str(pathlib.Path(sys.argv[2]).resolve())
    os.environ["WEFT_CONFIG_DIR"] = str(ROOT / "configs")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
