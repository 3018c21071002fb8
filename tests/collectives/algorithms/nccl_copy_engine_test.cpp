#include <gtest/gtest.h>

#include "sim/collectives/costs.h"
#include "sim/collectives/peer_costs.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;

struct TestCopies {
  Duration engine_start = 3_us;
};
struct TestLinks {
  double collective_links = 1.25;
};
const ParamGroup<TestCopies> kTestCopies{
    "gpu.copy",
    "copies",
    {param<TestCopies>("engine_start", &TestCopies::engine_start,
                       {.max = 1_ms, .source = ParamSource::kAssumed, .reference = "test", .description = "of a copy"})}};
const ParamGroup<TestLinks> kTestLinks{"gpu.contention",
                                       "links",
                                       {param<TestLinks>("collective_links", &TestLinks::collective_links,
                                                         {.unit = "ratio",
                                                          .min = 1.0,
                                                          .max = 2.0,
                                                          .source = ParamSource::kAssumed,
                                                          .reference = "test",
                                                          .description = "of links"})}};

StepCosts engine_costs(const PeerCall& of) {
  ParamGroups groups = collective_param_groups();
  groups.push_back(&kTestCopies);
  groups.push_back(&kTestLinks);
  return PeerCosts{Profile::defaults(groups)}.of(of);
}

Duration after_the_way(const StepCosts& costs) { return costs.hop[static_cast<std::size_t>(Transport::kNvlink)]; }

// 8 ranks, 3 us a copy, 500 ns to a peer. A flag through the switch is one copy and its way; a batch starts once.
TEST(NcclCopyEngineTest, FlagsAndCopiesFollowOneAnother) {
  const PeerCall batch{.algorithm = kNcclCopyEngine, .ranks = 8, .way = 500_ns, .multicasts = true};
  EXPECT_EQ(engine_costs(batch).start, 3_us + 500_ns + 3_us);
  EXPECT_EQ(after_the_way(engine_costs(batch)), 3_us + 500_ns);
  PeerCall graph = batch;
  graph.in_graph = true;
  EXPECT_EQ(engine_costs(graph).start, 3_us + 500_ns + 7 * 3_us);
  PeerCall one_by_one = batch;
  one_by_one.multicasts = false;
  EXPECT_EQ(engine_costs(one_by_one).start, 7 * 3_us + 500_ns + 3_us);
  EXPECT_EQ(after_the_way(engine_costs(one_by_one)), 7 * 3_us + 500_ns);
}

// Links carry 5/4 of what blocks' stores get through them, and no block limits a rank.
TEST(NcclCopyEngineTest, LinksCarryMoreOfCopyEngines) {
  const StepCosts costs = engine_costs({.algorithm = kNcclCopyEngine, .ranks = 8});
  EXPECT_EQ(costs.on_wire(1'250_B), 1'000_B);
  EXPECT_FALSE(costs.takes_time(1_MiB));
}

// One peer after the other, from the next rank on.
TEST(NcclCopyEngineTest, EachRankCopiesItsBlocksToThePeersInTurn) {
  const Group group{4};
  for (const Collective kind : {Collective::kAllGather, Collective::kAllToAll}) {
    const auto schedule = make_algorithm("nccl_copy_engine")->plan(group.communicator(), call(kind, 4096_B), {});
    ASSERT_EQ(schedule->step_count(1, 0, 1), 3);
    for (const std::int64_t index : {0, 1, 2}) {
      const Step step = schedule->step(1, 0, 1, index);
      EXPECT_EQ(step.bytes, 1024_B);
      EXPECT_EQ(*step.send_to.begin(), (1 + 1 + index) % 4);
      EXPECT_EQ(step.source.offset, kind == Collective::kAllToAll ? 1024 * ((2 + index) % 4) : 0);
    }
  }
}

// The root of a scatter copies to three, those of a gather copy to it once each.
TEST(NcclCopyEngineTest, RootsAloneHaveSeveralPeers) {
  const Group group{4};
  const auto steps = [&](Collective kind, Rank rank, int lane) {
    return make_algorithm("nccl_copy_engine")->plan(group.communicator(), call(kind, 4096_B, 2), {})->step_count(rank, 0, lane);
  };
  EXPECT_EQ(steps(Collective::kScatter, 2, 1), 3);
  EXPECT_EQ(steps(Collective::kScatter, 0, 1), 0);
  EXPECT_EQ(steps(Collective::kScatter, 0, 0), 1);
  EXPECT_EQ(steps(Collective::kGather, 2, 0), 3);
  EXPECT_EQ(steps(Collective::kGather, 2, 1), 0);
  EXPECT_EQ(steps(Collective::kGather, 0, 1), 1);
}

}  // namespace
}  // namespace weft::coll
