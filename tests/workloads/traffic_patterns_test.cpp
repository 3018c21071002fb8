#include "sim/workloads/traffic_patterns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/workloads/workload_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;
using Sends = std::vector<std::pair<std::string, std::string>>;

const net::Topology& sixteen() {
  static const net::Topology topology = weft::testing::star(16, 100_Gbps, 1_us);
  return topology;
}

Sends sends(const std::string& entry) {
  Sends found;
  for (const FlowItem& flow : read("{traffic: [" + entry + "]}", sixteen()).flows)
    found.emplace_back(sixteen().name(flow.from), sixteen().name(flow.to));
  return found;
}

TEST(TrafficPatternsTest, AShiftGoesAroundTheEnd) {
  EXPECT_EQ(sends("{pattern: shift, by: 3, among: h0..3, bytes: 1 B}"),
            (Sends{{"h0", "h3"}, {"h1", "h0"}, {"h2", "h1"}, {"h3", "h2"}}));
  EXPECT_EQ(sends("{shift: 3, among: h0..3, bytes: 1 B}"), sends("{pattern: shift, by: 3, among: h0..3, bytes: 1 B}"));
  EXPECT_EQ(sends("{pattern: ring, among: h0..2, bytes: 1 B}"), (Sends{{"h0", "h1"}, {"h1", "h2"}, {"h2", "h0"}}));
}

TEST(TrafficPatternsTest, AlternativesThatAreBothStatedAreBothNamed) {
  EXPECT_EQ(
      errors("{traffic: [{shift: 3, pattern: ring, bytes: 1 B}]}", sixteen()),
      std::vector<std::string>{"workload.traffic[0].pattern: 'shift' and 'pattern' are alternatives, and both are stated"});
  EXPECT_EQ(errors("{traffic: [{shift: 16, bytes: 1 B}]}", sixteen()).size(), 1U) << "that is everybody to itself";
  EXPECT_EQ(errors("{traffic: [{pattern: ring, sizes: hadoop, cdf: [[1 B, 0], [2 B, 100 %]]}]}", sixteen()),
            std::vector<std::string>{"workload.traffic[0].cdf: 'sizes' and 'cdf' are alternatives, and both are stated"});
}

TEST(TrafficPatternsTest, APermutationSendsToEveryoneOnceAndNobodyToItself) {
  std::set<Sends> drawn;
  for (int seed = 1; seed <= 20; ++seed) {
    const Sends found = sends("{pattern: permutation, bytes: 1 B, seed: " + std::to_string(seed) + "}");
    std::set<std::string> from;
    std::set<std::string> to;
    for (const auto& [sender, receiver] : found) {
      EXPECT_NE(sender, receiver);
      from.insert(sender);
      to.insert(receiver);
    }
    EXPECT_EQ(from.size(), 16U);
    EXPECT_EQ(to.size(), 16U);
    drawn.insert(found);
  }
  EXPECT_EQ(drawn.size(), 20U);  // of 15! cycles two alike are unlikely
}

TEST(TrafficPatternsTest, ATransposeSendsFromRowAndColumnToColumnAndRow) {
  // 2 x 2: h1 is row 0, column 1. The diagonal stays at home.
  EXPECT_EQ(sends("{pattern: transpose, among: h0..3, bytes: 1 B}"), (Sends{{"h1", "h2"}, {"h2", "h1"}}));
  EXPECT_EQ(sends("{pattern: transpose, bytes: 1 B}").size(), 12U);
}

TEST(TrafficPatternsTest, PairsJoinTheTwoHalvesBothWays) {
  EXPECT_EQ(sends("{pattern: pairs, among: h0..3, bytes: 1 B}"),
            (Sends{{"h0", "h2"}, {"h1", "h3"}, {"h2", "h0"}, {"h3", "h1"}}));
}

TEST(TrafficPatternsTest, SeveralEntriesFollowEachOther) {
  EXPECT_EQ(sends("{pattern: incast, to: h0, among: h0..2, bytes: 1 B}, {pattern: incast, to: h5, among: h6, bytes: 1 B}"),
            (Sends{{"h1", "h0"}, {"h2", "h0"}, {"h6", "h5"}}));
  const Sends all = sends("{pattern: all_to_all, bytes: 1 B}");
  EXPECT_EQ(all.size(), 16U * 15);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 16U * 15);
}

TEST(TrafficPatternsTest, EveryFlowHasQueuePairsOfItsOwn) {
  const Workload workload = read("{traffic: [{pattern: ring, bytes: unlimited}]}", sixteen());
  std::set<std::uint32_t> options;
  for (const FlowItem& flow : workload.flows) options.insert(flow.options);
  EXPECT_EQ(options.size(), 16U);
}

TEST(TrafficPatternsTest, SizesAndStartsAreDrawnForEachFlow) {
  const Workload workload =
      read("{traffic: [{pattern: all_to_all, cdf: [[1 kB, 0], [3 kB, 100 %]], start: 1 us, starts_within: 10 us}]}", sixteen());
  double bytes = 0;
  double start = 0;
  for (const FlowItem& flow : workload.flows) {
    EXPECT_GE(flow.bytes, 1000_B);
    EXPECT_LE(flow.bytes, 3000_B);
    EXPECT_GE(flow.start, Time{} + 1_us);
    EXPECT_LT(flow.start, Time{} + 11_us);
    bytes += static_cast<double>(flow.bytes.count());
    start += static_cast<double>((flow.start - Time{}).ps()) / 1e6;
  }
  // Uniform in 1 to 3 kB and in 1 to 11 us: the means of 240 draws within four standard deviations, 577 / sqrt(240) and
  // 2.89 / sqrt(240).
  EXPECT_NEAR(bytes / 240, 2000, 4 * 577 / 15.5);
  EXPECT_NEAR(start / 240, 6, 4 * 2.89 / 15.5);
}

}  // namespace
}  // namespace weft::work::test
