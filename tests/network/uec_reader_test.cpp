#include "sim/network/uec_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/network/cluster_support.h"

namespace weft::net::test {
namespace {

using namespace literals;

std::string uec_hosts(const std::string& sections) {
  return "{nodes: 4, node: {type: host}, fabric: {type: single_switch, link: {type: ethernet, rate: 100 Gb/s}, " + sections +
         "}}";
}

TEST(UecReaderTest, TypeBringsDefaults) {
  const auto cluster = load(uec_hosts("transport: {type: uec}"));
  const TransportSettings& transport = cluster.packet.transport;
  ASSERT_TRUE(transport.uec);
  EXPECT_EQ(transport.uec->mode, DeliveryMode::kRud);
  EXPECT_EQ(transport.uec->spreading, EntropySpreading::kBitmap);
  EXPECT_EQ(transport.uec->entropy_values, 64U);
  EXPECT_EQ(transport.reliability, Reliability::kSelectiveRepeat);
  EXPECT_EQ(transport.acks, AckMode::kPackets);
  EXPECT_EQ(transport.timeout, 100_us);
  EXPECT_NE(transport.congestion, nullptr);
  EXPECT_EQ(cluster.routing, "entropy");
  EXPECT_EQ(load(uec_hosts("pfc: {enabled: false}")).routing, "ecmp");
}

TEST(UecReaderTest, ReadsItsKeys) {
  const auto cluster =
      load(uec_hosts("transport: {type: uec, load_balancing: reps, entropy_values: 256, congestion_control: none}, "
                     "switch: {trimming: true, queue_limit: 1 MB, trim_size: 80 B, trim_priority: 6}"));
  EXPECT_EQ(cluster.packet.transport.uec->spreading, EntropySpreading::kReps);
  EXPECT_EQ(cluster.packet.transport.uec->entropy_values, 256U);
  EXPECT_EQ(cluster.packet.transport.congestion, nullptr);
  EXPECT_EQ(cluster.packet.switches.trim_size, 80_B);
  EXPECT_EQ(cluster.packet.switches.trim_priority, 6);
  const auto credited = load(uec_hosts("transport: {type: uec, congestion_control: {type: rccc, nscc: {gamma: 0.5}}}"));
  EXPECT_TRUE(credited.packet.transport.congestion->needs().credits);
  EXPECT_TRUE(load(uec_hosts("llr: true")).packet.link_retry);
  EXPECT_FALSE(load(uec_hosts("llr: false")).packet.link_retry);
  const auto ordered = load(uec_hosts("transport: {type: uec, delivery_mode: rod}, routing: ecmp"));
  EXPECT_EQ(ordered.packet.transport.reliability, Reliability::kGoBackN);
  EXPECT_EQ(ordered.routing, "ecmp");
}

TEST(UecReaderTest, RefusesWhatContradictsIt) {
  const auto only = [](const std::string& sections, const std::string& expected) {
    const std::vector<std::string> errors = load_errors(uec_hosts(sections));
    ASSERT_EQ(errors.size(), 1U) << sections;
    EXPECT_NE(errors[0].find(expected), std::string::npos) << errors[0];
  };
  only("transport: {entropy_values: 64}", "transport.entropy_values: has no effect without type: uec");
  only("transport: {type: uec, reliability: go_back_n}", "transport.reliability: is not of Ultra Ethernet's transport");
  only("transport: {type: uec, queue_pairs: 2}", "transport.queue_pairs: is not of Ultra Ethernet's transport");
  only("transport: {type: uec, acks: none, congestion_control: none}", "transport.acks: Ultra Ethernet's delivery is reliable");
  only("transport: {type: uec, entropy_values: 48}", "transport.entropy_values: expected a power of two, got 48");
  only("transport: {type: uec, delivery_mode: rod, entropy_values: 64}",
       "transport.entropy_values: has no effect on reliable ordered");
  only("transport: {type: uec}, routing: ecmp", "routing: a flow has one path with 'ecmp'");
  only("transport: {type: uec, delivery_mode: rudi}", "transport.delivery_mode: unknown value 'rudi'");
  only("transport: {congestion_control: rccc}",
       "transport.congestion_control: destinations grant credit with Ultra Ethernet's transport only");
  only("transport: {type: uec, delivery_mode: rod, congestion_control: rccc}",
       "transport.congestion_control: destinations grant no credit to reliable ordered delivery");
  only("transport: {type: uec, congestion_control: {type: rccc, credit_rate: 101 %}}", "congestion_control.credit_rate");
  only("transport: {type: uec, congestion_control: {type: rccc, nscc: {gama: 0.5}}}",
       "unknown key 'gama' in cluster.fabric.transport.congestion_control.nscc");
  EXPECT_NE(load_errors(
                "{nodes: 4, node: {type: host}, fabric: {type: single_switch, llr: true, link: {type: infiniband, rate: ndr}}}")
                .at(0)
                .find("llr: is of Ethernet's links; those of this fabric are of type 'infiniband'"),
            std::string::npos);
  only("routing: entropy", "routing: packets have entropy values with Ultra Ethernet's transport only");
  only("switch: {trimming: true, queue_limit: 1 MB}", "switch.trimming: the receivers of this transport do not answer");
  only("transport: {type: uec}, switch: {trimming: true}", "switch.trimming: has no effect where queues have no limit");
  only("transport: {type: uec}, switch: {trim_size: 64 B}", "switch.trim_size: has no effect without trimming: true");
}

}  // namespace
}  // namespace weft::net::test
