#include "sim/network/packet_settings_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using namespace literals;

std::string hosts(const std::string& sections) {
  return "{nodes: 4, node: {type: host}, fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s}, " + sections +
         "}}";
}
PacketSettings read(const std::string& sections) { return load(hosts(sections)).packet; }
std::vector<std::string> errors(const std::string& sections) { return load_errors(hosts(sections)); }

TEST(PacketSettingsReaderTest, NothingIsOnWhereNothingIsSaid) {
  const PacketSettings settings = read("routing: ecmp");
  EXPECT_FALSE(settings.switches.buffer);
  EXPECT_EQ(settings.pfc.priorities, 0);
  EXPECT_EQ(settings.ecn.priorities, 0);
  EXPECT_FALSE(settings.credits.enabled);
  EXPECT_EQ(settings.transport.acks, AckMode::kNone);
  EXPECT_EQ(settings.transport.reliability, Reliability::kNone);
  EXPECT_EQ(settings.transport.congestion, nullptr);
}

TEST(PacketSettingsReaderTest, ReadsSwitchMemoryAndScheduling) {
  const SwitchSettings settings =
      read("switch: {buffer: 12 MB, egress_alpha: 8, queue_limit: 2 MB, scheduling: dwrr, weights: {3: 3, 4: 1.5}}").switches;
  EXPECT_EQ(settings.buffer, 12_MB);
  EXPECT_EQ(settings.egress_alpha, 8);
  EXPECT_EQ(settings.queue_limit, 2_MB);
  EXPECT_EQ(settings.scheduling, Scheduling::kDwrr);
  EXPECT_EQ(settings.weights, (std::array<double, kPriorities>{1, 1, 1, 3, 1.5, 1, 1, 1}));
}

TEST(PacketSettingsReaderTest, ReadsVirtualLanes) {
  const PacketSettings settings = read(
      "service_levels: {0: 0, 9: 3}, switch: {scheduling: vl_arbitration, vl_arbitration: {high: [{vl: 3, weight: 2}], "
      "low: [{vl: 0, weight: 255}, {vl: 1, weight: 0}], high_limit: 6}}");
  EXPECT_EQ(settings.lane_of_level[9], 3);
  EXPECT_EQ(settings.lane_of_level[1], -1);
  EXPECT_EQ(read("routing: ecmp").lane_of_level[7], 7);
  const LaneTables& lanes = settings.switches.lanes;
  EXPECT_EQ(settings.switches.scheduling, Scheduling::kLanes);
  ASSERT_EQ(lanes.low.size(), 2U);
  EXPECT_EQ(lanes.high[0].bytes, 2 * 64);
  EXPECT_EQ(lanes.low[0].bytes, 255 * 64);
  EXPECT_EQ(lanes.high_limit, 6 * 4096);
  for (const char* wrong : {"service_levels: {16: 0}", "service_levels: {0: 8}", "switch: {scheduling: vl_arbitration}",
                            "switch: {vl_arbitration: {low: [{vl: 0, weight: 1}]}}",
                            "switch: {scheduling: vl_arbitration, vl_arbitration: {low: [{vl: 0, weight: 0}]}}",
                            "switch: {scheduling: vl_arbitration, vl_arbitration: {low: [{vl: 8, weight: 1}]}}",
                            "switch: {scheduling: vl_arbitration, vl_arbitration: {low: [{vl: 0, weight: 1}], high_limit: 1}}"})
    EXPECT_EQ(errors(wrong).size(), 1U) << wrong;
}

TEST(PacketSettingsReaderTest, ReadsForwardMarks) {
  const EcnSettings marks = read("fecn: {threshold: 3, marking_rate: 10, packet_size: 512 B, victim_mask: true}").ecn;
  ASSERT_TRUE(marks.fecn);
  EXPECT_EQ(marks.priorities, 0xFF);
  EXPECT_EQ(marks.fecn->weight, 3);
  EXPECT_FALSE(marks.fecn->threshold);
  EXPECT_EQ(marks.fecn->marking_rate, 10);
  EXPECT_EQ(marks.fecn->packet_size, 512_B);
  EXPECT_TRUE(marks.fecn->victims);
  EXPECT_EQ(read("fecn: {threshold: 20 kB}").ecn.fecn->threshold, 20_KB);
  EXPECT_EQ(read("fecn: {enabled: false}, ecn: {kmin: 9 kB}").ecn.kmin, 9_KB);
  for (const char* wrong : {"fecn: {threshold: 16}", "fecn: {threshold: much}", "fecn: {}, ecn: {}", "fecn: {kmin: 5 kB}"})
    EXPECT_EQ(errors(wrong).size(), 1U) << wrong;
}

