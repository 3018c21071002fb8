#include "sim/scenario/flow_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weft::scenario {
namespace {

using namespace weft::literals;
using ::testing::ElementsAre;

work::FlowResult flow(Bytes bytes, Duration start, Duration fct) {
  return {.bytes = bytes, .start = Time{} + start, .end = Time{} + start + fct};
}

TEST(FlowSummaryTest, GivesOrderStatisticsOfTheFinishedFlows) {
  // 100 flows of 1 to 100 us: the median is the 50th smallest, p99 the 99th (nearest rank).
  std::vector<work::FlowResult> flows;
  for (int i = 100; i >= 1; --i) flows.push_back(flow(1_KB, 0_us, i * 1_us));
  const FlowSummary summary = summarize_flows(flows, 2);
  EXPECT_EQ(summary.finished, 100U);
  EXPECT_EQ(summary.min_fct, 1_us);
  EXPECT_EQ(summary.median_fct, 50_us);
  EXPECT_EQ(summary.p99_fct, 99_us);
  EXPECT_EQ(summary.max_fct, 100_us);
  EXPECT_EQ(summary.last_end, 100_us);
  EXPECT_THAT(summary.slowest, ElementsAre(0, 1));
  // 100 kB in 100 us is 8 Gb/s.
  EXPECT_DOUBLE_EQ(summary.rate_gbps, 8.0);
}

TEST(FlowSummaryTest, LeavesOutWhatDidNotEnd) {
  std::vector<work::FlowResult> flows{flow(10_KB, 5_us, 2_us), {.bytes = 1_GB, .start = Time{}}};
  flows.push_back({.bytes = 1_GB, .start = Time{}, .end = Time{} + 1_us, .aborted = true});
  const FlowSummary summary = summarize_flows(flows);
  EXPECT_EQ(summary.flows, 3U);
  EXPECT_EQ(summary.finished, 1U);
  EXPECT_EQ(summary.aborted, 1U);
  EXPECT_EQ(summary.bytes, 10_KB);
  EXPECT_EQ(summary.last_end, 7_us);
  EXPECT_THAT(summary.slowest, ElementsAre(0));
  EXPECT_FALSE(rate_gbps(flows[1]));
  EXPECT_FALSE(rate_gbps(flows[2]));
  EXPECT_DOUBLE_EQ(rate_gbps(flows[0]).value(), 40.0);
}

TEST(FlowSummaryTest, OrdersEquallySlowFlowsById) {
  const std::vector<work::FlowResult> flows{flow(1_KB, 0_us, 1_us), flow(1_KB, 1_us, 3_us), flow(1_KB, 0_us, 3_us)};
  EXPECT_THAT(summarize_flows(flows).slowest, ElementsAre(1, 2, 0));
}

TEST(FlowSummaryTest, HasNoStatisticsOfNothing) {
  const FlowSummary summary = summarize_flows({});
  EXPECT_EQ(summary.finished, 0U);
  EXPECT_EQ(summary.rate_gbps, 0.0);
  // A flow without bytes over a link without latency takes no time: it has no rate.
  const std::vector<work::FlowResult> instant{flow(0_B, 1_us, 0_us)};
  EXPECT_EQ(summarize_flows(instant).rate_gbps, 0.0);
  EXPECT_FALSE(rate_gbps(instant.front()));
}

}  // namespace
}  // namespace weft::scenario
