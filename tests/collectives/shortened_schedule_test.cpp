// Calls told by runs of fewer loops and hops: what such schedules keep, and that the weighted runs are the whole.
#include "sim/collectives/shortened_schedule.h"

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/collectives/executor.h"
#include "sim/collectives/runner.h"
#include "sim/network/builtin.h"
#include "tests/support/schedules.h"
#include "tests/support/topologies.h"

namespace weft::coll {
namespace {

using namespace literals;

std::shared_ptr<const Schedule> plan(const Communicator& communicator, Collective kind, Bytes bytes, const Choice& choice) {
  return make_algorithm(choice.algorithm)->plan(communicator, testing::call(kind, bytes), choice);
}

std::int64_t steps(const Schedule& schedule) { return static_cast<std::int64_t>(Executor::count_messages(schedule, ~0ull)); }

std::int64_t bytes_sent(const Schedule& schedule) {
  std::int64_t sum = 0;
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (int channel = 0; channel < schedule.channels(); ++channel) {
      for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) {
        for (std::int64_t i = 0; i < schedule.step_count(rank, channel, lane); ++i) {
          const Step step = schedule.step(rank, channel, lane, i);
          sum += step.send_to.size() * step.bytes.count();
        }
      }
    }
  }
  return sum;
}

// A chain of two ranks in chunks of 1 MiB: 10.5 MiB are eleven loops, the last of them half as large.
TEST(ShortenedScheduleTest, KeepsTheFirstLoopsAndTheLast) {
  const testing::Group group{2};
  const auto whole = plan(group.communicator(), Collective::kBroadcast, 10_MiB + 512_KiB,
                          {.algorithm = "ring", .protocol = "Simple", .chunk = 1_MiB});
  ASSERT_EQ(fewest_loops(*whole), 11);
  const auto shorter = without_loops(whole, 8);
  ASSERT_EQ(shorter->step_count(0, 0, 0), 3);
  EXPECT_EQ(shorter->step(0, 0, 0, 0).source.offset, 0);
  EXPECT_EQ(shorter->step(0, 0, 0, 1).source.offset, 1 << 20);
  EXPECT_EQ(shorter->step(0, 0, 0, 2).source.offset, 10 << 20);
  EXPECT_EQ(shorter->step(0, 0, 0, 2).bytes, 512_KiB);
}

// An all-reduce of 8 ranks: send, six recvReduceSend, recvReduceCopySend, six recvCopySend, recv; with two hops of each kind.
TEST(ShortenedScheduleTest, ARingOfFewerHopsHasTheSameKindsOfSteps) {
  const testing::Group group{8};
  const auto whole =
      plan(group.communicator(), Collective::kAllReduce, 8_MiB, {.algorithm = "ring", .protocol = "Simple", .chunk = 1_MiB});
  ASSERT_EQ(whole->hops(), 6);
  const std::shared_ptr<const Schedule> shorter = whole->with_hops(2);
  ASSERT_EQ(whole->step_count(0, 0, 0), 15);
  ASSERT_EQ(shorter->step_count(0, 0, 0), 7);
  const std::vector<std::int64_t> kept{0, 1, 2, 7, 8, 9, 14};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Step step = shorter->step(3, 0, 0, static_cast<std::int64_t>(i));
    const Step same = whole->step(3, 0, 0, kept[i]);
    EXPECT_EQ(step.use_source, same.use_source) << i;
    EXPECT_EQ(step.store, same.store) << i;
    EXPECT_EQ(step.receive_from, same.receive_from) << i;
    EXPECT_EQ(step.send_to, same.send_to) << i;
  }
}

struct SampledCase {
  std::string algorithm;
  Collective kind;
  int ranks;
  Bytes bytes;
  Bytes chunk;
  std::uint64_t budget;  // steps
};
void PrintTo(const SampledCase& c, std::ostream* out) { *out << c.algorithm << ' ' << to_string(c.kind) << ' ' << c.ranks; }

