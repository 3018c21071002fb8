"""What `weft collective`, `run` and `compare` promise to whoever calls them: exit statuses, streams, files, repeatability."""

import argparse
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import unittest

import patience

PROGRAM = ""

NODE = """
node:
  devices:
    - {name: gpu0..3, kind: gpu}
    - {name: nvswitch0, kind: nvswitch}
    - {name: cpu0, kind: cpu}
    - {name: nic0, kind: nic}
  links:
    - {between: [gpu0..3, nvswitch0], type: nvlink4, width: 18}
    - {between: [gpu0..3, cpu0], type: pcie5, lanes: 16}
    - {between: [nic0, cpu0], type: pcie5, lanes: 16}
"""
FABRIC = "fabric: {type: single_switch, link: {type: ethernet, rate: 400 Gb/s, latency: 1 us}}\n"
FILES = {
    "node4.yaml": "name: four\nnodes: 1\n" + NODE + FABRIC,
    "half.yaml": "name: half\nnodes: 1\n" + NODE.replace("width: 18", "width: 9") + FABRIC,
    "hosts.yaml": "name: hosts\nnodes: 4\nnode: {devices: [{name: h, kind: host}]}\n" + FABRIC,
    "collectives.yaml": "cluster: node4.yaml\nworkload:\n  collectives:\n"
                        "    - {kind: all_reduce, bytes: 64 MiB, count: 3}\n    - {kind: alltoall, bytes: 1 MiB}\n",
    "flows.yaml": "cluster: hosts.yaml\nworkload:\n  flows:\n"
                  "    - {from: h0, to: h1, bytes: 10 MB}\n    - {from: h2, to: h1, bytes: 10 MB, start: 5 us}\n",
}
POINT = ["collective", "all_reduce", "--cluster", "node4.yaml"]
SWEEP = [*POINT, "-b", "1M", "-e", "8M"]
# Far more sizes than anyone waits for.
ENDLESS = [*POINT, "-b", "1M", "-e", "64M", "-i", "128", "--grain", "chunk"]
HEADER_KEYS = ["version", "commit", "command", "command_line", "seed", "configuration", "profile", "warnings", "digest", "interrupted"]
POINT_KEYS = ["collective", "ranks", "nodes", "bytes", "algorithm", "protocol", "channels", "time_us", "algbw_GBps", "busbw_GBps"]


def rows_of(text):
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


def digest_of(text):
    return re.search(r"^# digest ([0-9a-f]{16})\b", text, re.MULTILINE).group(1)


class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in FILES.items():
            (self.folder / name).write_text(text, encoding="utf-8")

    def weft(self, *arguments, expect=0):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=patience.seconds(120), check=False)
        self.assertEqual(done.returncode, expect, f"weft {' '.join(arguments)}\n{done.stdout}\n{done.stderr}")
        return done

    def new_files(self):
        return sorted(path.name for path in self.folder.iterdir() if path.name not in FILES)

    def start(self, *arguments, **streams):
        # A parent that runs tests in the background may have told its children to ignore Ctrl-C.
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **streams)


