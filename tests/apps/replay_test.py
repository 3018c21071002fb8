#!/usr/bin/env python3
"""What `weft replay` and `weft trace` promise to whoever calls them, on a step of two ranks made by hand
(tests/data/traces/small.rank*.json): a GEMM of 1 ms, an all-reduce of 32 MiB that took 140 us, an optimizer of 0.5 ms.

    replay_test.py ROOT WEFT
"""
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import patience

ROOT = pathlib.Path()
PROGRAM = ""
MODEL = "{name: tiny, layers: 2, hidden: 1024, heads: 8, kv_heads: 8, head_dim: 128, ffn: 4096, vocab: 32000}"
ALL_REDUCE_BYTES = 32 * 2**20


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.node = str(ROOT / "configs/clusters/h200x4.yaml")
        self.traces = [str(ROOT / f"tests/data/traces/small.rank{rank}.json") for rank in (0, 1)]

    def weft(self, *arguments, expect=0):
        done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              timeout=patience.seconds(120), check=False)
        self.assertEqual(done.returncode, expect, f"weft {arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def replay(self, *arguments, traces=None):
        files = self.traces if traces is None else traces
        return json.loads(self.weft("replay", *files, "--cluster", self.node, "--quiet", "--json", "-", *arguments).stdout)

    def predicted(self, result, category):
        return next(each["predicted_ns"] for each in result["categories"] if each["name"] == category)

    def refused(self, *arguments):
        return self.weft("replay", *self.traces, "--cluster", self.node, *arguments, expect=2).stderr


class Replay(Case):
    """A recorded step as it was, and elsewhere."""

    def test_as_recorded_keeps_kernels_and_simulates_the_collective(self):
        result = self.replay("--as-recorded")
        self.assertEqual(result["traced_step_ns"], 1_640_000)
        self.assertEqual(self.predicted(result, "gemm"), 1_000_000)
        self.assertEqual(self.predicted(result, "optimizer"), 500_000)
        self.assertNotEqual(self.predicted(result, "nccl"), 140_000)
        self.assertAlmostEqual(result["relative_error"], result["iteration_time_ns"] / 1_640_000 - 1, places=9)
        self.assertEqual(result["digest"], self.replay("--as-recorded")["digest"])

    def test_says_what_memory_it_takes_and_refuses_more_than_it_may(self):
        text = self.weft("replay", *self.traces, "--cluster", self.node, "-v").stdout
        self.assertRegex(text, r"\n# memory predicted \S+ MiB: \S+ MiB now, \d+ ports of \S+ B, 2 ranks of ")
        self.assertRegex(text, r"\n# memory held at most: 2 ranks of .*; peak .*; predicted / peak ")
        self.assertRegex(self.refused("--memory", "1 MiB"), patience.NO_MEMORY)

    def test_max_error_sets_the_exit_status(self):
        self.weft("replay", *self.traces, "--cluster", self.node, "--as-recorded", "--max-error", "50%")
        done = self.weft("replay", *self.traces, "--cluster", self.node, "--as-recorded", "--max-error", "0.0001%", expect=1)
        self.assertRegex(done.stderr, r"the step is off by [+-][0-9.]+ %, more than 0.0001%")

    def test_the_hosts_share_of_a_step_is_told_and_scaled(self):
        # Annotated for 10 ms: a launch after 6 ms, 10 us later a kernel of 3 ms, and 0.99 ms more of the host.
        path = self.folder / "host.json"
        path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1000, "dur": 10000},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 7000, "dur": 2, "args": {"correlation": 1}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 7010, "dur": 3000, "args": {"stream": 7, "correlation": 1}}]}))
        told = "# the host held up the GPU for 7.000 of 10.000 ms of the traced step (70.0 %)\n"
        self.assertIn(told, self.weft("trace", "info", path).stdout)
        text = self.weft("replay", path, "--cluster", self.node).stdout
        self.assertIn(told, text)
        self.assertIn("# host-bound: ", text)
        half = self.replay("--scale-host", "0.5", traces=[path])  # launched after 3 ms; the host is done after 5 ms
        self.assertEqual(half["iteration_time_ns"], 3_000_000 + 10_000 + 3_000_000)
        self.assertFalse(half["host_bound"])  # 3 ms the host, 3.01 ms the kernel and what is before it
        self.assertTrue(self.replay(traces=[path])["host_bound"])
        self.assertEqual(half["traced_host_held_ns"], 7_000_000)
        free = self.replay("--scale-host", "0", traces=[path])
        self.assertEqual(free["iteration_time_ns"], 3_010_000)
        self.assertFalse(free["host_bound"])
        self.assertNotIn("host-bound", self.weft("replay", *self.traces, "--cluster", self.node).stdout)
        self.assertIn("--scale-host: expected a factor of 0 or more", self.refused("--scale-host", "-1"))
        self.assertIn("not together with", self.refused("--scale-host", "0.5", "--as-recorded"))

    def test_link_rates_change_the_collective_and_nothing_else(self):
        whole = self.replay()
        half = self.replay("--set", "node.type=h200x4_half_nvlink")
        for category in ("gemm", "optimizer", "compute"):
            self.assertEqual(self.predicted(half, category), self.predicted(whole, category))
        ratio = self.predicted(half, "nccl") / self.predicted(whole, "nccl")
        self.assertGreater(ratio, 1.5)
        self.assertLess(ratio, 2.0)  # latencies stay

    def test_between_hosts_an_all_reduce_of_two_takes_its_bytes_over_the_link(self):
        # Each rank sends 2 (n - 1) / n = 1 times the size.
        for rate in (10e9, 100e9):
            result = self.replay("--set", "nodes=2", "--map", "0,4", "--set", f"fabric.link.rate={rate / 1e9:.0f} Gb/s")
            bare = 8 * ALL_REDUCE_BYTES / rate * 1e9
            self.assertGreater(self.predicted(result, "nccl"), bare)
            self.assertLess(self.predicted(result, "nccl"), 1.25 * bare)

    def test_map_says_which_gpu_a_rank_is_on(self):
        self.assertEqual(self.replay("--map", "2,3")["iteration_time_ns"], self.replay()["iteration_time_ns"])
        self.assertIn("--map: GPU 0 for two ranks", self.refused("--map", "0,0"))
        self.assertIn("--map: GPU 4 of cluster '4 x H200', which has 0 to 3", self.refused("--map", "0,4"))
        self.assertIn("--map names 1 GPUs for 2 ranks", self.refused("--map", "1"))

    def test_scale_compute_scales_kernels_only(self):
        result = self.replay("--scale-compute", "0.5")
        whole = self.replay()
        # A smaller share of the step in GEMMs leaves the clock higher.
        faster = self.predicted(whole, "nccl") - self.predicted(result, "nccl")
        self.assertGreaterEqual(faster, 0)
        self.assertLess(faster, 0.01 * self.predicted(whole, "nccl"))
        # The kernels: half of 1.5 ms. The step begins with the first.
        self.assertAlmostEqual(whole["iteration_time_ns"] - result["iteration_time_ns"] - faster, 750_000, delta=2)
        self.assertIn("--scale-compute: expected a factor above 0", self.refused("--scale-compute", "0"))
        self.assertIn("not together with --gpu, --scale-compute", self.refused("--scale-compute", "0.5", "--as-recorded"))

    def test_one_rank_stands_for_all_that_a_table_of_layers_lists(self):
        # 512 ranks, tensor parallel by eight: every node does the same.
        row = "layer\t-1\t1000\tALLREDUCE\t1000000\t1000\tALLREDUCE\t1000000\t1000\tNONE\t0\t100\n"
        table = self.folder / "table.txt"
        table.write_text("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 512 "
                         "checkpoints: 0 checkpoint_initiates: 0\n3\n" + 3 * row)
        cluster = ROOT / "configs/clusters/dgx_h100_superpod.yaml"
        result = json.loads(self.weft("replay", table, "--cluster", cluster, "--set", "nodes=64", "--quiet", "--json", "-").stdout)
        self.assertEqual((result["ranks"], result["simulated_ranks"]), (512, 1))

    def profile(self, events):
        trace = self.folder / "profile.json"
        trace.write_text(json.dumps({"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": events}))
        return trace

    @staticmethod
    def call(name, at, lasts, number, category="cuda_runtime"):
        return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": at, "dur": lasts, "args": {"correlation": number}}

    @staticmethod
    def kernel(name, at, lasts, number, stream=7, **more):
        return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": at, "dur": lasts,
                "args": {"device": 0, "stream": stream, "correlation": number, **more}}

    def test_the_time_until_a_wait_returns_is_the_hosts(self):
        # The device has done at 1,010 us, the host hears of it at 1,015 us and launches again at 1,100 us.
        trace = self.profile([self.call("cudaLaunchKernel", 0, 2, 1), self.kernel("gemm", 10, 1000, 1),
                              self.call("cudaDeviceSynchronize", 20, 995, 2),
                              self.call("cudaLaunchKernel", 1100, 2, 3), self.kernel("gemm", 1110, 1000, 3)])
        self.assertEqual(self.replay("--as-recorded", traces=[trace])["iteration_time_ns"], 2_100_000)
        # Half of each kernel; 90 us of the host and 10 us from its launch to the kernel stay.
        self.assertEqual(self.replay("--scale-compute", "0.5", traces=[trace])["iteration_time_ns"], 1_100_000)

    def test_a_step_shorter_than_what_the_step_before_still_does_is_counted_by_itself(self):
        # The step before holds the GPU until 31 ms on a stream of its own. This step's all-reduce took 30 ms, waiting for
        # another rank: it ends 5 ms later. Here it takes next to nothing, so that all is done before 31 ms.
        size = {"Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1024, "Out msg nelems": 1024,
                "Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}
        trace = self.profile([self.call("ProfilerStep#1", 0, 1000, 0, "user_annotation"),
                              self.call("cudaLaunchKernel", 10, 2, 1), self.kernel("other", 1000, 30000, 1, stream=9),
                              self.call("ProfilerStep#2", 1000, 1000, 0, "user_annotation"),
                              self.call("cudaLaunchKernel", 1000, 2, 2), self.kernel("gemm", 1000, 5000, 2),
                              self.call("cudaLaunchKernel", 1010, 2, 3),
                              self.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 6000, 30000, 3, **size)])
        result = self.replay("--as-recorded", traces=[trace])
        self.assertEqual(result["traced_step_ns"], 5_000_000)
        self.assertEqual(result["iteration_time_ns"], 5_000_000 + self.predicted(result, "nccl"))
        self.assertIn("goes on for 30.000 ms of this one", " ".join(result["warnings"]))

    def host_bound(self):
        # Two kernels of 1 ms, launched 4 ms after each other: the step is 5 ms, of them 2 ms kernels and 3 ms the host's.
        events = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 1,
                   "args": {"correlation": at}} for at in (1, 4001)]
        events += [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 9, "dur": 1000,
                    "args": {"device": 0, "stream": 7, "correlation": at}} for at in (1, 4001)]
        trace = self.folder / "host.json"
        trace.write_text(json.dumps({"traceEvents": events}))
        return trace

    def test_an_unprofiled_step_says_how_long_the_host_takes(self):
        # The second launch comes 4 ms F after the first: 3 ms where F is a half.
        found = self.weft("replay", self.host_bound(), "--cluster", self.node, "--unprofiled", "3").stdout
        self.assertIn("# note: without the profiler the host takes 0.5 times as long: --scale-host 0.5", found)
        self.assertIn("predicted step   3.000 ms", found)
        whole = self.replay("--unprofiled", "5 ms", traces=[self.host_bound()])
        self.assertEqual(whole["iteration_time_ns"], 5_000_000)

    def test_unprofiled_steps_that_no_host_explains_are_refused(self):
        trace = self.host_bound()

        def refused(step):
            return self.weft("replay", trace, "--cluster", self.node, "--unprofiled", step, expect=2).stderr

        self.assertIn("--unprofiled: the step takes 5.000 ms here with the profiler: without it, it is no longer", refused("6"))
        # The second kernel begins 9 us after its launch, be the first one's end before it or not.
        self.assertIn("--unprofiled: 2.009 ms of the step are kernels and communication, whatever the host does", refused("1.9 ms"))
        for wrong in ("0", "-1", "fast", "3 GB"):
            self.assertIn("--unprofiled: expected the time of a step without the profiler, such as 95 ms", refused(wrong))
        self.assertIn("--unprofiled finds what --scale-host has to be", self.refused("--unprofiled", "3", "--as-recorded"))

    def test_gaps_before_kernels_are_not_scaled_with_them(self):
        # Two kernels of 1 ms, 20 us between them that nothing on the host explains.
        events = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": number, "dur": 1,
                   "args": {"correlation": number}} for number in (1, 2)]
        events += [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": start, "dur": 1000,
                    "args": {"device": 0, "stream": 7, "correlation": number}} for number, start in ((1, 10), (2, 1030))]
        trace = self.folder / "gap.json"
        trace.write_text(json.dumps({"traceEvents": events}))
        self.assertEqual(self.replay("--as-recorded", traces=[trace])["iteration_time_ns"], 2_020_000)
        half = self.replay("--scale-compute", "0.5", traces=[trace])
        self.assertEqual(half["iteration_time_ns"], 1_020_000)
        self.assertEqual(self.predicted(half, "gemm"), 1_000_000)

    def test_another_gpu_scales_kernels_by_class(self):
        result = self.replay("--gpu", "b200")
        self.assertLess(self.predicted(result, "gemm"), 1_000_000)
        gemm = self.predicted(result, "gemm") / 1_000_000
        memory = self.predicted(result, "optimizer") / 500_000
        self.assertNotAlmostEqual(gemm, memory, places=2)
        self.assertTrue(any("kernels of NVIDIA H200 on b200" in warning for warning in result["warnings"]))
        self.assertEqual(self.replay("--gpu", "h200_sxm")["iteration_time_ns"], self.replay()["iteration_time_ns"])
        self.assertIn("model 'b2000'", self.refused("--gpu", "b2000"))

    def test_repeat_runs_iterations_one_after_another(self):
        once, thrice = self.replay(), self.replay("--repeat", "3")
        self.assertEqual(len(thrice["iterations_ns"]), 3)
        self.assertEqual(thrice["iterations_ns"], [once["iteration_time_ns"]] * 3)
        self.assertAlmostEqual(sum(thrice["iterations_ns"]), thrice["makespan_ns"], delta=1)
        self.assertIn("--repeat", self.refused("--repeat", "0"))

    def test_info_says_what_a_trace_holds(self):
        text = self.weft("trace", "info", *self.traces).stdout
        self.assertIn("kineto trace: 2 ranks", text)
        self.assertIn("on NVIDIA H200", text)
        self.assertRegex(text, rf"all_reduce +2 +{ALL_REDUCE_BYTES} +1 +140\.0")


