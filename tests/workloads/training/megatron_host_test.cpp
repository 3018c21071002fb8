// The host of layers of experts under Megatron-LM: operators by what is counted in its sources, and one wait a layer.
// layer.
#include <gtest/gtest.h>

#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

// Four layers of experts, two of eight on each of four ranks, one microbatch.
TrainingSetup experts_under_megatron() {
  TrainingSetup setup = ep4();
  setup.framework = "megatron";
  return setup;
}

// Operators' time of a rank's step, a layer.
double operators_a_layer(const TrainingSetup& setup) {
  const Program program = program_of(setup);
  Duration sum;
  for (const Operation& op : program.programs.front().operations) {
    if (op.kind == OpKind::kHostDelay) sum += op.duration;
  }
  return sum.seconds() / kernel_times().host_operator().seconds() / static_cast<double>(setup.model.layers);
}
std::int64_t waits_of_host(const TrainingSetup& setup) {
  const Program program = program_of(setup);
  return count_of(program.programs.front(), [](const Operation& op) { return op.kind == OpKind::kHostSync; });
}

// Two grouped products: an expert's share is a view and a product forward; backward a view and a product for the input, and a
// product, a stand-in and a hook for the weight. Two casts more forward and one backward in low precision.
TEST(MegatronHostTest, EveryExpertCostsItsOwnOperators) {
  TrainingSetup setup = experts_under_megatron();
  const double two = operators_a_layer(setup);
  setup.model.moe.experts = 16;
  EXPECT_NEAR(operators_a_layer(setup) - two, 2 * 2 * (2 + 2 + 3), 1e-9) << "two experts more";
  setup.model.moe.experts = 8;
  setup.precision.compute = Precision::kFp8;
  EXPECT_NEAR(operators_a_layer(setup) - two, 2 * 2 * (2 + 1), 1e-9);
}

TEST(MegatronHostTest, TheHostWaitsForCountsOfTokensOnceALayer) {
  TrainingSetup setup = experts_under_megatron();
  EXPECT_EQ(waits_of_host(setup), setup.model.layers);
  setup.expert_load.capacity_factor = 1.0;
  EXPECT_EQ(waits_of_host(setup), 0) << "shapes are known";
}

TEST(MegatronHostTest, GraphsTakeTheirPartOver) {
  TrainingSetup setup = experts_under_megatron();
  const double all = operators_a_layer(setup);
  setup.graphs.router = true;
  // Router and counts: 14 and 14 forward, 6 backward; each is one call then.
  EXPECT_NEAR(all - operators_a_layer(setup), 14 + 14 + 6 - 2, 1e-9);
  setup.graphs = {};
  const auto launches = [&] {
    const Program program = program_of(setup);
    return count_of(program.programs.front(), [](const Operation& op) { return op.kind == OpKind::kKernel && op.launched; });
  };
  const std::int64_t apart = launches();
  setup.graphs.attention = true;
  EXPECT_LT(operators_a_layer(setup), all);
  EXPECT_LT(launches(), apart - 4 * 2 * 5) << "of each layer's pass one of six or more is left";
  setup.graphs = {};
  setup.cuda_graph = true;
  EXPECT_DOUBLE_EQ(operators_a_layer(setup), 0);
  EXPECT_EQ(waits_of_host(setup), 0);
}

TEST(MegatronHostTest, DenseLayersAndOtherFrameworksPayLaunchesOnly) {
  TrainingSetup setup = experts_under_megatron();
  setup.framework = "pytorch_compile";
  EXPECT_DOUBLE_EQ(operators_a_layer(setup), 0);
  setup = experts_under_megatron();
  setup.model.moe = {};
  setup.plan.expert = 1;
  EXPECT_DOUBLE_EQ(operators_a_layer(setup), 0);
  EXPECT_EQ(waits_of_host(setup), 0);
}

}  // namespace
}  // namespace weft::work::test
