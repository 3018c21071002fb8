"""What the program promises about bad, huge and interrupted input: failed work is a failure, text is shown and not obeyed, memory
and signals are heeded, files come whole or not at all.
"""

import gzip
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import patience

TWO_HOSTS = """cluster:
  nodes: 2
  node: {type: host}
  fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s}}
"""
STEP = """cluster: CONFIGS/clusters/dgx_h100.yaml
workload:
  model: CONFIGS/models/llama3_8b.yaml
  parallelism: {tensor: 8, data: 1}
  batch: {global: 8, micro: 1, sequence: 4096}
"""


class Robustness(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text.replace("CONFIGS", os.environ["WEFT_CONFIG_DIR"]), encoding="utf-8")
        return name

    def weft(self, *arguments, expect=0, **more):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=patience.seconds(120), check=False, **more)
        self.assertEqual(done.returncode, expect, f"weft {' '.join(arguments)}\n{done.stdout}\n{done.stderr}")
        return done

    def names(self):
        return sorted(path.name for path in self.folder.rglob("*"))


class FailedWork(Robustness):
    CUT = TWO_HOSTS + """workload: {flows: [{from: h0, to: h1, bytes: 10 MB}]}
simulation: {fidelity: FIDELITY}
faults:
  - link_down: {link: "h0->switch0", at: 50 us}
"""

    def test_a_cable_that_never_comes_back_is_a_failure_with_its_reason(self):
        self.write("f.yaml", self.CUT.replace("FIDELITY", "flow"))
        done = self.weft("run", "f.yaml", expect=1)
        self.assertIn("flow 0 from h0 to h1 was aborted at 50 us: no path is left from h0 to h1: h0->switch0 is down", done.stdout)
        self.write("f.yaml", self.CUT.replace("FIDELITY", "packet"))
        self.assertIn("flow 0 from h0 to h1 was aborted", self.weft("run", "f.yaml", expect=1).stdout)

    def test_it_is_one_in_a_comparison_and_in_a_sweep(self):
        self.write("f.yaml", self.CUT.replace("FIDELITY", "flow"))
        self.write("hosts.yaml", TWO_HOSTS.partition("\n")[2].replace("\n  ", "\n")[2:])
        done = self.weft("compare", "f.yaml", "--clusters", "hosts.yaml", "hosts.yaml", expect=1)
        self.assertIn("flow 0 from h0 to h1 was aborted at 50 us", done.stdout)
        # 5 ms of cable are enough for 10 MB at 100 Gb/s, 50 us are not.
        self.write("s.yaml", "scenario: f.yaml\ngrid: {'faults[0].link_down.at': [50 us, 5 ms]}\nobjective: {minimize: makespan_ns}\n")
        done = self.weft("sweep", "s.yaml", "--export", "csv", "--to", "s.csv", expect=1)
        self.assertIn("#   1 cut short: flow 0 from h0 to h1 was aborted at 50 us", done.stdout)
        rows = (self.folder / "s.csv").read_text().splitlines()[1:]
        self.assertEqual([row.split(",")[1] for row in rows], ["cut_short", "done"])
        self.assertIn("cut short: flow 0 from h0 to h1 was aborted at 50 us", rows[0])

    def test_a_cable_that_comes_back_is_none(self):
        self.write("f.yaml", self.CUT.replace("FIDELITY", "flow").replace("at: 50 us", "at: 50 us, until: 60 us"))
        self.weft("run", "f.yaml")

    def test_an_end_that_the_user_set_is_none_and_is_said(self):
        # 10 MB take 800 us at 100 Gb/s.
        for until, said in (("50 us", True), ("1 ms", False)):
            self.write("f.yaml", TWO_HOSTS + f"""workload: {{flows: [{{from: h0, to: h1, bytes: 10 MB}}]}}
simulation: {{fidelity: flow, until: {until}}}
""")
            done = self.weft("run", "f.yaml")
            self.assertEqual("# note: simulation.until ended the run at 50 us: 1 of 1 flows had not ended" in done.stdout, said,
                             done.stdout)

    def test_a_flow_that_is_paused_for_ever_is_a_failure(self):
        self.write("f.yaml", TWO_HOSTS + """workload: {flows: [{from: h0, to: h1, bytes: 10 MB}]}
simulation: {fidelity: packet}
faults:
  - pause: {link: "h0->switch0", priority: all, at: 50 us, for: forever}
""")
        self.assertIn("1 of 1 flows and jobs did not end", self.weft("run", "f.yaml", expect=1).stdout)


