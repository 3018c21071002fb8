#include "sim/scenario/collective_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/scenario/scenario.h"

namespace weft::scenario {
namespace {

using namespace weft::literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// `nodes` hosts of `gpus` GPUs each on a crossbar, one NIC per host, one switch between the hosts.
net::Cluster cluster(int nodes, int gpus) {
  const std::string text =
      "name: test\n"
      "nodes: " +
      std::to_string(nodes) +
      "\n"
      "node:\n"
      "  devices:\n"
      "    - {name: gpu0.." +
      std::to_string(gpus - 1) +
      ", kind: gpu}\n"
      "    - {name: nvswitch0, kind: nvswitch}\n"
      "    - {name: cpu0, kind: cpu}\n"
      "    - {name: nic0, kind: nic}\n"
      "  links:\n"
      "    - {between: [gpu0.." +
      std::to_string(gpus - 1) +
      ", nvswitch0], type: nvlink4, width: 18}\n"
      "    - {between: [gpu0.." +
      std::to_string(gpus - 1) +
      ", cpu0], type: pcie5, lanes: 16}\n"
      "    - {between: [nic0, cpu0], type: pcie5, lanes: 16}\n"
      "fabric: {type: single_switch, link: {type: ethernet, rate: 400 Gb/s, latency: 1 us}}\n";
  Diagnostics diagnostics;
  return net::load_cluster(ConfigNode::parse(text, "test.yaml"), {.profile = {}, .groups = all_param_groups()}, diagnostics);
}

std::string thrown_by(const auto& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(SweepSizesTest, MultiplyByTheFactorUpToTheLargest) {
  EXPECT_THAT(sweep_sizes({.min = 8_B, .max = 64_B, .factor = 2}), ElementsAre(8_B, 16_B, 32_B, 64_B));
  EXPECT_THAT(sweep_sizes({.min = 8_B, .max = 63_B, .factor = 2}), ElementsAre(8_B, 16_B, 32_B));
  EXPECT_EQ(sweep_sizes({.min = 8_B, .max = 4_GiB, .factor = 2}).size(), 30U);  // 2^3 to 2^32
  EXPECT_THAT(sweep_sizes({.min = 5_B, .max = 5_B, .factor = 2}), ElementsAre(5_B));
}

TEST(SweepSizesTest, AddTheStepWhereThereIsOne) {
  EXPECT_THAT(sweep_sizes({.min = 0_B, .max = 10_B, .factor = 2, .step = 4_B}), ElementsAre(0_B, 4_B, 8_B));
  EXPECT_THAT(sweep_sizes({.min = 0_B, .max = 8_B, .factor = 2, .step = 4_B}), ElementsAre(0_B, 4_B, 8_B));
}

TEST(SweepSizesTest, EndAtTheLargestNumberThereIs) {
  EXPECT_EQ(sweep_sizes({.min = 1_B, .max = Bytes::max(), .factor = 2}).size(), 63U);  // 2^0 to 2^62
}

TEST(SweepSizesTest, RefuseWhatHasNoEnd) {
  EXPECT_THAT(thrown_by([] { return sweep_sizes({.min = 8_B, .max = 4_B}); }),
              HasSubstr("the largest (4 B) is below the smallest (8 B)"));
  EXPECT_THAT(thrown_by([] { return sweep_sizes({.min = 8_B, .max = 16_B, .factor = 1}); }),
              HasSubstr("expected a factor of 2 or more, got 1"));
  EXPECT_THAT(thrown_by([] { return sweep_sizes({.min = 0_B, .max = 16_B}); }), HasSubstr("a factor never leaves 0 bytes"));
  EXPECT_THAT(thrown_by([] { return sweep_sizes({.min = 0_B, .max = 1_GiB, .step = 1_B}); }),
              HasSubstr("more than 1000000 sizes"));
}

TEST(ParticipantsTest, AreAllGpusOfAllNodesByDefault) {
  const net::Cluster made = cluster(2, 4);
  const Participants who = participants(made.topology, {});
  EXPECT_EQ(who.devices.size(), 8U);
  EXPECT_EQ(who.nodes, 2);
  EXPECT_EQ(who.processes, 8);
  EXPECT_EQ(who.gpus_per_thread, 1);
  EXPECT_EQ(participants(made.topology, {.nodes = 1}).devices.size(), 4U);
}

TEST(ParticipantsTest, OfOneProcessAreItsThreadsTimesItsGpus) {
  const net::Cluster made = cluster(2, 4);
  const Participants one = participants(made.topology, {.gpus_per_thread = 4});
  EXPECT_EQ(one.devices.size(), 4U);
  EXPECT_EQ(one.nodes, 1);
  EXPECT_EQ(one.processes, 1);
  EXPECT_EQ(one.gpus_per_thread, 4);

  const Participants both = participants(made.topology, {.nodes = 2, .threads = 3, .gpus_per_thread = 1});
  EXPECT_EQ(both.devices.size(), 6U);
  EXPECT_EQ(both.processes, 2);
  EXPECT_EQ(both.gpus_per_thread, 1);
  // Rank 3 is the first GPU of the second node.
  EXPECT_EQ(made.topology.name(both.devices[3]), "n1.gpu0");
}

TEST(ParticipantsTest, MustFitTheCluster) {
  const net::Cluster made = cluster(2, 4);
  EXPECT_THAT(thrown_by([&] { return participants(made.topology, {.gpus_per_thread = 5}); }),
              HasSubstr("a process of 5 GPUs does not fit node 0, which has 4"));
  EXPECT_THAT(thrown_by([&] { return participants(made.topology, {.nodes = 3}); }), HasSubstr("--set nodes=3"));
  EXPECT_THAT(thrown_by([&] { return participants(made.topology, {.nodes = 0}); }), HasSubstr("--nodes: expected 1 or more"));
}

TEST(CollectiveNamedTest, TakesTheNamesOfNcclAndNcclTests) {
  for (const char* name : {"all_reduce", "all_reduce_perf", "AllReduce"})
    EXPECT_EQ(collective_named(name), coll::Collective::kAllReduce) << name;
  EXPECT_THAT(thrown_by([] { return collective_named("all_redcue"); }), HasSubstr("did you mean 'all_reduce'?"));
}

CollectiveSweep sweep_of(const net::Cluster& made, std::vector<Bytes> sizes) {
  return {.cluster = made,
          .call = {.kind = coll::Collective::kAllReduce},
          .sizes = std::move(sizes),
          .participants = participants(made.topology, {}),
          .options = {}};
}

TEST(RunSweepTest, GivesThePointsInOrderAndTheSameDigestAgain) {
  const net::Cluster made = cluster(1, 4);
  const CollectiveSweep sweep = sweep_of(made, {1_MiB, 2_MiB, 4_MiB});
  std::vector<Bytes> seen;
  const SweepResult first =
      run_sweep(sweep, nullptr, [&](const coll::CollectiveResult& point) { seen.push_back(point.sizes.reported); });
  EXPECT_THAT(seen, ElementsAre(1_MiB, 2_MiB, 4_MiB));
  EXPECT_FALSE(first.interrupted);
  EXPECT_LT(first.points[0].time, first.points[1].time);
  const SweepResult second = run_sweep(sweep, nullptr, [](const coll::CollectiveResult&) {});
  EXPECT_EQ(first.digest, second.digest);
  const SweepResult other = run_sweep(sweep_of(made, {1_MiB, 2_MiB, 8_MiB}), nullptr, [](const coll::CollectiveResult&) {});
  EXPECT_NE(first.digest, other.digest);
}

TEST(RunSweepTest, PaysOneLaunchPerGpuThatAThreadDrives) {
  // A tiny all-reduce waits for its launches: -g 4 sets a floor four times that of one GPU per thread.
  const net::Cluster made = cluster(1, 4);
  CollectiveSweep sweep = sweep_of(made, {8_B});
  const Duration single = run_sweep(sweep, nullptr, [](const coll::CollectiveResult&) {}).points.front().launch;
  sweep.participants = participants(made.topology, {.gpus_per_thread = 4});
  EXPECT_EQ(run_sweep(sweep, nullptr, [](const coll::CollectiveResult&) {}).points.front().launch, 4 * single);
}

// NCCL gives small calls fewer threads, and with more of them a larger call may be faster: measured on 4 x H200, an all-reduce
// in LL128 takes 21.2 us for 4 KiB with ten warps and 20.7 us for 8 KiB with twenty (validate/measured/h200x4_full.jsonl).
// Where all of the choice is the same, never: what channels differ by is a thousandth.
TEST(RunSweepTest, MoreBytesTakeNoLessTimeOfTheSameChoiceAndThreads) {
  std::vector<Bytes> sizes;
  for (Bytes size = 512_B; size <= 1_MiB; size = 2 * size) {
    sizes.push_back(size);
    sizes.push_back(size + size / 4);
  }
  int compared = 0;
  for (const int nodes : {1, 2}) {
    const net::Cluster made = cluster(nodes, 8 / nodes);
    for (const coll::Collective kind :
         {coll::Collective::kAllReduce, coll::Collective::kReduceScatter, coll::Collective::kReduce,
          coll::Collective::kAllGather, coll::Collective::kBroadcast}) {
      for (const char* protocol : {"LL", "LL128", "Simple"}) {
        CollectiveSweep sweep = sweep_of(made, sizes);
        sweep.call.kind = kind;
        sweep.options.grain = coll::Grain::kChunk;
        sweep.options.iterations = 1;
        sweep.options.settings.set("ALGO", "Ring");
        sweep.options.settings.set("PROTO", protocol);
        const SweepResult result = run_sweep(sweep, nullptr, [](const coll::CollectiveResult&) {});
        for (std::size_t i = 1; i < result.points.size(); ++i) {
          const coll::CollectiveResult& less = result.points[i - 1];
          const coll::CollectiveResult& more = result.points[i];
          if (less.choice.channels != more.choice.channels || less.choice.chunk != more.choice.chunk ||
              less.choice.warps != more.choice.warps)
            continue;
          ++compared;
          EXPECT_GE(more.time.seconds(), 0.999 * less.time.seconds())
              << to_string(kind) << ' ' << protocol << " on " << nodes << " nodes, " << to_string(more.call.bytes) << ", "
              << more.choice.channels << " channels of " << more.choice.warps << " warps";
        }
      }
    }
  }
  EXPECT_GT(compared, 100);
}

// Stops the simulation after the second point, as Ctrl-C does.
class StopAfterTwo final : public RunObserver {
 public:
  void on_progress(const Simulator&, std::uint64_t done, std::uint64_t) override {
    if (done == 2) simulator_->request_stop();
  }
  void on_begin(Simulator& simulator) override { simulator_ = &simulator; }
  void on_end() override { simulator_ = nullptr; }

 private:
  Simulator* simulator_ = nullptr;
};

TEST(RunSweepTest, KeepsWhatWasFinishedWhenStopped) {
  const net::Cluster made = cluster(1, 4);
  StopAfterTwo observer;
  const SweepResult result = run_sweep(sweep_of(made, {1_MiB, 2_MiB, 4_MiB}), &observer, [](const coll::CollectiveResult&) {});
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.points.size(), 2U);
}

}  // namespace
}  // namespace weft::scenario
