"""Fabrics and routes that architects compare: every file of configs/scenarios/network, run as a user runs it, against the formula
that stands in its head.

    fabric_scenarios_test.py ROOT WEFT [-k PATTERN]
"""

import argparse
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import patience

ROOT = pathlib.Path()
PROGRAM = ""


def told(*arguments):
    """The JSON that the program prints."""
    done = subprocess.run([PROGRAM, *arguments, "--json", "-"], capture_output=True, text=True,
                          timeout=patience.seconds(300), check=False)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def path_of(name):
    return ROOT / "configs/scenarios/network" / (name + ".yaml")


@functools.cache
def result(name, *arguments):
    return told("run", path_of(name), *arguments, "-q")


def flows(name, *arguments):
    return result(name, *arguments)["flows"]


def warnings(name):
    """Of `weft check`."""
    return [warning["message"] for warning in told("check", path_of(name))["files"][0]["warnings"]]


def rates(name, *arguments):
    """Gb/s of each flow."""
    return [flow["rate_gbps"] for flow in flows(name, *arguments)]


def mean(values):
    return sum(values) / len(values)


class Dragonfly(unittest.TestCase):
    def test_minimal_routes_share_one_link(self):
        self.assertAlmostEqual(mean(rates("dragonfly_adversarial")), 12.5, delta=0.25)
        self.assertAlmostEqual(mean(rates("dragonfly_adversarial", "--fidelity", "flow")), 12.5, delta=0.01)

    def test_valiant_meets_its_bound_with_even_spread_and_nears_it_with_packets(self):
        bound = 7 * 100 / 16
        self.assertAlmostEqual(mean(rates("dragonfly_adversarial_valiant", "--fidelity", "flow")), bound, delta=0.01)
        packets = mean(rates("dragonfly_adversarial_valiant"))
        self.assertLess(packets, 1.01 * bound)
        self.assertGreater(packets, 0.9 * bound)

    def test_ugal_beats_both_of_its_ways_under_either_traffic(self):
        adversarial = mean(rates("dragonfly_adversarial_ugal"))
        self.assertLess(adversarial, (100 + 7 * 100 / 2) / 8)
        self.assertGreater(adversarial, mean(rates("dragonfly_adversarial_valiant")))
        self.assertGreater(mean(rates("dragonfly_uniform_ugal")), 0.98 * 100 / 71)

    def test_uniform_traffic_fills_minimal_routes_and_half_of_valiant_ones(self):
        self.assertGreater(mean(rates("dragonfly_uniform")), 0.98 * 100 / 71)
        # The neighbour below the same router is reached without a detour; the other 70 share the links between groups.
        others = sorted(rates("dragonfly_uniform_valiant", "--fidelity", "flow"))[:72 * 70]
        self.assertAlmostEqual(others[0], 100 / 140, delta=0.001)
        self.assertAlmostEqual(others[-1], 100 / 140, delta=0.001)


class OneWayLinks(unittest.TestCase):
    def test_flows_go_round_the_ring_and_share_its_trunks(self):
        for fidelity in ("packet", "flow"):
            for rate, expected in zip(rates("one_way_ring", "--fidelity", fidelity), (100, 50, 50), strict=True):
                self.assertAlmostEqual(rate, expected, delta=0.15)

    def test_acknowledgements_take_the_way_that_is_left(self):
        loop = 3 * 1080 + 5 * (1000 + 86 * 8 / 100)
        self.assertAlmostEqual(rates("one_way_window")[0], 50_000 * 8 / loop, delta=0.15)

    def changed(self, *changes):
        """The check of the ring with other text."""
        text = path_of("one_way_ring").read_text(encoding="utf-8")
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ring.yaml"
            file.write_text(text, encoding="utf-8")
            done = subprocess.run([PROGRAM, "check", file], capture_output=True, text=True, timeout=patience.seconds(60), check=False)
        return done.returncode, done.stdout + done.stderr

    def test_pairs_without_a_route_are_counted_and_flows_between_them_refused(self):
        code, text = self.changed(("pairing: ring", "pairing: chain"), ("    - {from: h1, to: h0, bytes: unlimited}\n", ""))
        self.assertIn("one-way links leave 6 of 12 ordered pairs of endpoints without a route, such as from h1 to h0", text)
        self.assertEqual(code, 0)
        code, text = self.changed(("pairing: ring", "pairing: chain"))
        self.assertEqual(code, 2)
        self.assertIn("ring.yaml:16:", text)
        self.assertIn("workload.flows[1]: no route from 'h1' to 'h0'", text)

    def test_acknowledgements_without_a_way_are_refused(self):
        chain = ("pairing: ring", "pairing: chain"), ("    - {from: h1, to: h0, bytes: unlimited}\n", "")
        code, text = self.changed(*chain, ("    switch: {", "    transport: {window: 50 kB}\n    switch: {"))
        self.assertEqual(code, 2)
        self.assertIn("workload.flows[0]: acknowledgements need a way back: no route from 'h1' to 'h0'", text)
        code, text = self.changed(*chain, ("    switch: {", "    transport: {window: 50 kB, acks: free}\n    switch: {"))
        self.assertEqual(code, 0, text)

    def test_pauses_and_credits_need_a_way_back(self):
        for section, back in (("pfc: {xoff: 50 kB}", "pauses"), ("credits: {credits: 132}", "credits")):
            code, text = self.changed(("    switch: {", f"    {section}\n    switch: {{"))
            self.assertEqual(code, 2)
            self.assertIn(f"a one-way link has no way back for {back}", text)


