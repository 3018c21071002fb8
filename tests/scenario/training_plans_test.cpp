// Every training step obeys these, whatever the model, the plan and the cluster: random plans, run whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "sim/core/error.h"
#include "sim/scenario/program_run.h"
#include "sim/workloads/training/training.h"
#include "tests/workloads/training/random_plans.h"

namespace weft::scenario {
namespace {

using work::test::describe;
using work::test::random_setup;

// Hosts of 8 H100 on a fabric of this rate, enough for the plan.
net::Cluster cluster_for(int gpus, const std::string& rate) {
  Diagnostics diagnostics;
  Overrides overrides;
  overrides.sets = {{"nodes", std::to_string(std::max(1, (gpus + 7) / 8))}, {"fabric.link.rate", rate}};
  net::Cluster cluster =
      load_cluster(std::string{WEFT_SOURCE_DIR} + "/configs/clusters/dgx_h100_superpod.yaml", overrides, diagnostics);
  diagnostics.throw_if_any();
  return cluster;
}

struct Outcome {
  Duration iteration;
  Duration least;  // what the busiest rank's compute stream takes alone
  std::uint64_t operations = 0;
  std::uint64_t expected = 0;
};

Outcome run(const work::TrainingSetup& setup, const std::string& rate) {
  const net::Cluster cluster = cluster_for(setup.plan.world(), rate);
  const work::KernelTimes times{work::gpu_spec("h100_sxm"), cluster.profile};
  const work::Program program = work::training_program(setup, times, cluster.topology, true);
  ProgramRunOptions options;
  options.iterations = 1;
  options.sustained_clocks = false;
  const ProgramRunResult result = run_program(cluster, program, options);
  Outcome outcome;
  outcome.iteration = result.replay.iterations.at(0);
  outcome.operations = result.replay.operations;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    if (program.ranks[r].leader != static_cast<Rank>(r)) continue;
    const work::RankProgram& own = program.program_of(static_cast<Rank>(r));
    outcome.expected += own.operations.size();
    std::vector<Duration> by_stream(own.streams.size());
    for (const work::Operation& op : own.operations) {
      if (op.kind == work::OpKind::kKernel) by_stream[op.stream] += op.duration;
    }
    outcome.least = std::max(outcome.least, *std::ranges::max_element(by_stream));
  }
  return outcome;
}

constexpr std::uint64_t kSeeds = 40;  // of a shard; about half of them make a valid plan

class TrainingPlansTest : public ::testing::TestWithParam<std::uint64_t> {};

// No deadlock (run_program throws), nothing lost (conservation is checked), no faster than compute, no slower on faster links.
TEST_P(TrainingPlansTest, EveryValidPlanRuns) {
  int checked = 0;
  for (std::uint64_t seed = GetParam() * kSeeds; seed < (GetParam() + 1) * kSeeds; ++seed) {
    const work::TrainingSetup setup = random_setup(seed);
    if (!work::training_refusal(setup).empty()) continue;
    ++checked;
    SCOPED_TRACE(describe(setup) + " seed " + std::to_string(seed));
    const Outcome fast = run(setup, "400 Gb/s");
    ASSERT_EQ(fast.operations, fast.expected);
    ASSERT_GE(fast.iteration, fast.least);
    if (setup.plan.world() <= 8) continue;  // the fabric is not used
    const Outcome slow = run(setup, "100 Gb/s");
    // Contention on a GPU shifts with the end of a collective, which may cost or gain a kernel's worth either way.
    ASSERT_GE(slow.iteration.seconds(), fast.iteration.seconds() * 0.98);
  }
  EXPECT_GE(checked, 12);
}

// 30 shards are over 500 valid plans and some minutes (tools/long_checks.sh plans).
std::uint64_t shards() {
  const char* wanted = std::getenv("WEFT_PLAN_SHARDS");
  return wanted == nullptr ? 2 : std::stoull(wanted);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TrainingPlansTest, ::testing::Range<std::uint64_t>(0, shards()));

}  // namespace
}  // namespace weft::scenario
