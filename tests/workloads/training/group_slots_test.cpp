#include "sim/workloads/training/group_slots.h"

#include <gtest/gtest.h>

#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

TEST(GroupSlotsTest, OnlyGroupsOfSeveralRanksHaveAnIndex) {
  ParallelPlan plan;
  plan.tensor = 2;
  plan.data = 4;
  const GroupSlots slots{plan, false};
  EXPECT_EQ(slots.index(GroupSlot::kTensor), 0);
  EXPECT_FALSE(slots.has(GroupSlot::kContext));
  EXPECT_EQ(slots.index(GroupSlot::kData), 1);
  EXPECT_EQ(slots.size(GroupSlot::kModel), 2);  // every tensor rank has other gradients; replicas have the same
}

// Eight ranks, shards of four: ranks 0 to 3 and 4 to 7 share a model each; rank r and r + 4 hold the same shard.
TEST(GroupSlotsTest, HybridShardsAreNeighboursAndReplicasStrides) {
  TrainingSetup setup = ddp();
  setup.plan.data = 8;
  setup.batch.global = 8;
  setup.plan.data_parallelism = DataParallelism::kFsdp;
  setup.plan.zero = 3;
  setup.plan.fsdp_shard = 4;
  const Program program = program_of(setup);
  const auto& of_rank_5 = program.ranks[5].groups;
  ASSERT_EQ(of_rank_5.size(), 4U);  // shard, replicas, experts' own data group, which has nothing to do, and the norm's
  EXPECT_EQ(program.groups[of_rank_5[0]].ranks, (std::vector<Rank>{4, 5, 6, 7}));
  EXPECT_EQ(program.groups[of_rank_5[1]].ranks, (std::vector<Rank>{1, 5}));
  // Each unit's shard is all-reduced over its replicas after the reduce-scatter.
  const RankProgram& own = program.programs[0];
  const auto scattered = collective_bytes(own, coll::Collective::kReduceScatter, Category::kCommData);
  const auto reduced = collective_bytes(own, coll::Collective::kAllReduce, Category::kCommData);
  ASSERT_EQ(scattered.size(), reduced.size());
  for (std::size_t i = 0; i < scattered.size(); ++i) EXPECT_EQ(reduced[i], scattered[i] / 4);
}

// Megatron's default order: the expert grid has the same ranks as the dense one (models/workloads §2.8). Eight ranks, tensor 2,
// data 4, experts over 4 ranks without tensor parallelism: expert groups of neighbours.
TEST(GroupSlotsTest, ExpertsHaveAGridOfTheirOwn) {
  TrainingSetup setup = ep4();
  setup.framework = "megatron";
  setup.plan.data_parallelism = DataParallelism::kMegatron;
  setup.plan.tensor = 2;
  setup.plan.sequence_parallel = true;
  setup.plan.expert_tensor = 1;
  const Program program = program_of(setup);
  const GroupSlots slots{setup.plan, false};
  EXPECT_FALSE(slots.has(GroupSlot::kExpertTensor));
  const ProgramRank& rank = program.ranks[5];
  EXPECT_EQ(program.groups[rank.groups[slots.index(GroupSlot::kExpert)]].ranks, (std::vector<Rank>{4, 5, 6, 7}));
  EXPECT_EQ(program.groups[rank.groups[slots.index(GroupSlot::kExpertData)]].ranks, (std::vector<Rank>{1, 5}));
  EXPECT_EQ(program.groups[rank.groups[slots.index(GroupSlot::kTensor)]].ranks, (std::vector<Rank>{4, 5}));
}

// Two tensor ranks of each expert gather what both were sent, T k h w x 2, and scatter the results.
TEST(GroupSlotsTest, ExpertTensorRanksGatherAndScatterTheTokensSent) {
  TrainingSetup setup = ep4();
  setup.framework = "megatron";
  setup.plan.data_parallelism = DataParallelism::kNone;
  setup.plan.tensor = 2;
  setup.plan.sequence_parallel = true;
  const Program program = program_of(setup);
  const std::int64_t sent = std::int64_t{4096} / 2 * 2 * 4096 * 2;  // T / t tokens, two copies, h, bf16
  const RankProgram& own = program.programs[0];
  std::int64_t gathers = 0;
  for (const Operation& op : own.operations) {
    if (own.names[op.name] != "all-gather tokens") continue;
    EXPECT_EQ(op.bytes, Bytes{2 * sent});
    ++gathers;
  }
  EXPECT_EQ(gathers, 4 * 2);  // four layers, forward and backward
  EXPECT_EQ(named(own, "reduce-scatter tokens"), 4 * 2);
}

}  // namespace
}  // namespace weft::work::test