class WeightedEcmp(unittest.TestCase):
    FLOWS = 32 * 32
    BOUND = 4 * (FLOWS * 0.75 * 0.25) ** 0.5

    def test_three_of_four_flows_take_the_link_of_weight_three(self):
        loads = {link["name"]: link["flows"] for link in told("topo", path_of("weighted_ecmp"), "--routes")["link_loads"]}
        for start in ("s0", "s1"):
            self.assertEqual(loads[f"{start}->s2"] + loads[f"{start}->s3"], self.FLOWS)
            self.assertAlmostEqual(loads[f"{start}->s2"], 0.75 * self.FLOWS, delta=self.BOUND)
        # Packets take the same ways: one each.
        ports = {port["name"]: port["packets"] for port in result("weighted_ecmp")["ports"]}
        for name in ("s0->s2", "s0->s3", "s1->s2", "s1->s3"):
            self.assertEqual(ports[name], loads[name])

    def test_without_weights_it_is_half(self):
        text = path_of("weighted_ecmp").read_text(encoding="utf-8")
        text = re.sub(r", weight: \d", "", text).replace("{type: ecmp, weights: links}", "ecmp")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "even.yaml"
            file.write_text(text, encoding="utf-8")
            loads = {link["name"]: link["flows"] for link in told("topo", file, "--routes")["link_loads"]}
        self.assertAlmostEqual(loads["s0->s2"], 0.5 * self.FLOWS, delta=4 * (self.FLOWS / 4) ** 0.5)


class NamedWays(unittest.TestCase):
    def test_flows_share_the_cables_that_their_ways_name(self):
        for fidelity in ("packet", "flow"):
            for rate, alone in zip(rates("named_ways", "--fidelity", fidelity), (50, 50, 100, 100, 100), strict=True):
                self.assertAlmostEqual(rate, alone, delta=0.15)

    def ring(self, *routes):
        """Warnings about flows from each of four switches in a ring to the second next, by the switches named."""
        text = path_of("trunks_close_a_cycle").read_text(encoding="utf-8")
        lines = "".join(f"    - {{from: h{i}, to: h{(i + 2) % 4}, bytes: 1 MB, {route}}}\n" for i, route in enumerate(routes))
        text = re.sub(r"  traffic: .*\n", "  flows:\n" + lines, text)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ring.yaml"
            file.write_text(text, encoding="utf-8")
            return [warning["message"] for warning in told("check", file)["files"][0]["warnings"]]

    def test_named_ways_close_a_cycle_of_buffers_or_do_not(self):
        onwards = [f"route: [s{i}, s{(i + 1) % 4}, s{(i + 2) % 4}]" for i in range(4)]
        warning, = self.ring(*onwards)
        self.assertEqual(len(re.findall(r"s\d->s\d", warning)), 4)
        # One flow goes the other way round: the ring is open.
        self.assertEqual(self.ring("via: [s3]", *onwards[1:]), [])


class Ecmp(unittest.TestCase):
    def test_switches_that_hash_alike_use_a_quarter_of_the_links_to_the_cores(self):
        hosts = 128
        polarised = sum(rates("polarised")) / hosts
        self.assertLess(polarised, 25.01)
        # Each of the 4 links of a pod has 16 flows on average and is never idle; what limits flows further down takes a part.
        self.assertGreater(polarised, 12.5)
        self.assertGreater(sum(rates("not_polarised")) / hosts, 2 * polarised)

    def test_a_hash_of_the_destination_sends_an_incast_by_one_spine(self):
        for rate in rates("ecmp_by_destination"):
            self.assertAlmostEqual(rate, 100 / 7, delta=0.01)