// Loops alone (trees, chains, rings of few ranks, transfers), and hops with one loop and with several.
const std::vector<SampledCase>& sampled_cases() {
  static const std::vector<SampledCase> cases{
      {"tree", Collective::kAllReduce, 8, 300_MiB, 256_KiB, 10'000},
      {"ring", Collective::kBroadcast, 8, 300_MiB, 256_KiB, 5'000},
      {"ring", Collective::kReduce, 8, 300_MiB, 256_KiB, 5'000},
      {"ring", Collective::kAllReduce, 4, 300_MiB, 256_KiB, 1'000},
      {"ring", Collective::kAllGather, 4, 300_MiB, 256_KiB, 1'000},
      {"ring", Collective::kReduceScatter, 64, 64_MiB, 256_KiB, 12'000},
      {"ring", Collective::kAllReduce, 64, 64_MiB, 256_KiB, 40'000},
      {"ring", Collective::kAllReduce, 64, 256_MiB, 256_KiB, 40'000},
      {"nccl_p2p", Collective::kSendRecv, 8, 300_MiB, 256_KiB, 3'000},
      {"nccl_p2p", Collective::kAllToAll, 8, 300_MiB, 256_KiB, 12'000},
  };
  return cases;
}

class SampledTest : public ::testing::TestWithParam<SampledCase> {
 protected:
  [[nodiscard]] static Choice choice() {
    return {.algorithm = GetParam().algorithm, .protocol = "Simple", .channels = 2, .chunk = GetParam().chunk};
  }
};

TEST_P(SampledTest, RunsOfFewStepsAddUpToAllStepsAndBytes) {
  const SampledCase& c = GetParam();
  const testing::Group group{c.ranks, 2};
  const auto whole = plan(group.communicator(), c.kind, c.bytes, choice());
  const std::vector<Sample> samples = samples_of(whole, c.budget);
  ASSERT_FALSE(samples.empty());
  std::int64_t all_steps = 0;
  std::int64_t all_bytes = 0;
  std::int64_t simulated = 0;
  for (const Sample& sample : samples) {
    all_steps += sample.weight * steps(*sample.schedule);
    all_bytes += sample.weight * bytes_sent(*sample.schedule);
    simulated += steps(*sample.schedule);
  }
  EXPECT_EQ(all_steps, steps(*whole));
  EXPECT_EQ(all_bytes, bytes_sent(*whole));
  EXPECT_LE(simulated, static_cast<std::int64_t>(c.budget) * 11 / 10);
  EXPECT_LT(simulated, steps(*whole));
}

// On one switch of 50 GB/s, with slices, slots and a thread block's rate; nothing drifts, so that pipelines settle exactly.
TEST_P(SampledTest, AndToTheTimeOfAll) {
  const SampledCase& c = GetParam();
  const StepCosts costs{.hop = {1_us, 1_us, 1_us}, .slice = 500_ns, .rate = 20_GBps, .slots = 8, .rendezvous = false};
  const net::Topology topology = testing::star(c.ranks, 50_GBps, 1_us);
  net::Machine machine{topology, "spray", 1};
  const Communicator communicator{topology, topology.endpoints(), rank_order_rings(c.ranks, 2)};
  Executor executor{machine.simulator, machine.fabric, machine.router, communicator};
  struct Done final : ExecutorListener {
    void on_collective_done(Time t) override { at = t; }
    Time at;
  };
  const auto time_of = [&](const Schedule& schedule) {
    Done done;
    const Time begin = machine.simulator.now();
    executor.start(schedule, costs, Grain::kChunk, done);
    machine.simulator.run();
    return (done.at - begin).us();
  };
  const auto whole = plan(communicator, c.kind, c.bytes, choice());
  double told = 0;
  for (const Sample& sample : samples_of(whole, c.budget))
    told += static_cast<double>(sample.weight) * time_of(*sample.schedule);
  const double all = time_of(*whole);
  EXPECT_NEAR(told, all, 0.01 * all);
}
INSTANTIATE_TEST_SUITE_P(Cases, SampledTest, ::testing::ValuesIn(sampled_cases()),
                         [](const auto& tested) { return "case" + std::to_string(tested.index); });

// A tree of 8 nodes is three links deep at the least: six hops up and down, and five loops do not fill it.
TEST(ShortenedScheduleTest, TooFewLoopsForThePipelineAreNoSample) {
  const testing::Group group{8};
  const auto tree = plan(group.communicator(), Collective::kAllReduce, 300_MiB,
                         {.algorithm = "tree", .protocol = "Simple", .chunk = 256_KiB});
  const std::int64_t of_loop = steps(*tree) / 1200;
  // Five times the budget may go into what a pipeline needs.
  EXPECT_TRUE(samples_of(tree, static_cast<std::uint64_t>(5 * of_loop)).empty());
  EXPECT_FALSE(samples_of(tree, static_cast<std::uint64_t>(5 * 100 * of_loop)).empty());
}

class AutoGrainTest : public ::testing::TestWithParam<Collective> {
 protected:
  AutoGrainTest() : topology_{testing::star(8, 50_GBps, 1_us)} {}
  struct Outcome {
    CollectiveResult result;
    std::vector<double> bytes;  // of each link
    Time now;
  };
  [[nodiscard]] Outcome run(Grain grain) const {
    ParamGroups groups = collective_param_groups();
    for (const auto& group : net::network_param_groups()) groups.push_back(group);
    const Profile profile = Profile::defaults(groups);
    net::Machine machine{topology_, "spray", 1};
    CollectiveRunner runner{machine, profile, topology_.endpoints()};
    RunOptions options;
    options.algorithm = "ring";
    options.channels = 2;
    options.grain = grain;
    options.chunk_messages = 3'000;
    options.iterations = 1;
    Outcome outcome{.result = runner.run({.kind = GetParam(), .bytes = 1_GiB}, options), .bytes = {}, .now = {}};
    for (std::size_t i = 0; i < topology_.link_count(); ++i)
      outcome.bytes.push_back(machine.fabric.counters(ResourceId::from_index(i)).bytes);
    outcome.now = machine.simulator.now();
    return outcome;
  }
  net::Topology topology_;
};

TEST_P(AutoGrainTest, ACallOfManyMessagesTakesAsLongAndLoadsLinksAsAllItsMessagesDo) {
  const Outcome all = run(Grain::kChunk);
  const Outcome told = run(Grain::kAuto);
  EXPECT_EQ(told.result.grain, Grain::kChunk);
  EXPECT_LT(told.result.messages, all.result.messages);
  EXPECT_NEAR(told.result.time.us(), all.result.time.us(), 0.01 * all.result.time.us());
  EXPECT_EQ(told.now, Time{} + told.result.device);
  for (std::size_t i = 0; i < all.bytes.size(); ++i) EXPECT_DOUBLE_EQ(told.bytes[i], all.bytes[i]) << i;
}
INSTANTIATE_TEST_SUITE_P(Kinds, AutoGrainTest,
                         ::testing::Values(Collective::kAllReduce, Collective::kAllGather, Collective::kBroadcast));

}  // namespace
}  // namespace weft::coll
