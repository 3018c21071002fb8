"""What a run of flows promises at both fidelities: shares of unequal links, ways after a cable fails, who waits and who gives up,
time-outs on long paths, and what is said of keys that change nothing.

Times are of packets of 4096 B with 82 B of headers at 100 Gb/s.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import patience

PACKET = 4096
HEADER = 82
SLOT_US = (PACKET + HEADER) * 8 / 100e3  # of a full packet


def packets_of(size):
    return math.ceil(size / PACKET)


def wire_us(size):
    """The time of a message on a link of 100 Gb/s."""
    return (size + packets_of(size) * HEADER) * 8 / 100e3


def star(latency="150 ns", more=""):
    return f"""cluster:
  nodes: 4
  node: {{type: host}}
  fabric:
    type: custom
    devices: [{{name: s0, kind: switch}}]
    links: [{{between: [h0..3, s0], type: ethernet, rate: 100 Gb/s, latency: {latency}}}]
    {more}
"""


class Flows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def weft(self, *arguments, expect=0):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=patience.seconds(120), check=False)
        self.assertEqual(done.returncode, expect, f"weft {' '.join(arguments)}\n{done.stdout}\n{done.stderr}")
        return done

    def run_of(self, text, fidelity="packet", expect=0):
        (self.folder / "f.yaml").write_text(text, encoding="utf-8")
        self.weft("run", "f.yaml", "--fidelity", fidelity, "--json", "f.json", "-q", expect=expect)
        return json.loads((self.folder / "f.json").read_text(encoding="utf-8"))

    def says(self, text, command="check", expect=0):
        (self.folder / "f.yaml").write_text(text, encoding="utf-8")
        done = self.weft(command, "f.yaml", expect=expect)
        return done.stdout + done.stderr


class UnequalLinks(Flows):
    def trunks(self, routing, rates):
        links = "".join(f"\n      - {{between: [s0, s1], type: ethernet, rate: {rate} Gb/s}}" for rate in rates)
        return f"""cluster:
  nodes: 8
  node: {{type: host}}
  fabric:
    type: custom
    devices: [{{name: s0..1, kind: switch}}]
    routing: {routing}
    links:
      - {{between: [h0..3, s0], type: ethernet, rate: 100 Gb/s}}
      - {{between: [h4..7, s1], type: ethernet, rate: 100 Gb/s}}{links}
workload: {{traffic: [{{pattern: pairs, bytes: 10 MB}}]}}
"""

    def test_sprayed_packets_come_as_often_to_a_fast_link_as_to_a_slow_one(self):
        # Four flows each way: 9768 packets on two cables, of which each draws half, give or take four standard deviations.
        each = 4 * packets_of(10e6) / 2
        away = 4 * math.sqrt(4 * packets_of(10e6)) / 2
        for fast in (200, 400):
            result = self.run_of(self.trunks("spray", [100, fast]))
            carried = [port["packets"] for port in result["ports"] if port["name"].startswith("s0->s1")]
            self.assertEqual(len(carried), 2)
            for packets in carried:
                self.assertAlmostEqual(packets, each, delta=away)
            # The slow cable is busy from the first packet to the last but two hops.
            self.assertAlmostEqual(result["makespan_ns"] / 1e3, each * SLOT_US, delta=away * SLOT_US + 3)

    def test_of_three_each_has_a_third(self):
        result = self.run_of(self.trunks("spray", [100, 100, 200]))
        all_packets = 4 * packets_of(10e6)
        away = 4 * math.sqrt(all_packets * 2 / 9)
        for port in result["ports"]:
            if port["name"].startswith("s0->s1"):
                self.assertAlmostEqual(port["packets"], all_packets / 3, delta=away)

    def test_flows_have_the_same_even_share(self):
        # Half of 40 MB over the cable of 100 Gb/s.
        result = self.run_of(self.trunks("spray", [100, 200]), "flow")
        self.assertAlmostEqual(result["makespan_ns"] / 1e3, 20e6 / PACKET * SLOT_US, delta=3)

    def test_adaptive_routing_shares_by_what_links_carry(self):
        # 40 MB over 300 Gb/s.
        result = self.run_of(self.trunks("adaptive", [100, 200]), "flow")
        self.assertAlmostEqual(result["makespan_ns"] / 1e3, 40e6 / PACKET * SLOT_US / 3, delta=3)


class CablesThatFail(Flows):
    # Each flow sends once before the cable fails and once afterwards.
    HASHED = """cluster:
  nodes: 32
  node: {type: host}
  fabric: {type: leaf_spine, hosts_per_leaf: 8, spines: 4, link: {type: ethernet, rate: 100 Gb/s},
           uplink: {type: ethernet, rate: 200 Gb/s}, routing: ecmp}
