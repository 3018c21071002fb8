"""What tools/bench.py promises: it complains of ratios between builds that ran in turns, never of times on a machine that drifts, and
keeps every run in its history.

    bench_test.py ROOT

The benchmarks are stand-ins: each call takes longer than the one before, as on a machine that others begin to use.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()

STAND_IN = """\
#!/bin/sh
done=$(cat {calls} 2>/dev/null || echo 0)
echo $((done + 1)) > {calls}
entry() {{
  echo '{{"name": "'$1'", "cpu_time": '$(($2 * (100 + done) / 100))', "time_unit": "ns", "arrivals/s": 1, "flows/solve": 1, "allocs/event": 0}}'
}}
echo '{{"benchmarks": ['
{entries}
echo ']}}'
"""


def stand_in(calls, times):
    entries = "\necho ,\n".join(f"entry {name} {ns}" for name, ns in times.items())
    return STAND_IN.format(calls=calls, entries=entries)


class BenchTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.history = self.folder / "deep" / "history.jsonl"
        self.script(self.folder / "bin" / "cmake", "#!/bin/sh\n")

    @staticmethod
    def script(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def build(self, name, hold=1000, fabric=5000):
        """A build whose queue and fabric take so many ns, on the machine of all builds here."""
        bench = self.folder / name / "tests" / "bench"
        calls = str(self.folder / "calls")
        queues = {"binary_heap/hold/64": 2000, "ladder/hold/64": hold}
        self.script(bench / "bench_event_queue", stand_in(calls, queues))
        self.script(bench / "bench_flow_fabric", stand_in(calls, {"fabric/8": fabric}))
        self.script(bench / "record_events", "#!/bin/sh\necho 12 events\n")
        return str(self.folder / name)

    def run_bench(self, *arguments, status=0):
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run([sys.executable, ROOT / "tools/bench.py", "--history", self.history, *arguments], capture_output=True,
                              text=True, check=False, env={**os.environ, "PATH": path})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def entries(self):
        return [json.loads(line) for line in self.history.read_text(encoding="utf-8").splitlines()]

    def test_builds_of_one_speed_are_equal_on_a_machine_that_slows_down(self):
        done = self.run_bench("--build", self.build("new"), "--against", self.build("old"))
        self.assertEqual(done.stderr, "")
        # Times grew by a quarter meanwhile, which alone would be beyond the limit.
        self.assertAlmostEqual(self.entries()[0]["ratios"]["fabric/8"], 1, delta=0.03)

    def test_a_case_that_is_slower_is_named_with_its_ratio(self):
        done = self.run_bench("--build", self.build("new", fabric=6000), "--against", self.build("old"), status=1)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertRegex(done.stderr, r"^fabric/8: 1\.\d+ times as long as the other build, beyond 1\.05 in 7 of 7 turns")
        self.assertAlmostEqual(self.entries()[0]["ratios"]["fabric/8"], 1.2, delta=0.04)

    def test_the_limit_is_the_one_asked_for(self):
        builds = ["--build", self.build("new", hold=1200), "--against", self.build("old")]
        self.run_bench(*builds, "--slower", "1.3")
        self.run_bench(*builds, "--slower", "1.1", status=1)

    def test_few_turns_cannot_tell_a_case_from_chance(self):
        self.run_bench("--build", self.build("new", fabric=6000), "--against", self.build("old"), "--turns", "6")

    def test_the_history_keeps_every_run_and_complains_of_none(self):
        self.run_bench("--build", self.build("old"), "--turns", "1")
        self.run_bench("--build", self.build("new", hold=10000), "--turns", "1")
        first, second = self.entries()
        self.assertGreater(second["ns"]["ladder/hold/64"], 5 * first["ns"]["ladder/hold/64"])
        self.assertNotIn("ratios", first)
        self.assertTrue(first["machine"])

    def test_prints_queues_beside_the_binary_heap(self):
        done = self.run_bench("--build", self.build("one"), "--turns", "1")
        self.assertRegex(done.stdout, r"(?m)^hold/64 +2000\.0 \( 1\.00x\) +1000\.0 \( 2\.00x\)$")
        self.assertIn("fabric/8", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
