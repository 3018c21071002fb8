#include "sim/workloads/generated_flows.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/workloads/workload_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

const net::Topology& hosts() {
  static const net::Topology topology = weft::testing::star(16, 100_Gbps, 1_us);
  return topology;
}

TEST(SizeDistributionTest, MeanAndDrawsFollowTheLinesBetweenPoints) {
  // Half uniform in 0..100, half uniform in 100..300: 0.5 x 50 + 0.5 x 200 = 125. Its standard deviation is below 90.
  const SizeDistribution sizes{{{0, 0}, {100, 0.5}, {300, 1}}};
  EXPECT_DOUBLE_EQ(sizes.mean(), 125);
  RandomStream random{1, "test"};
  double sum = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const Bytes size = sizes.draw(random);
    ASSERT_GE(size, 1_B);
    ASSERT_LE(size, 300_B);
    sum += static_cast<double>(size.count());
  }
  EXPECT_NEAR(sum / kDraws, 125, 4 * 90 / 316.0);
}

TEST(SizeDistributionTest, AStepIsOneSize) {
  const SizeDistribution sizes{{{1000, 0}, {1000, 1}}};
  RandomStream random{1, "test"};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sizes.draw(random), 1'000_B);
}

TEST(SizeDistributionTest, RefusesWhatIsNoDistribution) {
  EXPECT_EQ(SizeDistribution::problem(std::vector<SizeDistribution::Point>{{0, 0}, {1, 1}}), "");
  EXPECT_NE(SizeDistribution::problem(std::vector<SizeDistribution::Point>{{0, 0}, {1, 0.99}}), "");
  EXPECT_NE(SizeDistribution::problem(std::vector<SizeDistribution::Point>{{0, 0.5}, {1, 0.4}, {2, 1}}), "");
  EXPECT_NE(SizeDistribution::problem(std::vector<SizeDistribution::Point>{{5, 0}, {1, 1}}), "");
  EXPECT_NE(SizeDistribution::problem(std::vector<SizeDistribution::Point>{{5, 1}}), "");
}

TEST(SizeDistributionTest, PublishedOnesHaveTheirMeans) {
  // By hand from the points: sum of (p_i - p_i-1) (x_i + x_i-1) / 2.
  EXPECT_NEAR(SizeDistribution::named("websearch")->mean(), 1'711'250, 1);
  EXPECT_FALSE(SizeDistribution::named("other"));
}

TEST(BackgroundTest, LoadsTheHostsAsAsked) {
  // 30 % of 16 x 100 Gb/s for 1 ms are 60 MB.
  const Workload workload =
      read("{background: {cdf: [[10 kB, 0], [10 kB, 100 %]], load: 30 %, until: 1 ms, priority: 2}}", hosts());
  double bytes = 0;
  std::set<DeviceId> sources;
  for (const FlowItem& flow : workload.flows) {
    EXPECT_NE(flow.from, flow.to);
    EXPECT_LT(flow.start, Time{} + 1_ms);
    EXPECT_EQ(flow.priority, 2);
    sources.insert(flow.from);
    bytes += static_cast<double>(flow.bytes.count());
  }
  // 6000 flows expected; four standard deviations are 310.
  EXPECT_NEAR(bytes / 10e3, 6'000, 310);
  EXPECT_EQ(sources.size(), 16U);
}

TEST(BackgroundTest, SeedsChangeTheFlowsAndEqualSeedsDoNot) {
  const auto first = [](int seed) {
    return read("{background: {sizes: hadoop, load: 10 %, until: 100 us, seed: " + std::to_string(seed) + "}}", hosts())
        .flows.front();
  };
  EXPECT_EQ(first(1).start, first(1).start);
  EXPECT_NE(first(1).start, first(2).start);
}

TEST(BackgroundTest, RefusesWhatIsNoTraffic) {
  for (const char* keys : {"load: 30 %, until: 1 ms", "sizes: hadoop, cdf: [[1 B, 1]], load: 30 %, until: 1 ms",
                           "sizes: hadoop, load: 0 %, until: 1 ms", "sizes: hadoop, load: 30 %",
                           "sizes: hadoop, load: 30 %, from: 1 ms, until: 1 ms", "cdf: [[1 B, 50 %]], load: 30 %, until: 1 ms",
                           "sizes: other, load: 30 %, until: 1 ms"}) {
    EXPECT_EQ(errors(std::string{"{background: {"} + keys + "}}", hosts()).size(), 1U) << keys;
  }
}

TEST(IncastTest, NamedSendersAllSendAtOnce) {
  const Workload workload = read("{incast: {senders: [h1, h2, h3], to: h0, bytes: 500 kB, every: 10 us, count: 2}}", hosts());
  ASSERT_EQ(workload.flows.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(workload.flows[i].to, hosts().endpoints()[0]);
    EXPECT_EQ(workload.flows[i].start, Time{} + (i < 3 ? 0_us : 10_us));
  }
  EXPECT_EQ(read("{incast: {senders: h1..3, to: h0, bytes: 500 kB}}", hosts()).flows.size(), 3U);
  EXPECT_EQ(errors("{incast: {senders: h1..99, to: h0, bytes: 500 kB}}", hosts()).size(), 1U);
  EXPECT_EQ(errors("{incast: {senders: few, to: h0, bytes: 500 kB}}", hosts()).size(), 1U);
}

TEST(IncastTest, ANumberDrawsSendersAnewThatNeverAreTheReceiver) {
  const Workload workload =
      read("{incast: {senders: 15, to: random, bytes: 1 kB, start: 5 us, every: 10 us, until: 35 us}}", hosts());
  ASSERT_EQ(workload.flows.size(), 45U);  // at 5, 15 and 25 us
  for (std::size_t burst = 0; burst < 3; ++burst) {
    std::set<DeviceId> senders;
    for (std::size_t i = 0; i < 15; ++i) {
      const FlowItem& flow = workload.flows[15 * burst + i];
      EXPECT_NE(flow.from, flow.to);
      senders.insert(flow.from);
    }
    EXPECT_EQ(senders.size(), 15U);
  }
  EXPECT_EQ(errors("{incast: {senders: 16, to: h0, bytes: 1 kB}}", hosts()).size(), 1U);
  EXPECT_EQ(errors("{incast: {senders: 3, to: h0, bytes: 1 kB, every: 1 us}}", hosts()).size(), 1U);
}

}  // namespace
}  // namespace weft::work::test
