#!/usr/bin/env python3
"""Hybrid fidelity by whole scenarios: a collective that is chosen takes its time as packets, one that is not its time as flows; and the
result says what was what.

    tests/apps/hybrid_test.py PROJECT PROGRAM
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCENARIO = """
cluster:
  nodes: 16
  node: {type: host}
  fabric: {type: leaf_spine, leaf_ports: 8, link: {type: ethernet, rate: 100 Gb/s, latency: 500 ns}, routing: ecmp}
workload:
  collectives:
    - {kind: all_reduce, bytes: 2 MiB, algorithm: plain_ring}
    - {kind: alltoall, bytes: 4 MiB}
simulation: {fidelity: hybrid, packets: PART}
"""


class HybridTest(unittest.TestCase):
    project = pathlib.Path()
    program = ""

    def run_file(self, file, *options):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "result.json"
            done = subprocess.run([self.program, "run", str(file), "--quiet", "--json", str(out), *options], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(out.read_text(encoding="utf-8")), done.stdout

    def run_part(self, part, *options):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "scenario.yaml"
            file.write_text(SCENARIO.replace("PART", part), encoding="utf-8")
            return self.run_file(file, *options)[0]

    def test_a_phase_is_packets_and_the_others_are_flows(self):
        times = {fidelity: [point["time_us"] for point in self.run_part("{}", "--fidelity", fidelity)["points"]]
                 for fidelity in ("flow", "packet")}
        self.assertNotEqual(times["flow"][1], times["packet"][1])
        hybrid = self.run_part("{collectives: [alltoall]}")
        self.assertEqual([point["time_us"] for point in hybrid["points"]], [times["flow"][0], times["packet"][1]])
        # 2 (n - 1) / n of 2 MiB from each of 16 ranks as flows; 15/16 of 4 MiB from each as packets.
        self.assertEqual(hybrid["hybrid"]["flow_bytes"], 2 * 15 * 2 * 2**20)
        self.assertEqual(hybrid["hybrid"]["packet_bytes"], 15 * 4 * 2**20)

    def test_links_by_range_and_star(self):
        whole = self.run_part("{}")["hybrid"]
        self.assertEqual(whole["flow_transfers"], 0)
        # Every transfer that leaves or enters h0 to h3: of each ordered pair of 16 ranks but those of the other 12.
        some = self.run_part('{links: ["h0..3->*", "*->h0", "*->h1", "*->h2", "*->h3"], collectives: [alltoall]}')["hybrid"]
        self.assertEqual(some["packet_transfers"] * 16 * 15, whole_alltoall(some, 16) * (16 * 15 - 12 * 11))
        self.assertEqual(some, self.run_part('{links: ["h0..3"], collectives: [alltoall]}')["hybrid"])

    def test_the_incast_is_packets_to_the_picosecond_and_the_rest_flows(self):
        file = self.project / "configs" / "scenarios" / "hybrid_incast.yaml"
        (hybrid, text), (again, _) = self.run_file(file), self.run_file(file)
        packet, flow = (self.run_file(file, "--fidelity", fidelity)[0] for fidelity in ("packet", "flow"))
        ends = {name: [f["fct_ns"] for f in result["flows"]] for name, result in
                (("hybrid", hybrid), ("packet", packet), ("flow", flow))}
        self.assertEqual(ends["hybrid"][-15:], ends["packet"][-15:])
        self.assertEqual(ends["hybrid"][:-15], ends["flow"][:-15])
        self.assertEqual(hybrid["digest"], again["digest"])
        self.assertEqual(hybrid["hybrid"]["packet_bytes"], 15e6)
        self.assertEqual(hybrid["hybrid"]["shared_links"], 0)
        self.assertIn("hybrid: 2.0 % of the bytes are packets (15 transfers)", text)
        self.assertNotIn("hybrid", flow)


def whole_alltoall(totals, ranks):
    """Transfers of the all-to-all alone: what the ring's 2 n (n - 1) messages leave of all."""
    return totals["packet_transfers"] + totals["flow_transfers"] - 2 * ranks * (ranks - 1)


if __name__ == "__main__":
    HybridTest.project, HybridTest.program = pathlib.Path(sys.argv[1]), sys.argv[2]
    unittest.main(argv=sys.argv[:1])
