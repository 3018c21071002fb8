// Counts of what a run will hold, by hand, and the limit from both sides.
#include "sim/scenario/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/core/error.h"
#include "sim/workloads/replay/replay_state.h"
#include "tests/scenario/four_gpus.h"

namespace weft::scenario {
namespace {

double count_of(const MemoryPlan& plan, const std::string& what) {
  const auto found = std::ranges::find(plan.parts, what, &MemoryPart::what);
  return found == plan.parts.end() ? 0 : found->count;
}
double each_of(const MemoryPlan& plan, const std::string& what) {
  return std::ranges::find(plan.parts, what, &MemoryPart::what)->each;
}

work::CollectiveItem on_four(const net::Cluster& cluster, coll::Collective kind) {
  work::CollectiveItem item;
  item.call = {.kind = kind, .bytes = Bytes{1 << 20}};
  item.devices = cluster.topology.endpoints();
  return item;
}

TEST(MemoryPlanTest, AnExchangeHasAConnectionForEachPairOfRanks) {
  const net::Cluster cluster = test::four_gpus();
  const MemoryPlan plan = plan_memory(cluster, {}, on_four(cluster, coll::Collective::kAllToAll));
  EXPECT_EQ(count_of(plan, "ports"), static_cast<double>(cluster.topology.link_count()));
  EXPECT_EQ(count_of(plan, "connections"), 4 * 3);
  EXPECT_EQ(count_of(plan, "lanes"), 4 * 3);
}

TEST(MemoryPlanTest, ARingHasTwoConnectionsForEachRankAndChannel) {
  const net::Cluster cluster = test::four_gpus();
  work::CollectiveItem item = on_four(cluster, coll::Collective::kAllReduce);
  item.channels = 3;
  EXPECT_EQ(count_of(plan_memory(cluster, {}, item), "connections"), 2 * 4 * 3);
  EXPECT_EQ(count_of(plan_memory(cluster, {}, item), "lanes"), 4 * 3);
  SimulationOptions fluid;
  fluid.grain = coll::Grain::kFluid;
  EXPECT_EQ(count_of(plan_memory(cluster, fluid, item), "lanes"), 0);
}

// Four ranks of one list of 100 kernels and two all-reduces of a size, in two groups; rank 3 sends to rank 2.
work::Program program_on(const net::Cluster& cluster) {
  work::Program program;
  program.devices = cluster.topology.endpoints();
  work::RankProgram each;
  each.operations.resize(100);
  for (int i = 0; i < 2; ++i) each.operations.push_back({.bytes = Bytes{1024}, .slot = 0, .kind = work::OpKind::kCollective});
  work::RankProgram last = each;
  last.operations.push_back({.bytes = Bytes{64}, .slot = 0, .kind = work::OpKind::kSend});
  program.programs = {each, last};
  program.groups = {{.name = "tp 0", .ranks = {0, 1}}, {.name = "tp 1", .ranks = {2, 3}}};
  for (Rank rank = 0; rank < 4; ++rank) {
    program.ranks.push_back(
        {.program = rank == 3 ? 1U : 0U, .groups = {static_cast<std::uint32_t>(rank / 2)}, .peers = {2}, .leader = rank});
  }
  return program;
}

TEST(MemoryPlanTest, AProgramHasRanksCallsAndMessages) {
  const net::Cluster cluster = test::four_gpus();
  const MemoryPlan plan = plan_memory(cluster, {}, program_on(cluster));
  EXPECT_EQ(count_of(plan, "ranks"), 4);
  // 102, and of one of four ranks 103 operations.
  EXPECT_DOUBLE_EQ(each_of(plan, "ranks"), sizeof(work::RankState) + 102.25 * sizeof(work::OperationTiming));
  EXPECT_EQ(count_of(plan, "collectives"), 2);  // calls of one size are kept once for each group
  EXPECT_EQ(count_of(plan, "messages"), 1);
}

TEST(MemoryPlanTest, FollowersAreNotRun) {
  const net::Cluster cluster = test::four_gpus();
  work::Program program = program_on(cluster);
  program.ranks[1].leader = 0;
  EXPECT_EQ(count_of(plan_memory(cluster, {}, program), "ranks"), 3);
}

TEST(MemoryPlanTest, IsRefusedOneByteBelowWhatItTakes) {
  MemoryPlan plan;
  plan.resident = 1000;
  plan.parts = {{"ports", 10, 100}};
  EXPECT_NO_THROW(check_memory(plan, 2000));
  try {
    check_memory(plan, 1999);
    FAIL() << "was not refused";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().front().message, "the run would take about 1.95 KiB of memory, and --memory allows 1.95 KiB");
    EXPECT_NE(error.diagnostics().front().note.find("10 ports of 100 B"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::scenario
