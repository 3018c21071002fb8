// All-to-allv: every pair of ranks has a size of its own.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/costs.h"
#include "sim/collectives/runner.h"
#include "sim/collectives/verifier.h"
#include "sim/network/builtin.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::Group;

std::vector<std::string> exchanges() {
  std::vector<std::string> names;
  for (const std::string_view name : algorithms().names()) {
    if (make_algorithm(name)->supports(Collective::kAllToAll)) names.emplace_back(name);
  }
  return names;
}

// A third of the pairs have nothing, a third a few bytes, a third up to 40,000.
std::shared_ptr<const PairSizes> random_sizes(int ranks, std::uint64_t seed) {
  std::uint64_t state = seed;
  const auto next = [&] { return state = state * 6364136223846793005U + 1442695040888963407U, (state >> 33) % 120'000; };
  std::vector<std::int64_t> bytes;
  for (int pair = 0; pair < ranks * ranks; ++pair) {
    const auto draw = static_cast<std::int64_t>(next());
    bytes.push_back(draw < 40'000 ? 0 : draw < 80'000 ? draw % 37 : draw - 80'000);
  }
  return std::make_shared<const PairSizes>(ranks, std::move(bytes));
}

TEST(AllToAllvTest, EveryByteOfEveryPairArrivesOnceAtItsPlace) {
  ASSERT_GE(exchanges().size(), 6U);
  for (const std::string& name : exchanges()) {
    for (int ranks = 1; ranks <= 17; ++ranks) {
      for (const int channels : {1, 4}) {
        const Group group{ranks, channels};
        const CollectiveCall call = all_to_allv(random_sizes(ranks, static_cast<std::uint64_t>(ranks * 10 + channels)));
        const Choice choice{.algorithm = name, .channels = channels, .chunk = 4_KiB, .channels_per_transfer = 2};
        const auto schedule = make_algorithm(name)->plan(group.communicator(), call, choice);
        EXPECT_EQ(verify(*schedule, call).value_or("none"), "none") << name << " on " << ranks << " ranks";
      }
    }
  }
}

TEST(AllToAllvTest, NodesOfSeveralSizesRelayEveryPair) {
  for (const std::string& name : exchanges()) {
    const Group group{std::vector<int>{4, 4, 4}, 2};
    const CollectiveCall call = all_to_allv(random_sizes(12, 7));
    const Choice choice{.algorithm = name, .channels = 2, .chunk = 4_KiB};
    const auto schedule = make_algorithm(name)->plan(group.communicator(), call, choice);
    EXPECT_EQ(verify(*schedule, call).value_or("none"), "none") << name;
  }
}

// Rank 0 alone sends, to rank 1 alone.
TEST(AllToAllvTest, APairOfNoBytesSendsNoMessage) {
  for (const std::string& name : exchanges()) {
    std::vector<std::int64_t> bytes(25, 0);
    bytes[1] = 1000;
    const Group group{5};
    const CollectiveCall call = all_to_allv(std::make_shared<const PairSizes>(5, bytes));
    const auto schedule = make_algorithm(name)->plan(group.communicator(), call, {.algorithm = name});
    int sent = 0;
    for (Rank rank = 0; rank < 5; ++rank) {
      for (int lane = 0; lane < schedule->lanes(rank, 0); ++lane) {
        for (std::int64_t i = 0; i < schedule->step_count(rank, 0, lane); ++i)
          sent += schedule->step(rank, 0, lane, i).send_to.size();
      }
    }
    EXPECT_EQ(sent, 1) << name;
  }
}

TEST(AllToAllvTest, FluidFlowsNameEveryPairThatHasBytesOnce) {
  for (const std::string& name : exchanges()) {
    const auto sizes = random_sizes(9, 3);
    const Group group{9, 4};
    const auto schedule = make_algorithm(name)->plan(group.communicator(), all_to_allv(sizes),
                                                     {.algorithm = name, .channels = 4, .channels_per_transfer = 2});
    if (!schedule->has_fluid_flows()) continue;
    std::vector<std::int64_t> moved(81, 0);
    for (std::int64_t i = 0; i < schedule->fluid_flow_count(); ++i) {
      const FluidFlow flow = schedule->fluid_flow(i);
      EXPECT_GT(flow.bytes, 0_B);
      for (const FluidEdge& edge : flow.edges) moved[static_cast<std::size_t>(edge.from * 9 + edge.to)] += flow.bytes.count();
    }
    for (Rank from = 0; from < 9; ++from) {
      for (Rank to = 0; to < 9; ++to)
        EXPECT_EQ(moved[static_cast<std::size_t>(from * 9 + to)], from == to ? 0 : sizes->bytes(from, to)) << name;
    }
  }
}

CollectiveResult run(const net::Topology& topology, const CollectiveCall& call, const std::string& algorithm) {
  ParamGroups groups = collective_param_groups();
  for (const auto& group : net::network_param_groups()) groups.push_back(group);
  net::Machine machine{topology, "ecmp", 1};
  CollectiveRunner runner{machine, Profile::defaults(groups), topology.endpoints()};
  RunOptions options;
  options.algorithm = algorithm;
  options.iterations = 3;
  return runner.run(call, options);
}

std::shared_ptr<const PairSizes> alike(int ranks, std::int64_t bytes) {
  return std::make_shared<const PairSizes>(
      ranks, std::vector<std::int64_t>(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks), bytes));
}

TEST(AllToAllvTest, EqualSizesTakeTheTimeOfAnAllToAll) {
  const net::Topology topology = weft::testing::nvlink_star(4, 400_GBps, 500_ns);
  std::vector<std::string> names = exchanges();
  names.emplace_back();  // NCCL's choice
  for (const std::string& name : names) {
    if (name == "nccl_copy_engine") continue;  // has no sizes by pair
    for (const std::int64_t each : {1024, 65536, 4 << 20}) {
      const CollectiveResult even =
          run(topology, {.kind = Collective::kAllToAll, .bytes = Bytes{4 * each}, .element_size = 1}, name);
      const CollectiveResult by_pair = run(topology, all_to_allv(alike(4, each)), name);
      EXPECT_EQ(by_pair.time, even.time) << name << ' ' << each;
      EXPECT_EQ(by_pair.digest, even.digest) << name << ' ' << each;
      EXPECT_EQ(by_pair.sizes.reported, even.sizes.reported);
    }
  }
}

// 1 GB/s and 1 us a link, host to switch to host. Rank 0 has 3 MB for each of three, the others 1 MB for rank 0: its port sends
// 9 MB, and 9 us of 1 kB is all that a byte more takes.
TEST(AllToAllvTest, TheHeaviestRankIsWaitedFor) {
  const net::Topology topology = weft::testing::star(4, 1_GBps, 1_us);
  std::vector<std::int64_t> bytes(16, 0);
  for (const std::size_t to : {1U, 2U, 3U}) {
    bytes[to] = 3'000'000;
    bytes[4 * to] = 1'000'000;
  }
  EXPECT_EQ(run(topology, all_to_allv(std::make_shared<const PairSizes>(4, bytes)), "direct").device, 9_ms + 2_us);
  for (const std::size_t to : {1U, 2U, 3U}) bytes[to] = 3'003'000;
  EXPECT_EQ(run(topology, all_to_allv(std::make_shared<const PairSizes>(4, bytes)), "direct").device, 9_ms + 11_us);
}

// Rank 0 sends 5 and 7 bytes and keeps 3, rank 1 sends none: 15 leave, and 7 at most come in.
TEST(AllToAllvTest, ItsSizeIsThatOfTheHeaviestRank) {
  const auto pairs = std::make_shared<const PairSizes>(3, std::vector<std::int64_t>{3, 5, 7, 0, 0, 0, 0, 0, 0});
  const CallSizes sizes = sizes_of(all_to_allv(pairs), 3);
  EXPECT_EQ(sizes.input, 15_B);
  EXPECT_EQ(sizes.output, 7_B);
  EXPECT_EQ(sizes.reported, 15_B);
  EXPECT_EQ(pairs->input_offset(0, 2), 8);
  EXPECT_EQ(pairs->output_offset(0, 2), 0);
  EXPECT_FALSE(pairs->is_even());
}

}  // namespace
}  // namespace weft::coll