workload: {traffic: [{pattern: shift, by: 8, bytes: 4 MB, count: 2, every: 3 ms}]}
measure: {from: 2.9 ms}
faults: [{link_down: {link: "leaf0->spine0", at: 2.8 ms}}]
"""

    def flows_by_cable(self, fidelity):
        result = self.run_of(self.HASHED, fidelity)
        window = (result["measured_to_ns"] - result["measured_from_ns"]) / 1e3
        each = wire_us(4e6) / 2  # at 200 Gb/s
        return {port["name"]: port["utilization"] * window / each for port in result["ports"] if "spine" in port["name"]}

    def test_both_fidelities_hash_flows_over_the_links_that_are_left(self):
        packets = self.flows_by_cable("packet")
        flows = self.flows_by_cable("flow")
        for name in sorted(packets.keys() | flows.keys()):
            count = flows.get(name, 0)
            self.assertAlmostEqual(count, round(count), delta=1e-3, msg=name)
            self.assertAlmostEqual(packets.get(name, 0), count, delta=1e-3, msg=name)
        self.assertAlmostEqual(flows.get("leaf0->spine0", 0), 0)
        self.assertAlmostEqual(sum(count for name, count in flows.items() if name.startswith("leaf")), 32, delta=0.01)

    DOWN = 'faults: [{link_down: {link: "h0->s0", at: 900 us, until: 1100 us}}]\n'

    def test_a_flow_that_starts_without_a_way_waits_for_it(self):
        text = star() + "workload: {WHAT: [{from: h0, to: h1, bytes: 1 MB, start: 1 ms}]}\n" + self.DOWN
        for fidelity in ("flow", "packet"):
            result = self.run_of(text.replace("WHAT", "flows"), fidelity)
            end = result["flows"][0]["end_ns"] / 1e3
            self.assertAlmostEqual(end, 1100 + wire_us(1e6), delta=1.5)
            job = self.run_of(text.replace("WHAT", "jobs"), fidelity)
            self.assertAlmostEqual(end, job["jobs"][0]["iterations"][0]["end_ns"] / 1e3, delta=1e-3)
        self.weft("check", "f.yaml")

    def test_so_does_one_that_waits_for_acknowledgements(self):
        text = star(more="transport: {reliability: go_back_n}")
        text += "workload: {flows: [{from: h0, to: h1, bytes: 1 MB, start: 1 ms}]}\n" + self.DOWN
        result = self.run_of(text)
        self.assertAlmostEqual(result["flows"][0]["end_ns"] / 1e3, 1100 + wire_us(1e6), delta=1.5)
        self.assertEqual(result["flows"][0]["retransmitted"], 0)

    def test_one_whose_cable_is_down_for_good_is_aborted_with_the_cable(self):
        text = star() + """workload: {flows: [{from: h0, to: h1, bytes: 1 MB, start: 1 ms}]}
faults: [{link_down: {link: "h0->s0", at: 900 us}}]
"""
        for fidelity in ("flow", "packet"):
            result = self.run_of(text, fidelity, expect=1)
            self.assertIn("no path is left from h0 to h1: h0->s0 is down", " ".join(result["warnings"]))

    OUTAGE = """workload: {flows: [{from: h0, to: h3, bytes: 10 MB}]}
