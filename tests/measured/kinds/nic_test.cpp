#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

net::Cluster two_nodes() {
  return four_gpus("", ", nodes: 2, fabric: {type: single_switch, link: {type: ethernet, rate: 10 Gb/s}}");
}

MeasuredPoint nic_record(const std::string& tool, std::int64_t bytes) {
  MeasuredPoint record = record_of("nic", tool);
  record.bytes = Bytes{bytes};
  return record;
}

// 10 Gb/s are 1250 B a us, less what headers take.
TEST(NicKindTest, BandwidthIsThatOfTheNarrowestLinkOfTheWay) {
  const double us = *predicted(nic_record("ib_write_bw", 1 << 20), two_nodes()).predicted_us;
  EXPECT_GE(us, (1 << 20) / 1250.0);
  EXPECT_LT(us, 1.15 * (1 << 20) / 1250.0);
  EXPECT_NEAR(*predicted(nic_record("ib_write_bw", 2 << 20), two_nodes()).predicted_us, 2 * us, 1e-6 * us);
}

TEST(NicKindTest, AMessageByItselfTakesItsWayToo) {
  const double moving = *predicted(nic_record("ib_write_bw", 4096), two_nodes()).predicted_us;
  EXPECT_GT(*predicted(nic_record("ib_write latency", 4096), two_nodes()).predicted_us, moving);
}

TEST(NicKindTest, NeedsTwoNodes) {
  EXPECT_EQ(predicted(nic_record("ib_write_bw", 4096)).not_modelled, "messages between nodes: the cluster has one");
}

}  // namespace
}  // namespace weft::measured
