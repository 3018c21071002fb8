// DeepEP's dispatch and combine: what is moved, and how long it takes where that can be said by hand.
#include "sim/collectives/expert_exchange.h"

#include <gtest/gtest.h>

#include "sim/collectives/costs.h"
#include "sim/collectives/expert_schedule.h"
#include "sim/core/error.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::Group;

// Two experts of four ranks with one expert each: the first is a rank's with 1/4, the second with 1/3 of the rest.
TEST(ExpertExchangeTest, ATokenVisitsEachRankOnce) {
  EXPECT_DOUBLE_EQ(ranks_visited({.topk = 2, .experts = 4}, {.ranks = 4}), 2.0);
  // Two experts a rank, two ranks: the second expert is of the first one's rank in one of three cases.
  EXPECT_DOUBLE_EQ(ranks_visited({.topk = 2, .experts = 4}, {.ranks = 2}), 1.0 + 2.0 / 3.0);
  // All experts: all ranks and nodes.
  EXPECT_DOUBLE_EQ(ranks_visited({.topk = 8, .experts = 8}, {.ranks = 4, .nodes = 2}), 4.0);
  EXPECT_DOUBLE_EQ(nodes_visited({.topk = 8, .experts = 8}, {.ranks = 4, .nodes = 2}), 2.0);
}

// Two of four nodes with two experts each are allowed; four experts a token are then all of both.
TEST(ExpertExchangeTest, GroupLimitedGatingVisitsSoManyNodes) {
  EXPECT_DOUBLE_EQ(nodes_visited({.topk = 4, .experts = 8, .node_limit = 2}, {.ranks = 8, .nodes = 4}), 2.0);
  EXPECT_DOUBLE_EQ(ranks_visited({.topk = 4, .experts = 8, .node_limit = 2}, {.ranks = 8, .nodes = 4}), 4.0);
}

// 7168 in FP8 with 56 scales of 4 bytes; with 8 indices of 8 and 8 weights of 4 bytes, or a header of 16. BF16: 2 bytes each.
TEST(ExpertExchangeTest, ACopyIsOfFp8WithScalesAndCombinesInBf16) {
  EXPECT_DOUBLE_EQ(copy_bytes({.kernels = ExpertKernels::kLowLatency, .hidden = 7168}), 7168 + 56 * 4 + 16);
  EXPECT_DOUBLE_EQ(copy_bytes({.hidden = 7168, .topk = 8}), 7168 + 56 * 4 + 8 * 12);
  EXPECT_DOUBLE_EQ(copy_bytes({.kernels = ExpertKernels::kLowLatency, .step = ExpertStep::kCombine, .hidden = 7168}), 14336);
  EXPECT_DOUBLE_EQ(copy_bytes({.kernels = ExpertKernels::kLowLatency, .hidden = 7168, .fp8_dispatch = false}), 14336 + 16);
}

// A copy goes once to a node, to the rank of the sender's index, which hands it on to the others of its node.
TEST(ExpertExchangeTest, BetweenNodesOnlyRanksOfOneIndexSpeak) {
  const Group group{std::vector<int>{2, 2, 2}};
  for (const bool collects : {false, true}) {
    const ExpertSchedule schedule{group.communicator(), {.near = 1600, .handed = 320, .far = 480, .collects = collects}};
    for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(schedule)) {
      const auto [from, to] = edge.second;
      if (from / 2 == to / 2) {
        EXPECT_EQ(bytes, 1600 + 2 * 320);
      } else {
        EXPECT_EQ(from % 2, to % 2);
        EXPECT_EQ(bytes, 480);
      }
    }
    EXPECT_EQ(schedule.near_bytes(), 1600 + 2 * 320);
  }
}

TEST(ExpertExchangeTest, LowLatencySendsStraightToEveryRank) {
  const Group group{std::vector<int>{2, 2}};
  const ExpertSchedule schedule{group.communicator(), {.near = 64, .far = 96, .direct = true}};
  const auto traffic = weft::testing::traffic_of_steps(schedule);
  EXPECT_EQ(traffic.size(), 4U * 3U);
  for (const auto& [edge, bytes] : traffic) EXPECT_EQ(bytes, edge.second.first / 2 == edge.second.second / 2 ? 64 : 96);
}