faults: [{link_down: {link: "s0->h3", at: 100 us, until: 1100 us}}]
"""

    def test_a_sender_that_gives_up_is_told_from_a_path_that_is_gone(self):
        # The last acknowledgement comes at 100 us: eight time-outs of 100 us later it is 900 us.
        told = " ".join(self.run_of(star(more="transport: {type: uec}") + self.OUTAGE, expect=1)["warnings"])
        self.assertIn("gave up after 8 time-outs", told)
        self.assertIn("transport.retries", told)
        self.assertNotIn("no path is left", told)
        at = float(told.split("was aborted at ")[1].split(" us")[0])
        self.assertAlmostEqual(at, 900, delta=1.5)

    def test_with_more_retries_it_goes_on(self):
        result = self.run_of(star(more="transport: {type: uec, retries: 20}") + self.OUTAGE)
        # The outage, and at most a time-out after it.
        self.assertGreater(result["makespan_ns"] / 1e3, 1100 + wire_us(10e6) - 100)
        self.assertLess(result["makespan_ns"] / 1e3, 1200 + wire_us(10e6))

    def test_without_reliability_a_flow_loses_what_is_in_the_cable_and_sends_no_more_into_it(self):
        text = star(more="switch: {latency: 0 ns}") + self.OUTAGE.replace("s0->h3", "h0->s0")
        result = self.run_of(text, expect=1)
        told = " ".join(result["warnings"])
        self.assertIn("packets were lost, and nobody sends them again", told)
        # 150 ns of cable are less than a packet: one in it, one that is being sent.
        drops = sum(port["drops"] for port in result["ports"])
        self.assertIn(drops, (1, 2))


class LongPaths(Flows):
    def one_flow(self, latency, transport, size):
        text = star(latency, f"transport: {transport}") + f"workload: {{flows: [{{from: h0, to: h1, bytes: {size} B}}]}}\n"
        return self.run_of(text)["flows"][0]

    def test_a_time_out_that_nobody_states_is_longer_than_the_path(self):
        for latency in (25, 100):
            flow = self.one_flow(f"{latency} us", "{type: uec}", 50_000_000)
            self.assertEqual(flow["retransmitted"], 0)
            self.assertEqual(flow["timeouts"], 0)

    def test_swift_grows_by_a_packet_a_round_trip_on_any_path(self):
        # From 12 packets on, n round trips carry 12 n + n (n - 1) / 2; below its target nothing shrinks the window.
        for latency in (10, 25):
            trips = next(n for n in range(1, 1000) if 12 * n + n * (n - 1) / 2 >= packets_of(10e6))
            flow = self.one_flow(f"{latency} us", "{congestion_control: swift}", 10_000_000)
            self.assertAlmostEqual(flow["fct_ns"] / 1e3, trips * (4 * latency + 1), delta=0.1 * trips * 4 * latency)

    def test_timely_alone_on_a_long_path_fills_it(self):
        # It begins at the line's rate, and no queue tells it to slow down.
        flow = self.one_flow("200 us", "{congestion_control: timely}", 100_000_000)
        self.assertAlmostEqual(flow["fct_ns"] / 1e3, wire_us(100e6) + 400, delta=0.02 * wire_us(100e6))

    def test_times_stated_below_the_round_trip_are_told(self):
        flow = "workload: {flows: [{from: h0, to: h1, bytes: 1 MB}]}\nsimulation: {fidelity: packet}\n"
        for transport, key in (("{reliability: go_back_n, timeout: 100 us}", "timeout"),
                               ("{congestion_control: {type: swift, base: 20 us}}", "congestion_control"),
                               ("{congestion_control: {type: hpcc, base_rtt: 20 us}}", "congestion_control")):
            for command in ("check", "run"):
                told = self.says(star("50 us", f"transport: {transport}") + flow, command)
                self.assertIn("f.yaml:8:", told)
                self.assertIn(f"cluster.fabric.transport.{key}: ", told)
                self.assertIn("between h0 and h1", told)
            self.assertNotIn("warning", self.says(star("1 us", f"transport: {transport}") + flow))


class WhatIsTold(Flows):
    FLOW = "workload: {flows: [{from: h0, to: h1, bytes: 1 MB}]}\nsimulation: {fidelity: packet}\n"

    def test_flow_fidelity_names_what_it_ignores(self):
        flow = "workload: {flows: [{from: h0, to: h1, bytes: 1 MB, packet: 256 B}]}\n"
        self.assertIn("the flows' packet", " ".join(self.run_of(star() + flow, "flow")["warnings"]))
        self.assertNotIn("the flows' packet", " ".join(self.run_of(star() + flow, "packet")["warnings"]))
        torus = """cluster: {nodes: 16, node: {type: host}, fabric: {type: torus, dims: [4, 4], routing: adaptive,
          link: {type: ethernet, rate: 100 Gb/s}}}
