// Kernels that nobody sees end, run ahead of and with an event each: programs drawn at random come out the same.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/core/random.h"
#include "sim/network/builtin.h"
#include "sim/workloads/replay/replayer.h"
#include "tests/support/topologies.h"
#include "tests/workloads/replay/replay_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

constexpr int kRanks = 4;

// Ranks do what the draw says in one order that all of them keep to, and wait for what came before: nothing can deadlock.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, const net::Topology& topology) : random_{seed, "random program"} {
    program_.groups = {
        {.name = "all", .ranks = {0, 1, 2, 3}}, {.name = "low", .ranks = {0, 1}}, {.name = "high", .ranks = {2, 3}}};
    for (Rank r = 0; r < kRanks; ++r) {
      program_.programs.emplace_back();
      program_.programs.back().names = {"op"};
      program_.programs.back().streams = {"compute", "collectives", "messages", "beside"};
      program_.ranks.push_back({.program = static_cast<std::uint32_t>(r),
                                .groups = {0, static_cast<std::uint32_t>(r < 2 ? 1 : 2)},
                                .peers = {0, 1, 2, 3},
                                .leader = r});
      program_.devices.push_back(topology.endpoints()[static_cast<std::size_t>(r)]);
    }
    const int steps = 40 + static_cast<int>(random_.below(80));
    for (int i = 0; i < steps; ++i) add_something();
  }
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  Bytes size() { return Bytes{random_.between(1, 2'000'000)}; }

  // With a wait or two for what the rank was told before.
  void add(Rank rank, Operation op) {
    RankProgram& its = program_.programs[static_cast<std::size_t>(rank)];
    op.first_wait = static_cast<std::uint32_t>(its.waits.size());
    const std::size_t before = its.operations.size();
    const std::uint64_t waits = before == 0 || random_.chance(0.6) ? 0 : 1 + random_.below(2);
    for (std::uint64_t i = 0; i < waits; ++i) {
      const std::uint64_t back = 1 + random_.below(std::min<std::uint64_t>(before, 8));
      its.waits.push_back(static_cast<OpIndex>(before - back));
    }
    op.wait_count = static_cast<std::uint16_t>(waits);
    its.operations.push_back(op);
    if (random_.chance(0.3)) its.memory.push_back({static_cast<OpIndex>(before), random_.between(-1000, 1000)});
  }

  void add_kernel(Rank rank) {
    Operation op{.duration = Duration::from_ps(random_.between(0, 200'000'000)), .category = Category::kOtherCompute};
    if (random_.chance(0.05)) op.duration = {};
    if (random_.chance(0.4)) {
      op.category = random_.chance(0.7) ? Category::kGemm : Category::kAttention;
      op.fills_gpu = op.category == Category::kGemm && random_.chance(0.7);
      op.weight_gradient = op.fills_gpu && random_.chance(0.3);
    }
    op.fills_memory = random_.chance(0.2);
    if (random_.chance(0.15)) op.stream = 3;
    add(rank, op);
  }

  void add_something() {
    const auto rank = static_cast<Rank>(random_.below(kRanks));
    switch (random_.below(8)) {
      case 0: {
        const auto slot = static_cast<std::uint16_t>(random_.below(2));
        const Operation op{
            .bytes = size(), .slot = slot, .stream = 1, .kind = OpKind::kCollective, .category = Category::kCommTensor};
        const Group& group = program_.groups[program_.ranks[static_cast<std::size_t>(rank)].groups[slot]];
        for (const Rank member : group.ranks) add(member, op);
        break;
      }
      case 1: {
        const auto peer = static_cast<Rank>((rank + 1 + static_cast<Rank>(random_.below(kRanks - 1))) % kRanks);
        Operation op{.bytes = size(),
                     .slot = static_cast<std::uint16_t>(peer),
                     .stream = 2,
                     .kind = OpKind::kSend,
                     .category = Category::kCommPipeline};
        add(rank, op);
        op.slot = static_cast<std::uint16_t>(rank);
        op.kind = OpKind::kReceive;
        add(peer, op);
        break;
      }
      case 2:
        if (random_.chance(0.3)) {
          add(rank, {.duration = 5_us,
                     .kind = random_.chance(0.5) ? OpKind::kHostSync : OpKind::kHostDelay,
                     .category = Category::kHost});
        } else {
          add(rank, {.kind = OpKind::kMarker});
        }
        break;
      default:
        for (std::uint64_t i = random_.below(6); i-- > 0;) add_kernel(rank);
    }
  }

  RandomStream random_;
  Program program_;
};

