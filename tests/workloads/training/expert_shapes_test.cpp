// Tokens and messages of routed experts on one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/workloads/kernels/experts.h"
#include "sim/workloads/model/memory.h"
#include "sim/workloads/training/stage_model.h"
#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

// 4,096 tokens a rank, two of eight experts each, over four ranks.
TrainingSetup mixture() {
  TrainingSetup setup = ep4();
  setup.framework = "megatron";
  return setup;
}

TEST(ExpertShapesTest, APowerLawGivesTheBusiestRanksLoad) {
  TrainingSetup setup = mixture();
  EXPECT_EQ(ExpertShapes{setup}.sent, 4096 * 2);
  setup.expert_load.power_law = 1.0;
  const double busiest = heaviest_expert_load(4 * 4096, 2, 8, 4, 1.0).rows;  // of 4 x 4096 x 2 visits
  EXPECT_GT(busiest, 4096 * 2);
  EXPECT_NEAR(static_cast<double>(ExpertShapes{setup}.sent), busiest, 1.0);
  setup.plan.expert = 1;  // one rank has all of them
  EXPECT_EQ(ExpertShapes{setup}.sent, 4096 * 2);
}

TEST(ExpertShapesTest, ARanksRowsGrowWithImbalanceAndCapacity) {
  TrainingSetup setup = mixture();
  EXPECT_DOUBLE_EQ(ExpertShapes{setup}.load(), 1);
  setup.expert_load.imbalance = 1.5;
  EXPECT_DOUBLE_EQ(ExpertShapes{setup}.load(), 1.5);
  setup.expert_load.imbalance = 100;  // of four ranks no one has more than all, and a searched plan may have fewer
  EXPECT_DOUBLE_EQ(ExpertShapes{setup}.load(), 4);
  setup.expert_load = {.capacity_factor = 1.25};
  EXPECT_DOUBLE_EQ(ExpertShapes{setup}.load(), 1.25);  // 8 experts x 1280 rows of 8,192
}

// A rank keeps rows of h + 3 f_e elements of two bytes and an index of four (models/workloads §1.6).
TEST(ExpertShapesTest, ActivationsGrowWithTheBusiestRanksRows) {
  TrainingSetup setup = mixture();
  const auto bytes = [&] {
    return activation_bytes(setup.model, 0, setup.plan, setup.batch, setup.precision, ExpertShapes{setup}.load());
  };
  const double even = bytes();
  const double of_experts = 4096 * 2 * (2.0 * (4096 + 3 * 4096) + 4);
  setup.expert_load.imbalance = 2;
  EXPECT_DOUBLE_EQ(bytes() - even, of_experts);
  setup.expert_load = {.capacity_factor = 0.5};
  EXPECT_DOUBLE_EQ(even - bytes(), of_experts / 2);
}

// Two picks fall on two nodes with one half each: 2 (1 - 1/4) = 1.5 nodes of a token's two copies.
TEST(ExpertShapesTest, OneCopyToANodeTravels) {
  TrainingSetup setup = mixture();
  setup.expert_nodes = 2;
  const double whole = static_cast<double>(ExpertShapes{setup}.dispatch.count());
  EXPECT_DOUBLE_EQ(whole, 2.0 * 4096 * 2 * 4096);  // bytes x tokens x copies x hidden
  setup.expert_load.dispatch = ExpertDispatch::kPerNode;
  EXPECT_NEAR(static_cast<double>(ExpertShapes{setup}.dispatch.count()), 0.75 * whole, 1.0);
  setup.model.moe.groups_per_token = 1;
  setup.expert_load.dispatch = ExpertDispatch::kAsRouted;
  EXPECT_NEAR(static_cast<double>(ExpertShapes{setup}.dispatch.count()), 0.5 * whole, 1.0);  // one node a token
  setup.expert_load.dispatch = ExpertDispatch::kPerExpert;
  EXPECT_DOUBLE_EQ(static_cast<double>(ExpertShapes{setup}.dispatch.count()), whole);
}

TEST(ExpertShapesTest, OnOneNodeEveryCopyTravels) {
  TrainingSetup setup = mixture();
  setup.expert_load.dispatch = ExpertDispatch::kPerNode;
  EXPECT_EQ(ExpertShapes{setup}.dispatch.count(), 2LL * 4096 * 2 * 4096);
}

// Megatron-LM without padding: an expert takes capacity_factor times the mean of a rank's copies, and drops the rest.
TEST(ExpertShapesTest, CapacityCutsLoadsThatAreNotPadded) {
  TrainingSetup setup = mixture();
  setup.expert_load = {.imbalance = 2, .capacity_factor = 1.25, .pads_to_capacity = false};
  EXPECT_EQ(ExpertShapes{setup}.sent, 1.25 * 4096 * 2);
  setup.expert_load.capacity_factor = 3;  // none is above it
  EXPECT_EQ(ExpertShapes{setup}.sent, 2 * 4096 * 2);
}

TEST(ExpertShapesTest, CapacityDropsTheLawsTailExpertByExpert) {
  TrainingSetup setup = mixture();
  setup.expert_load = {.power_law = 1.2, .capacity_factor = 1, .pads_to_capacity = false};
  // The busiest rank has two experts, and one of them at least is full: between a half of the mean and the mean.
  EXPECT_LE(ExpertShapes{setup}.sent, 4096 * 2);
  EXPECT_GE(ExpertShapes{setup}.sent, 4096);
  const ExpertVisits full = drawn_expert_load(setup, 4096);
  EXPECT_LT(full.kept, 1);
  // All experts together take no more than their capacity, and the busiest rank no more than all.
  EXPECT_LE(full.kept, 1.0);
  EXPECT_LE(full.rows, full.kept * 4 * 4096 * 2);
  setup.expert_load.capacity_factor = 1000;
  EXPECT_DOUBLE_EQ(drawn_expert_load(setup, 4096).kept, 1);
  EXPECT_DOUBLE_EQ(drawn_expert_load(setup, 4096).rows, heaviest_expert_load(4 * 4096, 2, 8, 4, 1.2).rows);
}

}  // namespace
}  // namespace weft::work::test