class TheProgram(Commands):
    def test_says_its_version(self):
        self.assertRegex(self.weft("--version").stdout, r"^weft \d+\.\d+\.\d+ \([0-9a-z-]+\)\n$")

    def test_helps(self):
        for arguments in (["-h"], ["--help"], ["collective", "-h"], ["run", "--help"]):
            done = self.weft(*arguments)
            self.assertIn("Usage", done.stdout)
            self.assertEqual(done.stderr, "")

    def test_needs_a_command(self):
        done = self.weft(expect=2)
        self.assertEqual(done.stdout, "")
        self.assertIn("collective", done.stderr)

    def test_explains_whatever_has_a_name(self):
        for name, expected in (("h200_sxm", "weft explain profile h200_sxm"), ("dgx_h100", "weft topo dgx_h100"), ("vllm", "--library"),
                               ("NTHREADS", "64 to 512"), ("nccl_nthreads", "64 to 512"), ("NCCL_IB_HCA", "not followed here"),
                               ("NCCL_DEBUG", "changes no time"), ("all_to_allv", "alltoallv: "), ("experts", "deepep_combine: "),
                               ("skew", "skew: "), ("power_limit", "gpu.power_limit: ")):
            self.assertIn(expected, re.sub(r"\s+", " ", self.weft("explain", name).stdout), name)
        self.assertIn("did you mean 'NCCL_NTHREADS'?", self.weft("explain", "NCCL_NTHREAD", expect=2).stderr)

    def test_of_a_letter_that_is_no_option_suggests_none(self):
        self.assertNotIn("did you mean", self.weft(*SWEEP, "-m", "8", expect=2).stderr)

    def test_names_the_nearest_of_what_it_does_not_know(self):
        for arguments, expected in [
                (["colective"], "error: unknown command 'colective'\nnote: did you mean 'collective'?"),
                ([*SWEEP, "--sed", "1"], "error: unknown option '--sed' of 'weft collective'\nnote: did you mean '--"),
                (["run", "flows.yaml", "flows.yaml"], "error: unexpected argument 'flows.yaml' of 'weft run'\n"),
                (["collective", "all_redcue", "--cluster", "node4.yaml"],
                 "error: unknown collective 'all_redcue'\nnote: did you mean 'all_reduce'?"),
                ([*SWEEP, "--algo", "rign"], "error: --algo: unknown value 'rign'\nnote: did you mean 'ring'? choices: "),
                ([*SWEEP, "--proto", "LL12"], "error: --proto: unknown value 'LL12'\nnote: did you mean 'LL"),
                ([*SWEEP, "--grain", "fuid"], "error: --grain: unknown value 'fuid'\nnote: did you mean 'fluid'?"),
                ([*SWEEP, "-d", "flaot"], "error: unknown data type 'flaot'\nnote: did you mean 'float'?"),
                ([*SWEEP, "--nccl", "ALG=Ring"], "error: unknown NCCL variable 'NCCL_ALG'"),
        ]:
            done = self.weft(*arguments, expect=2)
            self.assertIn(expected, done.stderr)
            self.assertEqual(done.stdout, "", arguments)

    def test_refuses_values_that_make_no_sense(self):
        for extra, expected in [
                (["--set", "nodes"], "--set: expected key.path=value, got 'nodes'"),
                (["--seed", "-1"], "--seed: expected a whole number of 0 or more, got '-1'"),
                (["--fidelity", "packets"], "--fidelity: "),
                (["-b", "8X"], "-b: expected a size such as 8, 64K or 4G, got '8X'"),
                (["-b", "1G", "-e", "1M"], "is below the smallest"),
                (["-f", "1"], "expected a factor of 2 or more, got 1"),
                (["-f", "two"], "weft collective: "),
                (["-f", "2", "-i", "8"], "weft collective: "),
                (["--root", "4"], "--root: rank 4 is not in a communicator of 4 ranks (0 to 3)"),
                (["-g", "5"], "a process of 5 GPUs does not fit node 0, which has 4"),
                (["--nodes", "0"], "--nodes: expected 1 or more, got 0"),
                (["--channels", "65"], "weft collective: "),
                (["--json", "no/such/folder.json"], "cannot write 'no/such/folder.json': there is no folder 'no/such'"),
                (["--json", "-", "--timeline", "-"], "cannot both go to standard output"),
        ]:
            done = self.weft(*POINT, *extra, expect=2)
            self.assertIn(expected, done.stderr)
            self.assertTrue(done.stderr.startswith("error: "), done.stderr)
            self.assertEqual(done.stdout, "", extra)

    def test_asks_for_what_is_missing(self):
        self.assertIn("--cluster", self.weft("collective", "all_reduce", expect=2).stderr)
        self.assertIn("SCENARIO", self.weft("run", expect=2).stderr)
        self.assertIn("--clusters", self.weft("compare", "collectives.yaml", expect=2).stderr)
        self.assertIn("none.yaml", self.weft("run", "none.yaml", expect=2).stderr)

    def test_is_quiet_in_a_pipe(self):
        for arguments in (SWEEP, ["run", "flows.yaml"], ["compare", "collectives.yaml", "--clusters", "node4.yaml", "half.yaml"]):
            done = self.weft(*arguments)
            self.assertEqual(done.stderr, "")
            self.assertNotIn("\x1b", done.stdout)
            self.assertNotIn("\r", done.stdout)

    def test_says_when_standard_output_is_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, *SWEEP], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=patience.seconds(120), check=False)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "error: cannot write to standard output: No space left on device\n")

    def test_ends_quietly_when_the_reader_leaves(self):
        process = self.start(*ENDLESS, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=patience.seconds(60)), -signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()

    def test_writes_its_files_even_when_the_reader_leaves(self):
        process = self.start(*SWEEP, "--json", "r.json", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual(process.wait(timeout=patience.seconds(60)), 0)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(len(json.loads((self.folder / "r.json").read_text())["points"]), 4)


class Interrupt(Commands):
    def interrupt(self, *arguments):
        process = self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        head = ""
        while len(rows_of(head)) < 3:
            line = process.stdout.readline()
            self.assertNotEqual(line, "", head)
            head += line
        process.send_signal(signal.SIGINT)
        # Not communicate(): it would lose what readline() has read ahead.
        rest = process.stdout.read()
        errors = process.stderr.read()
        self.assertEqual((process.wait(timeout=patience.seconds(60)), errors), (130, ""))
        process.stdout.close()
        process.stderr.close()
        return head + rest

    def test_keeps_what_is_finished(self):
        text = self.interrupt(*ENDLESS, "--json", "r.json")
        self.assertRegex(text, r"# interrupted: \d+ of \d+ sizes are done\n# Avg bus bandwidth    : ")
        result = json.loads((self.folder / "r.json").read_text())
        self.assertIs(result["interrupted"], True)
        self.assertEqual([point["bytes"] for point in result["points"]], [int(row[0]) for row in rows_of(text)])
        self.assertEqual(result["digest"], digest_of(text))

    def test_leaves_no_other_file(self):
        self.interrupt(*ENDLESS)
        self.assertEqual(self.new_files(), [])


class Collective(Commands):
    def test_says_what_memory_it_takes_and_refuses_more_than_it_may(self):
        text = self.weft(*SWEEP, "-v").stdout
        self.assertRegex(text, r"\n# memory predicted \S+ MiB: \S+ MiB now, \d+ ports of .*, \d+ connections of ")
        self.assertRegex(text, r"\n# memory held at most: \d+ ports of .*; peak .* per GPU; predicted / peak ")
        refused = self.weft(*SWEEP, "--memory", "1 MiB", expect=2)
        self.assertEqual(refused.stdout, "")
        self.assertRegex(refused.stderr, patience.NO_MEMORY)

    def test_whole_channels_of_a_tree_over_nodes_say_how_far_off_they_are(self):
        words = ["collective", "all_reduce", "--cluster", "dgx_h100_superpod", "--set", "nodes=4", "-b", "64M", "-e", "64M"]
        doubt = "fluid grain: nvls_tree over nodes was seen up to 13 % from what it takes in chunks"
        self.assertIn(doubt, self.weft(*words, "--grain", "fluid").stdout)
        self.assertNotIn(doubt, self.weft(*words, "--grain", "chunk").stdout)

    def test_prints_the_columns_of_nccl_tests(self):
        text = self.weft(*SWEEP).stdout
        self.assertTrue(text.startswith(
            "# collective all_reduce  node4.yaml  on four: 1 node, 4 GPUs  profile defaults: not validated\n"), text)
        # Where it comes from stands behind the answer; --verbose says it first, and over which data the profile was off.
        provenance = r"# weft \d+\.\d+\.\d+ \(.*\)  (collective  all_reduce  node4.yaml  )?seed 1  fidelity flow  grain auto\n"
        self.assertRegex(text, r"(?m)^# Avg bus bandwidth.*\n" + provenance)
        verbose = self.weft(*SWEEP, "--verbose").stdout
        self.assertRegex(verbose, r"\A" + provenance + "# cluster four: 1 node, 4 GPUs  profile defaults: not validated\n")
        self.assertEqual(len(re.findall(provenance, verbose)), 1)
        self.assertIn("#       size         count      type   redop    root     time   algbw   busbw ", text)
        rows = rows_of(text)
        self.assertEqual([int(row[0]) for row in rows], [2**20, 2**21, 2**22, 2**23])
        for row in rows:
            self.assertEqual(len(row), 11)
            self.assertEqual(row[1:5], [str(int(row[0]) // 4), "float", "sum", "-1"])
            # Algorithm bandwidth is bytes over time; the bus factor of all-reduce on 4 ranks is 1.5.
            self.assertAlmostEqual(float(row[6]), int(row[0]) / float(row[5]) / 1e3, delta=0.02 * float(row[6]))
            self.assertAlmostEqual(float(row[7]), 1.5 * float(row[6]), delta=0.02)
        average = float(re.search(r"^# Avg bus bandwidth    : (\S+)$", text, re.MULTILINE).group(1))
        self.assertAlmostEqual(average, sum(float(row[7]) for row in rows) / 4, delta=0.01)
        self.assertTrue(text.splitlines()[-1].startswith("# digest "))

    def test_is_the_same_every_time(self):
        digests = {digest_of(self.weft(*SWEEP, *extra).stdout) for extra in ([], [], ["--seed", "7"], ["-v"], ["--json", "r.json"])}
        self.assertEqual(len(digests), 1)

    def test_does_not_live_on_lucky_order(self):
        usual, shuffled = ([float(row[5]) for row in rows_of(self.weft(*SWEEP, *extra).stdout)] for extra in ([], ["--shuffle-ties", "3"]))
        for time, other in zip(usual, shuffled, strict=True):  # lanes of a block that begin at once slow each other in their order
            self.assertAlmostEqual(other / time, 1, delta=0.005)

    def test_takes_every_name_of_a_collective(self):
        for name in ("all_reduce", "all_reduce_perf", "AllReduce"):
            self.weft("collective", name, "--cluster", "node4.yaml", "-b", "1M", "-e", "1M")

    def test_runs_fluid_what_moves_nothing_between_ranks(self):
        # 8 B on four ranks are no whole 16 B each; one rank copies.
        for arguments in (["all_gather", "-b", "8", "-e", "8"], ["all_reduce", "-b", "1M", "-e", "1M", "-t", "1", "-g", "1"]):
            done = self.weft("collective", *arguments, "--cluster", "node4.yaml", "--grain", "fluid")
            self.assertEqual(len(rows_of(done.stdout)), 1)

    def test_grains_agree_over_nodes_and_through_switches(self):
        clusters = pathlib.Path(__file__).resolve().parents[2] / "configs/clusters"
        for size, share, arguments in (("64M", 0.06, ["dgx_h100_8_nodes.yaml", "--nodes", "4", "--algo", "Ring", "--proto", "Simple"]),
                                       ("64M", 0.02, ["dgx_h100.yaml", "--algo", "NVLS"])):
            times = []
            for grain in ("chunk", "fluid"):
                done = self.weft("collective", "all_reduce", "-b", size, "-e", size, "--grain", grain, "--cluster",
                                 str(clusters / arguments[0]), *arguments[1:])
                times.append(float(rows_of(done.stdout)[0][5]))
            self.assertAlmostEqual(times[1] / times[0], 1, delta=share, msg=" ".join(arguments))

    def test_runs_every_collective_of_nccl_tests(self):
        for kind in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv", "gather", "scatter"):
            done = self.weft("collective", kind, "--cluster", "node4.yaml", "-b", "8", "-e", "1M", "-f", "1024", "--json", "r.json")
            for point in json.loads((self.folder / "r.json").read_text())["points"]:
                self.assertEqual(point["collective"], kind)
                self.assertGreater(point["time_us"], 0, done.stdout)

    def test_runs_an_all_to_all_of_sizes_by_pair(self):
        (self.folder / "even.csv").write_text("262144,256K,256K,256K\n" * 4)
        (self.folder / "one.json").write_text("[[0, 1048576, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]")
        times = {}
        for kind, *arguments in (["alltoallv", "--sizes", "even.csv"], ["AllToAllv", "--sizes", "one.json"], ["alltoall", "-b1M", "-e1M"]):
            self.weft("collective", kind, *arguments, "--cluster", "node4.yaml", "--json", "r.json")
            point = json.loads((self.folder / "r.json").read_text())["points"][0]
            self.assertEqual((point["bytes"], point["collective"]), (1048576, kind.lower()))
            times[kind] = point["time_us"]
        self.assertEqual(times["alltoallv"], times["alltoall"])
        self.assertGreater(times["AllToAllv"], times["alltoall"])
        for arguments, why in ((["alltoall"], "--sizes goes with"), (["alltoallv", "-b", "8"], "-b, -e, -f and -i")):
            self.assertIn(why, self.weft("collective", *arguments, "--sizes", "even.csv", "-c", "node4.yaml", expect=2).stderr)

    def test_reads_sizes_by_pair_however_a_spreadsheet_writes_them(self):
        digests = set()
        for name, text in (("comma.csv", "0,1M\n64K,0\n"), ("semicolon.csv", "0;1M\n64K;0\n"), ("lists.csv", "[[0, 1M], [64K, 0]]\n")):
            (self.folder / name).write_text(text)
            digests.add(digest_of(self.weft("collective", "alltoallv", "-c", "node4.yaml", "-g", "2", "--sizes", name).stdout))
        self.assertEqual(len(digests), 1)
        for text, why in (("[[0,1],[1,0]", "a bracket that opens here is not closed"), ("0,1e30\n1,0\n", "expected whole bytes, at most 1 PiB")):
            (self.folder / "wrong.csv").write_text(text)
            self.assertIn(why, self.weft("collective", "alltoallv", "-c", "node4.yaml", "-g", "2", "--sizes", "wrong.csv", expect=2).stderr)

    def test_links_carry_what_all_calls_send_and_no_more(self):
        (self.folder / "ring.yaml").write_text(
            "cluster: node4.yaml\nworkload: {collectives: [{kind: all_reduce, bytes: 100 MB, count: 3, algorithm: plain_ring}, "
            "{kind: all_gather, bytes: 40 MB}]}\n")
        result = json.loads(self.weft("run", "ring.yaml", "--json", "-").stdout)
        # NCCL's loop of calls is simulated for the second; a ring passes 2 (n - 1) / n of an all-reduce over each link, and
        # (n - 1) / n of what all ranks of an all-gather end with.
        expected = 3 * 2 * 3 / 4 * 100e6 + 3 / 4 * 40e6
        for link in result["hottest_links"][:4]:
            self.assertAlmostEqual(link["bytes"] / expected, 1, delta=0.01)
            self.assertLessEqual(link["busy_ns"], result["makespan_ns"])
            self.assertLessEqual(link["utilization"], 1)

    def test_relays_one_message_where_all_other_pairs_have_none(self):
        rows = [["0"] * 16 for _ in range(16)]
        rows[0][9] = "1M"
        (self.folder / "one.csv").write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
        for algorithm in ("deepep_dispatch", "deepep_combine"):
            done = self.weft("collective", "alltoallv", "--cluster", "dgx_h100_8_nodes", "--nodes", "2", "--sizes", "one.csv", "--algo",
                             algorithm, "--json", "-")
            point, = json.loads(done.stdout)["points"]
            # 400 Gb/s between nodes, and 18 NVLinks of 25 GB/s inside one.
            alone = (1 << 20) / 50e9 * 1e6 + (1 << 20) / 450e9 * 1e6
            self.assertGreater(point["time_us"], alone, algorithm)
            self.assertLess(point["time_us"], 1.5 * alone, algorithm)

    # Seven links of 48 GB/s; a ring of another number than 14 or 28 leaves some of them idle.
    def test_rings_of_eight_mi300x_use_all_links(self):
        self.weft("collective", "all_reduce", "--cluster", "mi300x", "-b", "4G", "-e", "4G", "--json", "r.json")
        point = json.loads((self.folder / "r.json").read_text())["points"][0]
        self.assertTrue(point["channels"] == 28 and 0.95 * 336 < point["busbw_GBps"] < 336, point)

    def test_takes_algorithms_by_registered_and_by_nccl_names(self):
        for name, shown in (("ring", "ring"), ("Ring", "ring"), ("plain_ring", "plain_ring")):
            self.assertEqual(rows_of(self.weft(*SWEEP, "--algo", name).stdout)[0][8], shown)

    def test_says_once_what_it_does_not_model(self):
        done = self.weft(*SWEEP, "--nccl", "CGA_CLUSTER_SIZE=2")
        self.assertEqual(done.stdout.count("# note: NCCL_CGA_CLUSTER_SIZE=2 is not modelled yet\n"), 1)

    # NICs of a DGX hang from the switch of their GPU (PIX), which LOC forbids and PIX allows. One node sends nothing to another.
    def test_says_where_messages_pass_through_host_memory(self):
        for level, nodes, said in ("LOC", 2, 1), ("PIX", 2, 0), ("LOC", 1, 0):
            done = self.weft("collective", "all_reduce", "--cluster", "dgx_h100", "--nodes", str(nodes), "-b", "1K", "-e", "1K",
                             "--nccl", f"NET_GDR_LEVEL={level}")
            self.assertEqual(done.stdout.count(f"# note: NCCL_NET_GDR_LEVEL={level}: messages to other nodes pass through host"), said)

    # Calls that a library leaves to NCCL take what NCCL takes, and are told.
    def test_says_what_a_library_leaves_to_nccl(self):
        for arguments, said in ((["all_gather", "-b", "64K", "-e", "64K"], "vllm runs all_reduce alone: NCCL runs all_gather"),
                                (["all_reduce", "-b", "1M", "-e", "1M"],
                                 "vllm runs an all_reduce of multiples of 16 B up to 262128 B here: NCCL runs the others")):
            times = []
            for library in "nccl", "vllm":
                done = self.weft("collective", *arguments, "--cluster", "dgx_h100", "--library", library, "--json", "r.json")
                self.assertEqual(done.stdout.count(f"# note: {said}\n"), int(library == "vllm"))
                times.append(json.loads((self.folder / "r.json").read_text())["points"][0]["time_us"])
            self.assertEqual(times[0], times[1])

    def test_says_once_whose_rules_stand_in_for_a_release(self):
        said = "NCCL 2.31.0 has no rules of its own here: those of 2.30.7 are used"
        done = self.weft(*SWEEP, "--nccl", "version=2.31.0")
        self.assertEqual(done.stdout.count(f"# note: {said}\n"), 1)
        self.assertEqual(done.stderr.count(f"warning: {said}"), 1)
        self.assertNotIn("rules of its own", self.weft(*SWEEP, "--nccl", "version=2.29.2").stderr)

    def test_warns_where_collectives_cost_what_another_gpus_do(self):
        said = "no measurement calibrates collectives of MI300X: they cost what those of H200 do"
        self.assertEqual(self.weft(*SWEEP, "--profile", "mi300x").stderr.count(f"warning: {said}"), 1)
        self.assertNotIn("no measurement calibrates", self.weft(*SWEEP, "--profile", "a100_sxm").stderr)

    def test_heads_a_result_with_the_error_of_its_operation(self):
        profile = self.folder / "stated.yaml"
        profile.write_text("kind: profile\nname: stated\nvalidation:\n"
                           "  - {data: all_reduce of 4, points: 3, median_error: 2.5 %, max_error: 9 %}\n"
                           "  - {data: all_reduce of 16 over EFA, points: 3, median_error: 12 %, max_error: 30 %}\n"
                           "  - {data: all_gather of 4, points: 3, median_error: 7 %, max_error: 8 %}\n", encoding="utf-8")
        head = self.weft(*SWEEP, "--profile", str(profile)).stdout.splitlines()[0]
        self.assertTrue(head.endswith("profile stated: median error of all_reduce 2.5 %"), head)
        short = self.weft("check", "stated.yaml").stdout
        self.assertIn("set, median errors 2.5 % to 12.0 %, the largest of one point 30.0 %, in 3 tests\n", short)
        self.assertIn("; median 12 %, max 30 % over 3 points of all_reduce of 16 over EFA; ", self.weft("check", "stated.yaml", "-v").stdout)
        for more, said in ((["-g", "2"], "all_reduce not tested on 2 GPUs; median error 2.5 % on 4"),
                           (["--nccl", "P2P_DISABLE=1"], "all_reduce not tested with NCCL_P2P_DISABLE=1")):
            heads = self.weft(*SWEEP, "--profile", str(profile), *more, "--json", "r.json").stdout.splitlines()
            self.assertTrue(heads[0].endswith(f"profile stated: {said}"), heads[0])
            self.assertEqual(json.loads((self.folder / "r.json").read_text())["profile"]["stated_error"], said)

    def test_counts_gpus_as_nccl_tests_does(self):
        for extra, ranks, launches in ([], 4, 1), (["-g", "4"], 4, 4), (["-t", "2"], 2, 1), (["-t", "2", "-g", "2"], 4, 2), (["-g", "2"], 2, 2):
            self.weft("collective", "all_reduce", "--cluster", "node4.yaml", "-b", "8", "-e", "8", *extra, "--json", "r.json")
            result = json.loads((self.folder / "r.json").read_text())
            self.assertEqual(result["points"][0]["ranks"], ranks, extra)
            self.assertEqual(result["configuration"]["gpus_per_thread"], launches, extra)

    def test_makes_a_cluster_larger_for_the_nodes_asked_for(self):
        self.weft(*SWEEP, "--nodes", "2", "--json", "r.json")
        result = json.loads((self.folder / "r.json").read_text())
        self.assertEqual({(point["ranks"], point["nodes"]) for point in result["points"]}, {(8, 2)})
        self.assertEqual(result["configuration"]["cluster"]["nodes"], 2)
        self.weft("collective", "alltoall", "--cluster", "hosts.yaml", "--nodes", "2", "-b", "1M", "-e", "1M", "--json", "r.json")
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["points"][0]["ranks"], 2)


class Files(Commands):
    def test_open_with_what_it_takes_to_run_again(self):
        for arguments in (SWEEP, ["run", "flows.yaml"], ["run", "collectives.yaml"]):
            text = self.weft(*arguments, "--json", "r.json").stdout
            result = json.loads((self.folder / "r.json").read_text())
            self.assertEqual(list(result)[:len(HEADER_KEYS)], HEADER_KEYS)
            self.assertEqual(result["digest"], digest_of(text))
            self.assertEqual(result["command_line"], "weft " + " ".join([*arguments, "--json", "r.json"]))
            self.assertEqual(set(result["profile"]), {"name", "file", "stated_error"})
            self.assertIn("cluster", result["configuration"])

    def test_carry_the_points_of_a_sweep(self):
        self.weft(*SWEEP, "--json", "r.json")
        points = json.loads((self.folder / "r.json").read_text())["points"]
        for point in points:
            self.assertLessEqual(set(POINT_KEYS), set(point))
            self.assertAlmostEqual(point["algbw_GBps"], point["bytes"] / point["time_us"] / 1e3, delta=1e-6 * point["algbw_GBps"])

    def test_go_to_standard_output_alone(self):
        done = self.weft(*SWEEP, "--json", "-")
        self.assertEqual(len(json.loads(done.stdout)["points"]), 4)
        spans = [event for event in json.loads(self.weft(*SWEEP, "--timeline", "-").stdout)["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(sum(span["cat"] == "collective" for span in spans), 4 * 4)
        self.assertEqual({span["pid"] for span in spans if span["cat"] == "step"}, {1, 2, 3, 4})

    def test_go_to_the_folder_asked_for(self):
        self.weft(*SWEEP, "--out", "a/b")
        self.weft("run", "flows.yaml", "--out", "a/b", "--json", "named.json")
        self.assertEqual(sorted(path.name for path in (self.folder / "a/b").iterdir()),
                         ["collective_all_reduce.json", "collective_all_reduce.timeline.json", "named.json", "run_flows.timeline.json"])

    def test_are_not_left_behind_by_an_error(self):
        self.weft("run", "flows.yaml", "--set", "workload.flows[0].to=h9", "--json", "r.json", expect=2)
        self.weft(*SWEEP, "--algo", "pairwise", "--json", "r.json", expect=2)
        self.assertEqual(self.new_files(), [])

    def test_stay_whole_when_the_new_one_cannot_be_written(self):
        self.weft(*SWEEP, "--json", "r.json")
        before = (self.folder / "r.json").read_bytes()
        # No file may grow beyond a block: writing fails midway.
        limited = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$0" "$@"', PROGRAM, *SWEEP, "--json", "r.json"],
                                 cwd=self.folder, capture_output=True, text=True, timeout=patience.seconds(120), check=False)
        self.assertEqual(limited.returncode, 2, limited.stderr)
        self.assertIn("cannot write 'r.json': File too large", limited.stderr)
        self.assertEqual((self.folder / "r.json").read_bytes(), before)
        self.assertEqual(self.new_files(), ["r.json"])

    def test_replace_what_a_link_names(self):
        (self.folder / "link.json").symlink_to("target.json")
        (self.folder / "target.json").write_text("old")
        self.weft(*SWEEP, "--json", "link.json")
        self.assertTrue((self.folder / "link.json").is_symlink())
        json.loads((self.folder / "target.json").read_text())

    def test_may_be_devices(self):
        self.weft(*SWEEP, "--json", "/dev/null")
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())


class Run(Commands):
    def test_sums_up_collectives(self):
        text = self.weft("run", "collectives.yaml", "--json", "r.json").stdout
        self.assertRegex(text, r"\n# 2 collectives, 4 calls  makespan ")
        self.assertEqual([row[-1] for row in rows_of(text)[:2]], ["all_reduce", "alltoall"])
        self.assertIn("# hottest links\n", text)
        self.assertRegex(text, r"\n# events \S+.*\(.*/s\)  transfers .*  peak_memory .*  wall .* s\n")
        result = json.loads((self.folder / "r.json").read_text())
        first, second = result["points"]
        self.assertEqual((first["calls"], second["calls"]), (3, 1))
        self.assertAlmostEqual(result["makespan_ns"] / 1e3, 3 * first["time_us"] + second["time_us"], delta=1e-3)
        for key in ("events", "transfers", "packet_hops", "wall_s", "peak_memory_bytes"):
            self.assertIn(key, result)
        self.assertEqual(result["packet_hops"], 0)

    def test_says_what_memory_it_takes_and_refuses_more_than_it_may(self):
        text = self.weft("run", "flows.yaml", "-v").stdout
        self.assertRegex(text, r"\n# memory predicted \S+ MiB: \S+ MiB now, \d+ ports of \S+ B, 2 transfers of ")
        self.assertRegex(text, r"\n# memory held at most: \d+ ports of .* B, 2 live transfers of .*; peak .* per GPU; predicted / peak ")
        self.weft("run", "flows.yaml", "--memory", "1 TiB")
        refused = self.weft("run", "flows.yaml", "--memory", "1 MiB", expect=2)
        self.assertEqual(refused.stdout.count("digest"), 0)
        self.assertRegex(refused.stderr, patience.NO_MEMORY)
        for wrong in ("much", "0 B", "1"):
            self.assertIn("--memory: expected a size such as 8 GiB", self.weft("run", "flows.yaml", "--memory", wrong, expect=2).stderr)

    def test_sums_up_flows(self):
        text = self.weft("run", "flows.yaml", "--json", "r.json", "-v").stdout
        self.assertIn("# flows 2 finished of 2, ", text)
        self.assertIn("# slowest flows\n", text)
        self.assertIn("# solves ", text)
        flows = json.loads((self.folder / "r.json").read_text())["flows"]
        self.assertEqual([flow["id"] for flow in flows], [0, 1])
        for flow in flows:
            self.assertEqual(flow["bytes"], 10_000_000)
            self.assertAlmostEqual(flow["end_ns"] - flow["start_ns"], flow["fct_ns"], delta=1e-3)
            self.assertAlmostEqual(flow["rate_gbps"], 8 * flow["bytes"] / flow["fct_ns"], delta=1e-6)
        self.assertEqual(flows[1]["start_ns"], 5000)
        # Both go into h1's one link, half of it each from 5 us on: the first ends first, and the link never idles.
        self.assertLess(flows[0]["end_ns"], flows[1]["end_ns"])

    def test_draws_flows_by_their_source(self):
        trace = json.loads(self.weft("run", "flows.yaml", "--timeline", "-").stdout)
        names = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"}
        self.assertEqual(names, {"h0", "h2"})
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(sorted(span["ts"] for span in spans), [0, 5])

    def test_is_the_same_every_time(self):
        for scenario in ("flows.yaml", "collectives.yaml"):
            digests = {digest_of(self.weft("run", scenario, *extra).stdout) for extra in ([], [], ["-v"])}
            self.assertEqual(len(digests), 1)


class Compare(Commands):
    def test_sets_clusters_side_by_side(self):
        done = self.weft("compare", "collectives.yaml", "--clusters", "node4.yaml", "half.yaml", "--json", "r.json")
        self.assertIn("# A: four (node4.yaml)", done.stdout)
        self.assertIn("# B: half (half.yaml)", done.stdout)
        result = json.loads((self.folder / "r.json").read_text())
        self.assertEqual([cluster["name"] for cluster in result["clusters"]], ["four", "half"])
        self.assertEqual([workload["collective"] for workload in result["workloads"]], ["all_reduce", "alltoall"])
        for workload in result["workloads"]:
            first, second = workload["runs"]
            self.assertEqual(first["ratio"], 1)
            self.assertAlmostEqual(second["ratio"], second["time_us"] / first["time_us"], delta=1e-9)
            self.assertIn("link", second["bottleneck"])
        # Half the NVLinks make a large all-reduce slower, and never more than twice as slow.
        self.assertTrue(1 < result["workloads"][0]["runs"][1]["ratio"] <= 2)

    def test_of_a_cluster_with_itself_finds_no_difference(self):
        self.weft("compare", "collectives.yaml", "--clusters", "node4.yaml", "node4.yaml", "--json", "r.json")
        for workload in json.loads((self.folder / "r.json").read_text())["workloads"]:
            self.assertEqual(workload["runs"][1]["ratio"], 1)

    def test_tells_bad_input_before_it_runs(self):
        done = self.weft("compare", "collectives.yaml", "--clusters", "node4.yaml", "none.yaml", "--json", "r.json", expect=2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.new_files(), [])


class Terminal(Commands):
    def test_shows_progress_only_there(self):
        for extra, draws in ([], True), (["--quiet"], False):
            mine, its = pty.openpty()
            process = self.start(*ENDLESS, *extra, stdout=subprocess.DEVNULL, stderr=its)
            os.close(its)
            seen = b""
            while b"sizes" not in seen and select.select([mine], [], [], 30 if draws else 1.5)[0]:
                seen += os.read(mine, 4096)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=patience.seconds(60)), 130)
            while select.select([mine], [], [], 0.2)[0]:
                try:
                    seen += os.read(mine, 4096)
                except OSError:  # the other end is closed
                    break
            os.close(mine)
            if draws:
                self.assertRegex(seen, rb"\r\[[#-]{24}\]  \d+/\d+ sizes  .* events/s  simulated ")
                self.assertTrue(seen.endswith(b"\r\x1b[K"), seen[-80:])
            else:
                self.assertEqual(seen, b"")


def main():
    global PROGRAM
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path, help="the weft that was built")
    arguments, rest = parser.parse_known_args()
    PROGRAM = str(arguments.program.resolve())
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