// Two experts of two ranks, one a token, the second drawn half as often: 2/3 and 1/3 of the tokens, 4/3 and 2/3 of the mean.
TEST(ExpertExchangeTest, PopularExpertsLoadTheirRankMore) {
  const ExpertLoads loads = expert_loads({.topk = 1, .experts = 2, .skew = 1.0}, {.ranks = 2});
  EXPECT_NEAR(loads.ranks[0], 4.0 / 3.0, 1e-12);
  EXPECT_NEAR(loads.ranks[1], 2.0 / 3.0, 1e-12);
  EXPECT_NEAR(loads.ranks_visited, 1.0, 1e-12);
  // Without skew as many as the usual formula has, on every rank and node.
  const ExpertCall alike{.topk = 4, .experts = 64};
  const ExpertGpus gpus{.ranks = 16, .nodes = 2};
  const ExpertLoads even = expert_loads(alike, gpus);
  for (const double load : even.ranks) EXPECT_NEAR(load, 1.0, 1e-12);
  EXPECT_NEAR(even.ranks_visited, ranks_visited(alike, gpus), 1e-12);
  EXPECT_NEAR(even.nodes_visited, nodes_visited(alike, gpus), 1e-12);
}

// Dispatch sends a popular rank more, combine has it send more; between nodes by the node's load.
TEST(ExpertExchangeTest, BytesFollowTheLoadOfTheExpertsRank) {
  const Group group{std::vector<int>{2, 2}};
  for (const bool collects : {false, true}) {
    for (const bool direct : {false, true}) {
      const ExpertSchedule schedule{group.communicator(),
                                    {.near = 1600,
                                     .handed = direct ? 0 : 320,
                                     .far = 480,
                                     .direct = direct,
                                     .collects = collects,
                                     .ranks = {2.0, 1.0, 0.5, 0.5},
                                     .nodes = {1.5, 0.5}}};
      const double of_rank[] = {2.0, 1.0, 0.5, 0.5};
      for (const auto& [edge, bytes] : weft::testing::traffic_of_steps(schedule)) {
        const auto [from, to] = edge.second;
        const int experts = collects ? from : to;
        if (from / 2 == to / 2) {
          EXPECT_EQ(bytes, of_rank[experts] * (1600 + (direct ? 0 : 320)));
        } else {
          EXPECT_EQ(bytes, 480 * (direct ? of_rank[experts] : experts < 2 ? 1.5 : 0.5));
        }
      }
    }
  }
}

// 256 experts on 132 SMs: two a group, 128 SMs. 8 experts: 8 SMs, so that 1024 tokens are 128 of an SM, and 127 cost more.
TEST(ExpertExchangeTest, FewExpertsOccupyFewSms) {
  const Profile profile = Profile::defaults(collective_param_groups());
  const ExpertCosts costs{profile};
  ExpertCall call{.kernels = ExpertKernels::kLowLatency, .tokens = 1024, .hidden = 2000, .topk = 1, .experts = 8};
  const ExpertGpus gpus{.ranks = 8, .sms = 132};
  EXPECT_EQ(costs.least(call, gpus, 1.0, 1.0), 127 * 2 * costs.low_latency[0].token);
  call.experts = 256;
  EXPECT_EQ(costs.least(call, gpus, 1.0, 1.0), 7 * 2 * costs.low_latency[0].token);
  call.tokens = 128;
  EXPECT_EQ(costs.least(call, gpus, 1.0, 1.0), Duration{});
}

// Half of the SMs send: 4 SMs are two channels.
TEST(ExpertExchangeTest, TwiceTheSmsTakeHalfTheTime) {
  const Profile profile = Profile::defaults(collective_param_groups());
  const ExpertCosts costs{profile};
  ExpertCall call{.tokens = 1000, .sms = 4};
  const Duration slow = costs.least(call, {.ranks = 8}, 8000.0, 5.0);
  call.sms = 8;
  EXPECT_NEAR(slow.seconds(), 2 * costs.least(call, {.ranks = 8}, 8000.0, 5.0).seconds(), 2e-12);
}

}  // namespace
}  // namespace weft::coll