workload: {flows: [{from: h0, to: h5, bytes: 1 MB}]}
"""
        self.assertIn("routing: adaptive", " ".join(self.run_of(torus, "flow")["warnings"]))
        clos = torus.replace("torus, dims: [4, 4]", "leaf_spine, leaf_ports: 8")
        self.assertEqual(self.run_of(clos, "flow")["warnings"], [])
        fails = star() + "workload: {flows: [{from: h0, to: h1, bytes: 1 MB}]}\n" + CablesThatFail.DOWN
        self.assertIn("loses nothing with a cable", " ".join(self.run_of(fails, "flow")["warnings"]))

    def test_keys_without_effect_are_told_with_their_place(self):
        for more, key in (("transport: {timeout: 1 ms}", "transport.timeout"), ("transport: {ack_every: 4}", "transport.ack_every"),
                          ("transport: {cnp_interval: 1 us}", "transport.cnp_interval"),
                          ("transport: {acks: free, reliability: none}", "transport.acks"),
                          ("fecn: {threshold: 15}", "fecn.threshold"), ("sharp: {rate: 400 Gb/s}", "sharp"),
                          ("service_levels: {0: 0, 1: 1}", "service_levels")):
            told = self.says(star(more=more) + self.FLOW)
            self.assertIn("f.yaml:8:", told, more)
            self.assertIn(f"cluster.fabric.{key}: ", told, more)

    def test_those_with_an_effect_are_not(self):
        for more in ("transport: {reliability: go_back_n, timeout: 1 ms, ack_every: 4}", "fecn: {threshold: 20 kB}",
                     "transport: {acks: free, window: 64 kB}"):
            self.assertNotIn("has no effect", self.says(star(more=more) + self.FLOW), more)
        own = self.FLOW.replace("bytes: 1 MB", "bytes: 1 MB, window: 64 kB")
        self.assertNotIn("has no effect", self.says(star(more="transport: {timeout: 1 ms}") + own))
        level = self.FLOW.replace("bytes: 1 MB", "bytes: 1 MB, service_level: 1")
        self.assertNotIn("has no effect", self.says(star(more="service_levels: {0: 0, 1: 1}") + level))

    def test_advice_does_not_lead_round(self):
        told = self.says(star(more="transport: {type: uec, congestion_control: dcqcn}") + self.FLOW, expect=2)
        self.assertIn("congestion_control: nscc", told)
        self.assertNotIn("cnps: free", told)

    def test_a_leaf_has_as_many_hosts_as_leave_room_for_their_up_links(self):
        # 42 hosts and 21 up-links are 63 of 64 ports; 43 and 22 would be 65. So 84 hosts hang on two leaves.
        text = """cluster: {nodes: 84, node: {type: host}, fabric: {type: leaf_spine, leaf_ports: 64, oversubscription: 2,
          link: {type: ethernet, rate: 100 Gb/s}}}
workload: {flows: [{from: h0, to: h83, bytes: 1 MB}]}
"""
        result = self.run_of(text, "flow")
        self.assertEqual(result["flows"][0]["bytes"], 1_000_000)
        (self.folder / "c.yaml").write_text(text.replace("nodes: 84", "nodes: 85"), encoding="utf-8")
        routes = self.weft("topo", "f.yaml", "--route", "h41", "h42").stdout
        self.assertIn("spine", routes)
        self.assertNotIn("spine", self.weft("topo", "f.yaml", "--route", "h0", "h41").stdout)
        stated = self.says(text.replace("oversubscription: 2", "oversubscription: 2, hosts_per_leaf: 43"), expect=2)
        self.assertIn("43 hosts and 22 up-links do not fit a leaf of 64 ports; 42 hosts do", stated)


class Reports(Flows):
    def report(self, text, fidelity):
        self.run_of(text, fidelity)
        self.weft("report", "f.json", "--html", "r.html")
        return (self.folder / "r.html").read_text(encoding="utf-8")

    INCAST = """workload: {flows: [{from: h0, to: h3, bytes: 1 MB}, {from: h1, to: h3, bytes: 1 MB}, {from: h2, to: h3, bytes: 1 MB}]}
"""

    def test_assumptions_are_those_of_the_fidelity_that_ran(self):
        text = star(more="transport: {congestion_control: hpcc}") + self.INCAST
        packets = self.report(text, "packet")
        self.assertNotIn("queues are empty and no port pauses another", packets)
        self.assertIn("packet: receivers take packets at line rate", packets)
        self.assertIn("queues are empty and no port pauses another", self.report(text, "flow"))

    def test_flows_have_their_times_and_ports_their_queues(self):
        # Three flows share a link of 100 Gb/s: at flow fidelity all end when it has carried 3 MB.
        flows = self.report(star() + self.INCAST, "flow")
        self.assertIn("Flow completion times", flows)
        self.assertIn("Slowest flows", flows)
        self.assertNotIn("Ports, of", flows)
        packets = self.report(star(more="pfc: {xoff: 100 kB}") + self.INCAST, "packet")
        self.assertIn("Ports, of", packets)
        self.assertIn("longest queue (kB)", packets)

    def test_each_kind_of_collective_has_its_own_line(self):
        kinds = "workload: {collectives: [" + ", ".join(
            f"{{kind: {kind}, bytes: {size}}}" for kind in ("all_reduce", "alltoall") for size in ("1 MiB", "4 MiB")) + "]}\n"
        clusters = os.environ["WEFT_CONFIG_DIR"]
        page = self.report(f"cluster: {clusters}/clusters/h200x4.yaml\n" + kinds, "flow")
        chart = page[page.index("<svg"):page.index("</svg>")]
        self.assertIn("all_reduce", chart)
        self.assertIn("alltoall", chart)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv[1]).resolve()
    PROGRAM = str(pathlib.Path(sys.argv[2]).resolve())
    os.environ["WEFT_CONFIG_DIR"] = str(ROOT / "configs")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