class PfcWatchdog(unittest.TestCase):
    HALF = 6.25  # B/ns: each flow's share of 100 Gb/s
    FEW = 5 * 1000  # bytes of five packets: what rounds a threshold, a turn and a packet being sent

    def delivered(self, *arguments):
        return [flow["delivered_wire_bytes"] for flow in flows("pfc_watchdog", *arguments)]

    def test_a_storm_is_broken_and_the_victim_goes_on(self):
        storm, = result("pfc_watchdog")["storms"]
        self.assertEqual((storm["link"], storm["detected_ns"], storm["restored_ns"]), ("s0->h2", 120_000, 520_000))
        silence = 121_000 - 37_000
        self.assertAlmostEqual(storm["dropped_packets"], (500_000 - silence) * self.HALF / 1000, delta=5)
        stormed, victim = self.delivered()
        self.assertAlmostEqual(victim, (800_000 - 2160 - silence) * self.HALF, delta=self.FEW)
        self.assertAlmostEqual(stormed, (800_000 - 2160 - 500_000) * self.HALF, delta=self.FEW)

    def test_without_a_watchdog_the_victim_waits_for_the_end_of_the_pause(self):
        for keys in ("enabled=false", "action=alert", "ports=[h3]", "detection_time=401 us"):
            _, victim = self.delivered("--set", "cluster.fabric.pfc.watchdog." + keys)
            self.assertLess(victim, (800_000 - 2160 - (420_000 - 37_000)) * self.HALF + self.FEW)

    def test_times_are_met_from_both_sides(self):
        for time, storms in (("399 us", 1), ("401 us", 0)):
            found = result("pfc_watchdog", "--set", "cluster.fabric.pfc.watchdog.detection_time=" + time)["storms"]
            self.assertEqual(len(found), storms)

    def test_an_alert_drops_nothing(self):
        storm, = result("pfc_watchdog", "--set", "cluster.fabric.pfc.watchdog.action=alert")["storms"]
        self.assertEqual((storm["detected_ns"], storm["dropped_packets"]), (120_000, 0))


class StaticChecks(unittest.TestCase):
    def test_trunks_that_close_a_cycle_are_named_and_others_are_not(self):
        warning, = warnings("trunks_close_a_cycle")
        trunks = re.findall(r"s(\d)->s(\d)", warning)
        self.assertEqual(len(trunks), 4)
        for (_, to), (start, _) in zip(trunks, trunks[1:] + trunks[:1], strict=True):
            self.assertEqual(to, start)
        self.assertEqual(warnings("trunks_close_no_cycle"), [])

    def test_topo_tells_of_tiers_bisection_and_single_points(self):
        # 8 hosts a leaf, 4 spines with two cables to each leaf: 1:1, and half of the hosts can send at once.
        fabric = told("topo", ROOT / "configs/clusters/leaf_spine_64_hosts.yaml")
        self.assertEqual(fabric["tiers"][0]["oversubscription"], 1)
        self.assertEqual((fabric["bisection_gbps"], fabric["half_of_hosts_gbps"]), (3200, 3200))
        self.assertEqual([(p["name"], p["count"], p["hosts"]) for p in fabric["single_points"]], [("cable", 64, 1), ("leaf", 8, 8)])
        self.assertEqual(fabric["buffer_cycle"], [])


