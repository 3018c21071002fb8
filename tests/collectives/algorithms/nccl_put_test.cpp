#include <gtest/gtest.h>

#include "sim/collectives/costs.h"
#include "sim/collectives/peer_costs.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;

struct PutCopies {
  Duration engine_start = 3_us;
};
const ParamGroup<PutCopies> kPutCopies{
    "gpu.copy",
    "copies",
    {param<PutCopies>("engine_start", &PutCopies::engine_start,
                      {.max = 1_ms, .source = ParamSource::kAssumed, .reference = "test", .description = "of a copy"})}};

// One copy of the data, one of the signal and its way; nobody waits before.
TEST(NcclPutTest, TakesTwoCopiesAndTheSignalsWay) {
  ParamGroups groups = collective_param_groups();
  groups.push_back(&kPutCopies);
  for (const bool in_graph : {false, true}) {
    const StepCosts costs =
        PeerCosts{Profile::defaults(groups)}.of({.algorithm = kNcclPut, .ranks = 8, .in_graph = in_graph, .way = 500_ns});
    EXPECT_EQ(costs.start, 3_us);
    EXPECT_EQ(costs.hop[static_cast<std::size_t>(Transport::kNvlink)], 3_us + 500_ns);
  }
}

TEST(NcclPutTest, EachRankPutsToTheNext) {
  const Group group{4};
  const auto put = make_algorithm("nccl_put");
  EXPECT_TRUE(put->supports(Collective::kSendRecv));
  EXPECT_FALSE(put->supports(Collective::kAllToAll));
  const auto schedule = put->plan(group.communicator(), call(Collective::kSendRecv, 4096_B), {});
  for (Rank rank = 0; rank < 4; ++rank) {
    for (int lane = 0; lane < schedule->lanes(rank, 0); ++lane) {
      if (schedule->step_count(rank, 0, lane) == 0) continue;
      const Step step = schedule->step(rank, 0, lane, 0);
      if (step.send_to.empty()) continue;
      EXPECT_EQ(*step.send_to.begin(), (rank + 1) % 4);
    }
  }
}

}  // namespace
}  // namespace weft::coll