TEST(PacketSettingsReaderTest, AChipBringsItsMemory) {
  EXPECT_EQ(read("switch: {chip: tomahawk3}").switches.buffer, 64_MB);
  EXPECT_EQ(read("switch: {chip: tomahawk3, buffer: 16 MB}").switches.buffer, 16_MB);
  EXPECT_EQ(errors("switch: {chip: tomahawk33}").size(), 1U);
}

TEST(PacketSettingsReaderTest, AnEmptyPfcSectionMakesEveryPriorityLossless) {
  const PfcSettings settings = read("pfc: {}").pfc;
  EXPECT_EQ(settings.priorities, 0xFF);
  EXPECT_FALSE(settings.headroom);
  EXPECT_FALSE(settings.compute_headroom);
  EXPECT_EQ(read("pfc: {enabled: false}").pfc.priorities, 0);
}

TEST(PacketSettingsReaderTest, ReadsStaticPauseThresholds) {
  const PfcSettings settings =
      read("pfc: {priorities: [3, 5], xoff: 50 kB, xon: 40 kB, headroom: 12 kB, frame: 84 B, response: 1 us}").pfc;
  EXPECT_EQ(settings.priorities, (1 << 3) | (1 << 5));
  EXPECT_EQ(settings.xoff, 50_KB);
  EXPECT_EQ(settings.xon, 40_KB);
  EXPECT_EQ(settings.headroom, 12_KB);
  EXPECT_EQ(settings.frame, 84_B);
  EXPECT_EQ(settings.response, 1_us);
}

TEST(PacketSettingsReaderTest, XonFollowsXoffAndNeverPassesIt) {
  EXPECT_EQ(read("pfc: {xoff: 100 kB}").pfc.xon, 97_KB);
  EXPECT_EQ(read("pfc: {xoff: 2 kB}").pfc.xon, 0_B);
  EXPECT_EQ(read("pfc: {xoff: 2 kB, xon: 2 kB}").pfc.xon, 2_KB);
  EXPECT_EQ(errors("pfc: {xoff: 2 kB, xon: 2001 B}").size(), 1U);
}

TEST(PacketSettingsReaderTest, HeadroomMayBeLeftToEachLink) { EXPECT_TRUE(read("pfc: {headroom: auto}").pfc.compute_headroom); }

TEST(PacketSettingsReaderTest, ADynamicThresholdNeedsABufferToShare) {
  EXPECT_EQ(errors("pfc: {threshold: dynamic, alpha: 0.125}").size(), 1U);
  const PfcSettings settings = read("switch: {buffer: 12 MB}, pfc: {threshold: dynamic, alpha: 0.25, reserved: 4 KiB}").pfc;
  EXPECT_TRUE(settings.dynamic);
  EXPECT_EQ(settings.alpha, 0.25);
  EXPECT_EQ(settings.reserved, 4_KiB);
}

TEST(PacketSettingsReaderTest, RefusesWhatHasNoEffect) {
  EXPECT_EQ(errors("pfc: {alpha: 0.125}").size(), 1U);
  EXPECT_EQ(errors("switch: {buffer: 1 MB}, pfc: {threshold: dynamic, xoff: 1 kB}").size(), 1U);
  EXPECT_EQ(errors("switch: {weights: {3: 1}}").size(), 1U);
  EXPECT_EQ(errors("switch: {egress_alpha: 1}").size(), 1U);
}

TEST(PacketSettingsReaderTest, ReadsMarkingAndChecksItsRamp) {
  const EcnSettings settings = read("ecn: {kmin: 100 kB, kmax: 400 kB, pmax: 20 %, priorities: 3, mark: enqueue}").ecn;
  EXPECT_EQ(settings.kmin, 100_KB);
  EXPECT_EQ(settings.kmax, 400_KB);
  EXPECT_EQ(settings.pmax, 0.2);
  EXPECT_EQ(settings.priorities, 1 << 3);
  EXPECT_TRUE(settings.at_enqueue);
  EXPECT_EQ(errors("ecn: {kmin: 30 kB, kmax: 30 kB}").size(), 0U);
  EXPECT_EQ(errors("ecn: {kmin: 30001 B, kmax: 30 kB}").size(), 1U);
  EXPECT_EQ(errors("ecn: {pmax: 101 %}").size(), 1U);
}