class Text(Robustness):
    NAMES = """cluster:
  name: "red \\x1b[31m\\nsecond line"
  nodes: 2
  node: {type: host}
  fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s}}
workload:
  jobs:
    - {name: "job \\x1b[2J [click](http://x.y) \\u009b2J", from: h0, to: h1, bytes: 1 MB}
simulation: {fidelity: packet}
"""

    def test_names_do_not_reach_a_terminal_as_commands(self):
        self.write("names.yaml", self.NAMES)
        self.write("cluster.yaml", """name: "red \\x1b[31m\\nsecond line"
nodes: 2
node: {type: host}
fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s}}
""")
        for arguments in (["run", "names.yaml"], ["topo", "cluster.yaml"], ["check", "names.yaml"], ["run", "names.yaml", "--json", "-"]):
            done = self.weft(*arguments)
            for text in (done.stdout, done.stderr):
                for forbidden in ("\x1b", "\x9b", "\x07"):
                    self.assertNotIn(forbidden, text, arguments)
        shown = self.weft("run", "names.yaml").stdout
        self.assertIn("  on red \\x1b[31m\\nsecond line: 2 nodes", shown)
        self.assertIn("  job \\x1b[2J [click](http://x.y) \\x9b2J", shown)

    def test_a_page_of_markdown_has_no_links_of_others(self):
        self.write("names.yaml", self.NAMES)
        self.weft("run", "names.yaml", "--json", "r.json")
        self.weft("report", "r.json", "--markdown", "r.md")
        page = (self.folder / "r.md").read_text(encoding="utf-8")
        self.assertNotIn("\x1b", page)
        outside = "".join(page.split("```")[::2])  # code is not marked up
        self.assertNotIn("[click](", outside)

    def test_a_byte_order_mark_is_passed_over(self):
        mark = "\ufeff"
        self.write("plain.yaml", TWO_HOSTS + "workload: {flows_file: flows.txt}\n")
        flows = "1\n0 1 3 100 1000000 0\n"
        self.write("flows.txt", flows)
        plain = self.weft("run", "plain.yaml").stdout.splitlines()
        self.write("flows.txt", mark + flows)
        self.write("plain.yaml", mark + TWO_HOSTS + "workload: {flows_file: flows.txt}\n")
        marked = self.weft("run", "plain.yaml").stdout.splitlines()
        self.assertEqual([line for line in plain if line.startswith("# digest")], [line for line in marked if line.startswith("# digest")])
        trace = json.dumps({"traceEvents": [
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10.0, "dur": 5.0, "args": {"stream": 7}}]})
        self.write("t.json", trace)
        first = self.weft("trace", "info", "t.json").stdout
        self.write("t.json", mark + trace)
        self.assertEqual(self.weft("trace", "info", "t.json").stdout, first)

    def test_sizes_mean_the_same_in_every_option(self):
        self.write("f.yaml", TWO_HOSTS + "workload: {flows: [{from: h0, to: h1, bytes: 1 MB}]}\n")
        for size in ("1G", "1 GiB", "1024M"):
            self.weft("run", "f.yaml", "--memory", size)
        cluster = os.path.join(os.environ["WEFT_CONFIG_DIR"], "clusters/h200x4.yaml")
        digests = {re.search(r"# digest (\w+)", self.weft("collective", "all_reduce", "-c", cluster, "-b", size, "-e", size).stdout)[1]
                   for size in ("1M", "1 MiB", "1024K")}
        self.assertEqual(len(digests), 1)