class Convert(Case):
    """Round trips: what is written comes back and runs the same."""

    def scenario(self, parallelism):
        path = self.folder / "step.yaml"
        path.write_text(f"cluster: {self.node}\nworkload:\n  model: {MODEL}\n  parallelism: {{{parallelism}}}\n"
                        "  batch: {global: 4, micro: 1, sequence: 1024}\nsimulation: {iterations: 3}\n", encoding="utf-8")
        return path

    def test_a_generated_step_comes_back_from_chakra(self):
        for parallelism in ("tensor: 2, data: 2", "data: 4, zero: 3", "pipeline: 2, data: 2"):
            with self.subTest(parallelism):
                step = self.scenario(parallelism)
                ran = json.loads(self.weft("run", step, "--quiet", "--json", "-").stdout)
                self.weft("trace", "convert", step, "--to", "chakra", parallelism[:4])
                back = self.replay("--repeat", "3", traces=[parallelism[:4]])
                self.assertEqual(back["digest"], ran["digest"])
                self.assertEqual(back["iteration_time_ns"], ran["iteration_time_ns"])

    def test_a_step_written_by_run_is_the_one_that_convert_writes(self):
        step = self.scenario("tensor: 2, data: 2")
        self.weft("run", step, "--quiet", "--write-chakra", "run", "--write-goal", "run.goal")
        self.weft("trace", "convert", step, "--to", "chakra", "convert")
        self.weft("trace", "convert", step, "--to", "goal", "convert.goal")
        for written in sorted((self.folder / "run").iterdir()):
            self.assertEqual(written.read_bytes(), (self.folder / "convert" / written.name).read_bytes(), written.name)
        self.assertEqual((self.folder / "run.goal").read_bytes(), (self.folder / "convert.goal").read_bytes())

    def test_a_recorded_step_comes_back_from_chakra_with_its_times(self):
        self.weft("trace", "convert", *self.traces, "--to", "chakra", "et")
        there, back = self.replay("--as-recorded"), self.replay("--as-recorded", traces=["et"])
        for key in ("digest", "traced_step_ns", "relative_error", "recorded_gpu", "categories", "collectives"):
            self.assertEqual(back[key], there[key], key)

    def test_goal_comes_back_from_goal_and_from_chakra(self):
        self.weft("trace", "convert", self.scenario("tensor: 2, data: 2"), "--to", "goal", "step.goal")
        self.weft("trace", "convert", "step.goal", "--to", "goal", "again.goal")
        self.weft("trace", "convert", "step.goal", "--to", "chakra", "et")
        digest = self.replay(traces=["step.goal"])["digest"]
        self.assertEqual(self.replay(traces=["again.goal"])["digest"], digest)
        self.assertEqual(self.replay(traces=["et"])["digest"], digest)

    def test_what_cannot_be_converted_is_refused(self):
        self.assertIn("no format 'gola' is written\nnote: did you mean 'goal'? formats: chakra, goal",
                      self.weft("trace", "convert", *self.traces, "--to", "gola", "x", expect=2).stderr)
        step = self.folder / "flows.yaml"
        step.write_text(f"cluster: {self.node}\nworkload: {{collectives: [{{kind: all_reduce, bytes: 1 MiB}}]}}\n", encoding="utf-8")
        self.assertIn("only training steps are programs", self.weft("trace", "convert", step, "--to", "goal", "x", expect=2).stderr)