TEST(PacketSettingsReaderTest, ReadsCredits) {
  const CreditSettings settings = read("credits: {credits: 132, block: 64 B, update: 8 B}").credits;
  EXPECT_TRUE(settings.enabled);
  EXPECT_EQ(settings.credits, 132);
  EXPECT_FALSE(read("credits: {credits: auto}").credits.credits);
  EXPECT_EQ(errors("credits: {credits: 0}").size(), 1U);
}

TEST(PacketSettingsReaderTest, ALinkPausesOrCountsCreditsNotBoth) {
  EXPECT_EQ(errors("pfc: {}, credits: {}").size(), 1U);
  EXPECT_EQ(errors("pfc: {enabled: false}, credits: {}").size(), 0U);
}

TEST(PacketSettingsReaderTest, AWindowTurnsAcknowledgementsOnUnlessTheyAreRuledOut) {
  EXPECT_EQ(read("transport: {window: 50 kB}").transport.acks, AckMode::kPackets);
  EXPECT_EQ(read("transport: {window: 50 kB, acks: free}").transport.acks, AckMode::kFree);
  EXPECT_EQ(errors("transport: {window: 50 kB, acks: none}").size(), 1U);
}

TEST(PacketSettingsReaderTest, RetransmissionTurnsAcknowledgementsOnUnlessTheyAreRuledOut) {
  const TransportSettings settings = read("transport: {reliability: selective_repeat}").transport;
  EXPECT_EQ(settings.acks, AckMode::kPackets);
  EXPECT_EQ(settings.reliability, Reliability::kSelectiveRepeat);
  EXPECT_EQ(errors("transport: {reliability: go_back_n, acks: none}").size(), 1U);
}

TEST(PacketSettingsReaderTest, ReadsTheTransport) {
  const TransportSettings settings =
      read(
          "transport: {payload: 1000 B, acks: packets, ack_size: 84 B, ack_every: 4, ack_priority: 6, cnp_interval: 4 us, "
          "cnps: packets, nak_interval: 10 us, timeout: 1 ms, telemetry: 42 B, queue_pairs: 4, post_latency: 600 ns, "
          "message_rate: 1e7}")
          .transport;
  EXPECT_EQ(settings.payload, 1'000_B);
  EXPECT_EQ(settings.ack_size, 84_B);
  EXPECT_EQ(settings.ack_every, 4);
  EXPECT_EQ(settings.ack_priority, 6);
  EXPECT_EQ(settings.cnp_interval, 4_us);
  EXPECT_EQ(settings.cnps, AckMode::kPackets);
  EXPECT_EQ(settings.nak_interval, 10_us);
  EXPECT_EQ(settings.timeout, 1_ms);
  EXPECT_EQ(settings.telemetry, 42_B);
  EXPECT_EQ(settings.queue_pairs, 4);
  EXPECT_EQ(settings.post_latency, 600_ns);
  EXPECT_EQ(settings.message_rate, 1e7);
}

TEST(PacketSettingsReaderTest, PrioritiesAreZeroToSeven) {
  EXPECT_EQ(errors("pfc: {priorities: [0, 7]}").size(), 0U);
  EXPECT_EQ(errors("pfc: {priorities: [8]}").size(), 1U);
  EXPECT_EQ(errors("pfc: {priorities: [-1]}").size(), 1U);
  EXPECT_EQ(errors("pfc: {priorities: []}").size(), 1U);
}

TEST(PacketSettingsReaderTest, LinksMayCarryBarePackets) {
  const Cluster cluster = load(
      "{nodes: 2, node: {type: host}, fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s, mtu: 1000 B, "
      "header: 0 B}}}");
  const LinkSpec& spec = cluster.topology.spec(LinkId{0});
  EXPECT_EQ(spec.overhead, 0_B);
  EXPECT_EQ(spec.packet, 1'000_B);
  EXPECT_EQ(spec.efficiency, 1.0);
}

}  // namespace
}  // namespace weft::net::test