struct Outcome {
  ReplayResult result;
  std::uint64_t events = 0;
};

Outcome run(const net::Topology& topology, const Profile& profile, const Program& program, ReplayOptions options,
            bool run_ahead) {
  options.run_ahead = run_ahead;
  net::Machine machine{topology, "ecmp", 1, 0};
  GroupCosts costs{topology, "ecmp", 1, profile, {}};
  net::LaunchTimings launch;
  launch.host_cost = 7_us;
  Replayer replayer{machine, program, costs, launch, options};
  replayer.start();
  machine.simulator.run();
  replayer.check_finished();
  machine.fabric.check_conservation();
  return {replayer.result(), machine.simulator.events()};
}

TEST(RunAheadTest, RandomProgramsComeOutTheSame) {
  const net::Topology topology = weft::testing::star(kRanks, 100_Gbps, 1_us);
  const Profile profile = Profile::defaults(groups());
  std::uint64_t ahead_events = 0;
  std::uint64_t all_events = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const RandomProgram random{seed, topology};
    ReplayOptions options;
    options.iterations = 1 + static_cast<int>(seed % 3);
    options.seed = seed;
    options.jitter.rank = 0.01;
    if (seed % 2 == 0) options.jitter.kernel = 0.05;
    const Outcome ahead = run(topology, profile, random.program(), options, true);
    const Outcome all = run(topology, profile, random.program(), options, false);
    ahead_events += ahead.events;
    all_events += all.events;
    ASSERT_EQ(ahead.result.digest, all.result.digest);
    ASSERT_EQ(ahead.result.iterations, all.result.iterations);
    ASSERT_EQ(ahead.result.operations, all.result.operations);
    ASSERT_EQ(ahead.result.critical.size(), all.result.critical.size());
    for (std::size_t i = 0; i < all.result.critical.size(); ++i) {
      EXPECT_EQ(ahead.result.critical[i].rank, all.result.critical[i].rank);
      EXPECT_EQ(ahead.result.critical[i].op, all.result.critical[i].op);
    }
    for (std::size_t r = 0; r < kRanks; ++r) {
      const RankResult& its = ahead.result.ranks[r];
      const RankResult& expected = all.result.ranks[r];
      EXPECT_EQ(its.peak_bytes, expected.peak_bytes);
      EXPECT_EQ(its.last.compute, expected.last.compute);
      EXPECT_EQ(its.last.tensor, expected.last.tensor);
      EXPECT_EQ(its.last.tensor_beside, expected.last.tensor_beside);
      EXPECT_EQ(its.last.skew, expected.last.skew);
      EXPECT_EQ(its.last.bubble, expected.last.bubble);
      EXPECT_EQ(its.last.idle, expected.last.idle);
      EXPECT_EQ(its.last.busy, expected.last.busy);
      EXPECT_EQ(its.last.exposed, expected.last.exposed);
    }
  }
  EXPECT_LT(ahead_events, all_events) << "some kernels have run ahead";
}

// The first of ten kernels in a row waits for its launch and ends with an event of its own; the others take one together.
TEST(RunAheadTest, KernelsInARowTakeOneEvent) {
  const net::Topology topology = weft::testing::star(kRanks, 100_Gbps, 1_us);
  const Profile profile = Profile::defaults(groups());
  Program program;
  program.programs.emplace_back();
  program.programs.back().names = {"op"};
  program.programs.back().streams = {"compute"};
  for (int i = 0; i < 10; ++i) program.programs.back().operations.push_back({.duration = 100_us});
  program.ranks.push_back({.program = 0, .groups = {}, .peers = {}, .leader = 0});
  program.devices.push_back(topology.endpoints().front());
  ReplayOptions options;
  options.start = Time{} + 1_us;
  const Outcome ahead = run(topology, profile, program, options, true);
  const Outcome all = run(topology, profile, program, options, false);
  EXPECT_EQ(ahead.result.digest, all.result.digest);
  EXPECT_EQ(ahead.result.iterations.front(), 7_us + 1000_us);
  EXPECT_EQ(all.events - ahead.events, 8U);
}

}  // namespace
}  // namespace weft::work::test