class NsightSystems(Case):
    """A database as `nsys export --type sqlite` writes it: two processes, each on a GPU of its own."""

    def database(self, text):
        path = self.folder / "report.sqlite"
        database = sqlite3.connect(path)
        database.executescript("""
            CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
            CREATE TABLE NVTX_EVENTS(start INT, end INT, eventType INT, text TEXT, textId INT, globalTid INT, domainId INT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, correlationId INT, nameId INT);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, streamId INT, correlationId INT,
                globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT, gridZ INT);
            CREATE TABLE TARGET_INFO_GPU(id INT, name TEXT);
            INSERT INTO StringIds VALUES(1,'nvjet_gemm'),(2,'ncclDevKernel_AllReduce_Sum_bf16_RING_LL128'),(3,'cudaLaunchKernel');
            INSERT INTO TARGET_INFO_GPU VALUES(0,'NVIDIA H200'),(1,'NVIDIA H200');""")
        for gpu in (0, 1):
            process = (100 + gpu) << 24
            for number, (name, start, end) in enumerate([(1, 10_000, 1_010_000), (2, 1_010_000, 1_150_000), (1, 1_150_000, 1_650_000)]):
                launch = 10_000 * number
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,?,?,3)", (launch, launch + 4_000, process + 7, number))
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?,?,?,7,?,?,?,?,24,1,1)",
                                 (start, end, gpu, number, process, name, name))
            database.execute("INSERT INTO NVTX_EVENTS VALUES(9000,15000,59,?,NULL,?,0)", (text, process + 7))
        database.commit()
        database.close()
        return path

    def test_a_database_is_replayed_with_its_collectives_simulated(self):
        path = self.database(f"ncclAllReduce(): commHash 12ab, data_size {ALL_REDUCE_BYTES}, type_size 2")
        text = self.weft("trace", "info", path).stdout
        self.assertIn("nsys trace: 2 ranks", text)
        self.assertIn("on NVIDIA H200", text)
        self.assertRegex(text, rf"all_reduce +2 +{ALL_REDUCE_BYTES} +1 +140\.0")
        result = self.replay("--as-recorded", traces=[path])
        self.assertEqual(self.predicted(result, "gemm"), 1_500_000)
        # The call runs beside other kernels here, and the clock's effect on it depends on what runs in the step.
        self.assertAlmostEqual(self.predicted(result, "nccl") / self.predicted(self.replay(), "nccl"), 1, delta=0.1)

    def test_a_collective_without_a_size_keeps_its_time_and_is_told(self):
        path = self.database("ncclAllReduce")
        done = self.weft("replay", path, "--cluster", self.node)
        self.assertIn("2 kernels of communication carry no metadata of their calls: matched between ranks by order and end", done.stderr)
        # On any network.
        for cluster in ((), ("--set", "node.type=h200x4_half_nvlink")):
            self.assertEqual(self.predicted(self.replay(*cluster, traces=[path]), "nccl"), 140_000)

    def test_calls_of_unknown_size_come_back_from_chakra_the_same(self):
        path = self.database("ncclAllReduce")
        self.weft("trace", "convert", path, "--to", "chakra", "et")
        self.assertEqual(self.replay("--as-recorded", traces=["et"])["digest"], self.replay("--as-recorded", traces=[path])["digest"])
        done = self.weft("trace", "convert", path, "--to", "goal", "step.goal")
        self.assertIn("2 calls of unknown size are computation in GOAL", done.stderr)

    def test_a_broken_database_is_named(self):
        path = self.folder / "cut.sqlite"
        path.write_bytes(self.database("ncclAllReduce").read_bytes()[:5000])
        self.assertIn("cut.sqlite: error:", self.weft("trace", "info", path, expect=2).stderr)


if __name__ == "__main__":
    ROOT, PROGRAM = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve())
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