class Memory(Robustness):
    def limited(self, *arguments, mebibytes):
        """(what it said, peak of memory in MiB) of a command that is to be refused."""
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            said = errors.read().decode("utf-8", errors="replace")
        self.assertEqual(process.returncode, 2, said)
        # It looks every few milliseconds, in which a machine hands out some tens of MiB.
        self.assertLess(usage.ru_maxrss / 1024, mebibytes + 128, said)
        return said

    def test_a_program_of_a_huge_step_is_not_built_to_its_end(self):
        self.write("huge.yaml", """cluster: CONFIGS/clusters/dgx_h100_superpod.yaml
overrides: {nodes: 2048}
workload:
  model: CONFIGS/models/llama3_405b.yaml
  parallelism: {tensor: 8, context: 1, pipeline: 16, data: 128, zero: 1, sequence_parallel: true, first_stage_layers: 7, last_stage_layers: 7}
  batch: {global: 2048000, sequence: 8192}
simulation: {iterations: 1}
""")
        said = self.limited("run", "huge.yaml", "--memory", "300 MiB", mebibytes=300)
        self.assertIn("--memory allows 300 MiB", said)
        self.assertIn("the training step", said)

    def test_a_long_step_is_counted_from_short_ones(self):
        # Microbatches of a full pipeline add the same each: 16 and 32 of them, which are counted as they are, tell of 64.
        def bytes_of_ranks(microbatches):
            self.write("step.yaml", """cluster: CONFIGS/clusters/h200x4.yaml
workload:
  model: {name: tiny, layers: 4, hidden: 1024, heads: 8, vocab: 32000, ffn: 4096}
  parallelism: {tensor: 2, pipeline: 2, data: 1}
  batch: {global: COUNT, micro: 1, sequence: 1024}
""".replace("COUNT", str(microbatches)))
            said = self.weft("run", "step.yaml", "--verbose").stdout
            return float(re.search(r" ranks of ([\d.]+) KiB", said).group(1))

        few, more = bytes_of_ranks(16), bytes_of_ranks(32)
        self.assertAlmostEqual(bytes_of_ranks(64), more + 2 * (more - few), delta=0.01 * more)

    def test_a_queue_that_grows_is_not_held_to_its_end(self):
        # 10 million messages, of which the link takes 125: refused by its prediction.
        self.write("queue.yaml", TWO_HOSTS + """workload: {flows: [{from: h0, to: h1, bytes: 1 kB, every: 1 ps}]}
simulation: {fidelity: packet, until: 10 us}
""")
        self.assertIn("messages in queues", self.limited("run", "queue.yaml", "--memory", "200 MiB", mebibytes=50))

    def test_a_small_file_that_unpacks_to_very_much_is_refused(self):
        one = b'{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10.0, "dur": 5.0, "args": {"stream": 7}},\n'
        with gzip.open(self.folder / "bomb.json.gz", "wb", compresslevel=1) as out:
            out.write(b'{"traceEvents": [\n')
            for _ in range(200):
                out.write(one * 20000)
            out.write(one.rstrip(b",\n") + b"]}")
        cluster = os.path.join(os.environ["WEFT_CONFIG_DIR"], "clusters/dgx_h100.yaml")
        said = self.limited("replay", "bomb.json.gz", "--cluster", cluster, "--memory", "150 MiB", mebibytes=150)
        self.assertIn("--memory allows 150 MiB", said)

    def test_a_limit_of_the_shell_is_bad_input_and_no_bug(self):
        self.write("queue.yaml", TWO_HOSTS + """workload: {flows: [{from: h0, to: h1, bytes: 1 kB, every: 1 ps}]}
simulation: {fidelity: packet, until: 10 us}
""")
        limit = 400 << 20
        done = self.weft("run", "queue.yaml", "--memory", "100 GiB", expect=2,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertIn("out of memory", done.stderr)


class ForeignJson(Robustness):
    """Trees of JSON are walked and freed by functions that call themselves."""
    DEEP = "[" * 300_000 + "]" * 300_000

    def test_nesting_that_no_tool_writes_is_refused(self):
        (self.folder / "result.json").write_text('{"command": "run", "digest": "0", "configuration": %s}' % self.DEEP)
        self.assertIn("is no result of weft", self.weft("report", "result.json", "--markdown", "-", expect=2).stderr)
        (self.folder / "copies.json").write_text('{"nvbandwidth": {"testcases": %s}}' % self.DEEP)
        done = self.weft("validate", "copies.json", "-c", os.environ["WEFT_CONFIG_DIR"] + "/clusters/h200x4.yaml", expect=2)
        self.assertIn("nested more deeply than any measurement", done.stderr)
        (self.folder / "config.json").write_text('{"model_type": "llama", "rope_scaling": %s}' % self.DEEP)
        self.assertIn("levels", self.weft("check", "config.json", expect=2).stderr)

    def test_a_result_whose_values_are_of_other_kinds_is_none(self):
        for members, why in (('"command": null, "digest": null', "run a command with --json"),
                             ('"command": "run", "digest": "0", "points": {"a": 1}', "points: expected a list of objects"),
                             ('"command": "run", "digest": "0", "points": [1]', "points: expected a list of objects"),
                             ('"command": "collective", "digest": "0", "points": [{"time_us": "x"}]', "time_us: expected a number"),
                             ('"command": "topo", "digest": "0", "capital": [1]', "capital: expected an object"),
                             ('"command": "run", "digest": "0", "seed": []', "seed: expected a text"),
                             ('"command": "run", "digest": "0", "warnings": [null]', "type must be string")):
            (self.folder / "result.json").write_text("{%s}" % members)
            self.assertIn(why, self.weft("report", "result.json", "--markdown", "-", expect=2).stderr)

    def test_a_number_that_no_double_holds_is_refused(self):
        (self.folder / "copies.json").write_text('{"nvbandwidth": {"testcases": 1e999}}')
        done = self.weft("validate", "copies.json", "-c", os.environ["WEFT_CONFIG_DIR"] + "/clusters/h200x4.yaml", expect=2)
        self.assertIn("a number in it is too large", done.stderr)


class Signals(Robustness):
    LONG = """simulation: {iterations: 1000, skip: false}
"""

    def begin(self, *arguments):
        default = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in default])

    def wait_for_temporary(self, process):
        deadline = time.monotonic() + patience.seconds(60)
        while process.poll() is None and time.monotonic() < deadline and not list(self.folder.glob(".weft-*")):
            time.sleep(0.01)
        self.assertIsNone(process.poll(), "it was over before it could be stopped")

    def test_the_first_of_both_keeps_what_is_finished(self):
        self.write("long.yaml", STEP + self.LONG)
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.begin("run", "long.yaml", "--timeline", "t.json", "--json", "r.json")
            self.wait_for_temporary(process)
            time.sleep(0.3)
            process.send_signal(number)
            said, errors = process.communicate(timeout=patience.seconds(60))
            self.assertEqual((process.returncode, errors), (130, ""), said)
            self.assertIn("# interrupted: what follows is what was finished", said)
            self.assertIs(json.loads((self.folder / "r.json").read_text(encoding="utf-8"))["interrupted"], True)
            self.assertEqual(list(self.folder.glob(".weft-*")), [])

    def test_the_second_of_either_ends_it_at_once(self):
        self.write("long.yaml", STEP + self.LONG)
        os.mkfifo(self.folder / "pipe")  # nobody reads it, so that the program cannot end by itself after the first
        for first, second in ((signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)):
            process = self.begin("run", "long.yaml", "--timeline", "t.json", "--json", "pipe")
            self.wait_for_temporary(process)
            time.sleep(0.3)
            process.send_signal(first)
            time.sleep(1)  # signals closer than 0.3 s are one
            self.assertIsNone(process.poll(), "the first ended it")
            process.send_signal(second)
            _, errors = process.communicate(timeout=patience.seconds(60))
            self.assertEqual(process.returncode, -second, "the second did not end it")
            self.assertEqual(errors, "interrupted: files that were finished stay, and no other was written\n")
            self.assertEqual(list(self.folder.glob(".weft-*")), [])

    def test_what_is_kept_is_said_where_nothing_is_simulated(self):
        process = self.begin("schema", "--out", "schemas")  # seconds of reading
        deadline = time.monotonic() + patience.seconds(60)
        while not list(self.folder.glob("schemas/*.json")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=patience.seconds(60))
        self.assertEqual((process.returncode, errors),
                         (-signal.SIGINT, "interrupted: files that were finished stay, and no other was written\n"))
        for file in self.folder.glob("schemas/*"):
            json.loads(file.read_text(encoding="utf-8"))

    def test_a_file_over_the_limit_of_the_shell_leaves_nothing(self):
        self.write("f.yaml", TWO_HOSTS + "workload: {flows: [{from: h0, to: h1, bytes: 1 MB}]}\n")
        before = self.names()
        done = self.weft("run", "f.yaml", "--json", "r.json", expect=2,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        self.assertIn("cannot write 'r.json'", done.stderr)
        self.assertEqual(self.names(), before)


class Folders(Robustness):
    def test_a_folder_of_traces_comes_whole_or_not_at_all(self):
        self.write("step.yaml", STEP)
        before = self.names()
        self.weft("run", "step.yaml", "--write-chakra", "traces", expect=2,
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)))
        self.assertEqual(self.names(), before)
        self.weft("run", "step.yaml", "--write-chakra", "traces")
        files = [f"step.{rank}.et" for rank in range(8)]
        self.assertLess(set(files), set(self.names()))

    def test_a_run_that_is_refused_leaves_no_schedule(self):
        # 405e9 parameters of 2 bytes do not fit into one GPU.
        self.write("large.yaml", """cluster: CONFIGS/clusters/dgx_h100.yaml
workload:
  model: CONFIGS/models/llama3_405b.yaml
  parallelism: {tensor: 8, data: 1}
  batch: {global: 1, micro: 1, sequence: 4096}
""")
        before = self.names()
        self.weft("run", "large.yaml", "--write-goal", "g.goal", "--write-chakra", "traces", expect=2)
        self.assertEqual(self.names(), before)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv[1]).resolve()
    PROGRAM = str(pathlib.Path(sys.argv[2]).resolve())
    os.environ["WEFT_CONFIG_DIR"] = str(ROOT / "configs")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