class Routes(unittest.TestCase):
    """`weft topo --routes`."""

    def test_a_scenarios_routes_are_those_of_its_flows(self):
        listed = told("topo", path_of("named_ways"), "--routes")
        self.assertEqual(listed["routes"][2]["places"], [["h2"], ["leaf0"], ["spine1"], ["leaf1"], ["h6"]])
        loads = {link["name"]: link["flows"] for link in listed["link_loads"]}
        self.assertEqual((loads["leaf0->spine0"], loads["spine1->leaf1"]), (2, 1))
        self.assertNotIn("leaf0->spine3", loads)

    def test_a_clusters_routes_are_those_of_all_pairs(self):
        listed = told("topo", ROOT / "configs/clusters/leaf_spine_64_hosts.yaml", "--routes")
        self.assertEqual(len(listed["routes"]), 64 * 63)
        up = [link["flows"] for link in listed["link_loads"] if re.match(r"leaf0->spine", link["name"])]
        self.assertAlmostEqual(sum(up), 8 * 56, delta=1e-6)  # 8 hosts to the 56 below other leaves
        self.assertEqual([link["flows"] for link in listed["link_loads"] if re.match(r"h\d+->", link["name"])], [63] * 64)

    def test_the_drawing_has_an_arrow_for_every_link_in_use(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "routes.dot"
            told("topo", path_of("named_ways"), "--routes", "--dot", file)
            drawn = file.read_text(encoding="utf-8")
        self.assertIn('"leaf0" -> "spine0" [label="2"', drawn)
        self.assertEqual(drawn.count('color="#d62728"'), 5 * 2 + 8)


class Sharp(unittest.TestCase):
    SIZES = (64 * 2**10, 2**20, 64 * 2**20)
    RATE = 50.0  # B/ns

    def times(self, name, *arguments):
        """us"""
        return [call["time_us"] for call in result(name, *arguments)["points"]]

    def test_switches_take_each_byte_once_and_a_ring_nearly_twice(self):
        for size, sharp, ring in zip(self.SIZES, self.times("sharp"), self.times("ring_of_hosts"), strict=True):
            self.assertAlmostEqual(sharp, (size / self.RATE + 2 * 500 + 600) / 1e3, delta=0.01)
            self.assertAlmostEqual(ring, 30 * (size / 16 / self.RATE + 2 * 500) / 1e3, delta=0.1)
            self.assertLess(sharp, ring)

    def test_the_trees_own_rate_and_latency_count(self):
        fabric = ("--set", "cluster.fabric.sharp.rate=100 Gb/s", "--set", "cluster.fabric.sharp.latency=2 us")
        for size, sharp in zip(self.SIZES, self.times("sharp", *fabric), strict=True):
            self.assertAlmostEqual(sharp, (size / 12.5 + 2 * 500 + 2000) / 1e3, delta=0.01)

    def test_packets_say_the_same_but_for_one_packet_on_its_way(self):
        packet = 4096 / self.RATE
        for size, sharp in zip(self.SIZES, self.times("sharp", "--fidelity", "packet"), strict=True):
            self.assertAlmostEqual(sharp, (size / self.RATE + 2 * 500 + 600) / 1e3, delta=1.01 * packet / 1e3)


class Planes(unittest.TestCase):
    def test_a_second_plane_keeps_half_of_the_rate_while_a_cable_is_down(self):
        # 300 us, of which 100 us with what is left: 100 of 200 Gb/s, or nothing.
        for found, left in ((rates("dual_plane"), 100), (rates("single_plane"), 0)):
            first, *others, last = found
            for rate in (first, last):
                self.assertAlmostEqual(rate, (200 * 200 + 100 * left) / 300, delta=0.01)
            for rate in others:
                self.assertAlmostEqual(rate, 200, delta=0.01)


class Credits(unittest.TestCase):
    PACKET, UPDATE = 2112 * 8 / 200, 8 * 8 / 200  # ns on the wire
    LONG_LOOP = PACKET + 2 * 5000 + UPDATE
    RATE = 4 * 2112 * 8 / LONG_LOOP

    def test_the_longer_of_two_loops_says_how_much_goes(self):
        self.assertAlmostEqual(rates("credit_loops_in_series")[0], self.RATE, delta=0.01)

    def test_lanes_have_credits_of_their_own(self):
        for rate in rates("credit_loops_by_lane"):
            self.assertAlmostEqual(rate, self.RATE, delta=0.01)

    def test_xmit_wait_is_the_time_with_packets_and_without_credits(self):
        window = 4e6
        waits = {port["name"]: port["xmit_wait_ns"] / window for port in result("credit_loops_in_series")["ports"]}
        # The sender always has packets: it waits whenever it does not send.
        self.assertAlmostEqual(waits["h0->s0"], 1 - 4 * self.PACKET / self.LONG_LOOP, delta=0.005)
        # The switch has none from the start of its fourth packet until the first one's successor comes, a loop of the short cable later.
        came = self.PACKET + self.UPDATE + 2 * 1000 + self.PACKET
        self.assertAlmostEqual(waits["s0->h1"], 1 - came / self.LONG_LOOP, delta=0.005)

    def test_ports_without_credits_never_wait_for_them(self):
        # The links inside the hosts have credits, those of Ethernet between them have none.
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ethernet.yaml"
            file.write_text("cluster:\n  nodes: 2\n  node: {type: dgx_h100}\n  fabric: {type: fat_tree, leaf_ports: 32, link: {type: "
                            "ethernet, rate: 400 Gb/s, latency: 150 ns}}\nworkload: {flows: [{from: n0.gpu0, to: n1.gpu0, bytes: 1 MB}]}\n"
                            "simulation: {fidelity: packet}\n", encoding="utf-8")
            ports = {port["name"]: port["xmit_wait_ns"] for port in told("run", file, "-q")["ports"]}
        self.assertEqual(ports["n0.nic0->edge0"], 0)
        self.assertGreater(ports["n0.gpu0->n0.pcie0"], 0)


class CutThrough(unittest.TestCase):
    SLOW, FAST, HEADER = 80, 20, 64 * 8 / 400  # ns: a packet at 100 and at 400 Gb/s, a header at 400

    def test_a_faster_link_stores_and_a_slower_one_does_not(self):
        rising, falling = (found[0]["fct_ns"] for found in (flows("cut_through_rising"), flows("cut_through_falling")))
        self.assertAlmostEqual(rising, 10 * self.SLOW + self.HEADER + self.SLOW, delta=1e-3)
        self.assertAlmostEqual(falling, self.HEADER + 10 * self.SLOW + self.FAST, delta=1e-3)


class PcieReads(unittest.TestCase):
    def test_small_completions_cost_their_headers(self):
        raw = 16e9 * 16 * 128 / 130 / 8e9  # GB/s
        for size, found in ((64, rates("pcie_reads_64")), (256, rates("pcie_reads_256"))):
            self.assertAlmostEqual(found[0] / 8, raw * size / (size + 4 + 12 + 4), delta=0.01)


class UltraEthernet(unittest.TestCase):
    PACKET_NS = 80  # 1000 B at 100 Gb/s

    def test_trimming_loses_no_byte(self):
        incast = flows("uec_incast")
        self.assertEqual([flow["bytes"] for flow in incast], [100_000] * 32)
        trims = sum(flow["retransmitted"] for flow in incast)
        self.assertGreater(trims, 0)
        bound = 3200 * self.PACKET_NS + 2000 + self.PACKET_NS
        last = max(flow["fct_ns"] for flow in incast)
        self.assertGreaterEqual(last, bound)
        # The last senders have a packet or two in flight when the queue is empty, and leave the link idle between them.
        self.assertLess(last, 1.10 * (bound + trims * 5.12))

    def test_destinations_grant_credit(self):
        first_packet = 2000 + 2 * self.PACKET_NS
        bound = (32 * 1000 - 1) * self.PACKET_NS + first_packet
        round_of_turns = 32 * 4 * self.PACKET_NS / 0.99
        credited, marked = flows("rccc_incast"), flows("rccc_incast", "--set", "cluster.fabric.transport.congestion_control=nscc")
        ends = [flow["fct_ns"] for flow in credited]
        trims = sum(flow["retransmitted"] for flow in credited)
        # Each packet time 32 come. The queue takes 32 + 21 + 1, and trims 11 in the second, 31 in the third. These 42 headers have left
        # when the third begins and 42 x 5.12 ns are over. That is 1455 ns, and 3010 ns later 31 sources have stopped: after 56 packets
        # at most; the last, whose first header is among 32 more, after 58. Of what is granted the time of headers takes its share.
        unasked = 31 * 56 + 58
        self.assertLessEqual(trims, (unasked - 54) / (1 - 5.12 / self.PACKET_NS))
        self.assertGreater(trims, 32 * 52 - 54 - 52)
        self.assertGreaterEqual(max(ends), bound)
        self.assertLess(max(ends), bound / 0.99 + trims * 5.12)
        self.assertLess(max(ends) - min(ends), 2 * round_of_turns)
        self.assertLess(mean(ends), max(ends))
        self.assertLess(mean([flow["fct_ns"] for flow in marked]), mean(ends))

        def queue(*arguments):
            port, = (port for port in result("rccc_incast", *arguments)["ports"] if port["name"] == "switch0->h0")
            return port["peak_queue_bytes"]
        self.assertLessEqual(queue(), 2000)
        self.assertGreater(queue("--set", "cluster.fabric.transport.congestion_control=nscc"), 10_400)

    def test_triggers_chain_flows(self):
        chain = flows("uec_chain")
        each = 1001 * self.PACKET_NS + 2000
        for flow, start in zip(chain, [0, each, 2 * each, 2 * each], strict=True):
            self.assertAlmostEqual(flow["fct_ns"], each, delta=10)  # an acknowledgement that goes ahead: 5.12 ns
            self.assertAlmostEqual(flow["start_ns"], start, delta=20)


def main():
    global ROOT, PROGRAM
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("program")
    options, rest = parser.parse_known_args()
    ROOT, PROGRAM = options.root, options.program
    tested = set(re.findall(r'(?:rates|flows|result|warnings|times)\("(\w+)"', pathlib.Path(__file__).read_text(encoding="utf-8")))
    shipped = {path.stem for path in (ROOT / "configs/scenarios/network").glob("*.yaml")}
    if tested != shipped:
        sys.exit(f"without a test, or without a file: {sorted(tested ^ shipped)}")
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
