#include "sim/collectives/nccl/planner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <regex>
#include <set>

#include "sim/collectives/nccl/channel_split.h"
#include "sim/collectives/nccl/chunking.h"
#include "tests/collectives/nccl/golden_file.h"
#include "tests/collectives/nccl/machines.h"

namespace weft::coll::nccl {
namespace {

using namespace literals;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;

Choice planned(const CommInfo& comm, const Settings& settings, Collective kind, Bytes bytes, std::int64_t element_size = 4) {
  return plan(TuningModel{comm, settings}, {.kind = kind, .bytes = bytes, .element_size = element_size, .root = 0});
}

std::vector<std::int64_t> bytes_of(const Choice& choice) {
  std::vector<std::int64_t> bytes;
  for (const ChannelShare& share : choice.shares) bytes.push_back(share.bytes.count());
  return bytes;
}

std::vector<std::int64_t> repeated(std::size_t times, std::int64_t value, std::int64_t last) {
  std::vector<std::int64_t> values(times, value);
  values.push_back(last);
  return values;
}

TEST(PlannerTest, CutsAllReduceIntoTheWorkedExamples) {
  // models/nccl §4.6, four GPUs, 24 channels.
  const CommInfo comm = measured_node();
  EXPECT_EQ(bytes_of(planned(comm, given({{"PROTO", "LL"}}), Collective::kAllReduce, 1_MiB)), repeated(23, 45056, 12288));
  EXPECT_EQ(bytes_of(planned(comm, given({{"PROTO", "Simple"}, {"ALGO", "Ring"}}), Collective::kAllReduce, 1_MiB)),
            repeated(21, 49152, 16384));
  EXPECT_EQ(bytes_of(planned(comm, {}, Collective::kAllReduce, 64_MiB)), repeated(23, 2801664, 2670592));
  EXPECT_EQ(bytes_of(planned(comm, {}, Collective::kAllReduce, 1_GiB)), repeated(23, 44744704, 44613632));
}

TEST(PlannerTest, AGathersSharesAreOfEachRanksBlock) {
  // 1 MiB of 4 ranks: 256 KiB each, LL. Traffic 16 per byte: 4 MiB over 24 channels is 174763, rounded up to 174768. In 2.30 a
  // cell of 32768/16 = 2048 B carries 32768, so 6 cells a channel, 128 cells: 21 channels of 12288 B and one of 4096 B.
  CommInfo comm = measured_node();
  comm.version = NcclVersion::k2_30;
  EXPECT_EQ(bytes_of(planned(comm, given({{"PROTO", "LL"}}), Collective::kAllGather, 1_MiB)), repeated(21, 12288, 4096));
  // In 2.28 a cell is 1024 B: 11 cells a channel, 256 cells: 23 channels of 11264 B and one of 3072 B.
  comm.version = NcclVersion::k2_28;
  EXPECT_EQ(bytes_of(planned(comm, given({{"PROTO", "LL"}}), Collective::kAllGather, 1_MiB)), repeated(23, 11264, 3072));
}

TEST(PlannerTest, NamesWhatItChose) {
  const Choice choice = planned(measured_node(), {}, Collective::kAllReduce, 1_MiB);
  EXPECT_EQ(choice.algorithm, "ring");
  EXPECT_EQ(choice.protocol, "LL");
  EXPECT_EQ(choice.channels, 24);
  EXPECT_EQ(choice.warps, 16);
  EXPECT_EQ(choice.chunk, 32_KiB);
}

// The logs of the measured node say this of every size: "AllReduce: 1048576 Bytes -> Algo RING proto LL
// channel{Lo..Hi}={0..23}".
struct Logged {
  std::int64_t bytes = 0;
  std::string algo;
  std::string proto;
  int channels = 0;
  auto operator<=>(const Logged&) const = default;
};
std::set<Logged> logged(const std::string& file, const std::string& collective) {
  const std::string text = net::read_text_file(std::string{WEFT_TEST_DATA} + "/h200x4/" + file);
  const std::regex line{collective + R"(: (\d+) Bytes -> Algo (\w+) proto (\w+) channel\{Lo\.\.Hi\}=\{0\.\.(\d+)\})"};
  std::set<Logged> all;
  for (std::sregex_iterator match{text.begin(), text.end(), line}; match != std::sregex_iterator{}; ++match) {
    all.insert({std::stoll((*match)[1]), (*match)[2], (*match)[3], std::stoi((*match)[4]) + 1});
  }
  return all;
}

void expect_as_logged(const std::string& file, const std::string& collective, Collective kind, std::size_t sizes) {
  const std::set<Logged> rows = logged(file, collective);
  ASSERT_EQ(rows.size(), sizes);
  const CommInfo comm = measured_node();
  for (const Logged& row : rows) {
    const bool gather = kind == Collective::kAllGather;  // whose sizes NCCL prints per rank
    const Choice choice = planned(comm, given({{"NVLS_ENABLE", "0"}}), kind, Bytes{row.bytes * (gather ? comm.ranks : 1)});
    EXPECT_EQ(choice.algorithm, row.algo == "RING" ? "ring" : "tree") << collective << ' ' << row.bytes;
    EXPECT_EQ(choice.protocol, row.proto == "SIMPLE" ? "Simple" : row.proto) << collective << ' ' << row.bytes;
    EXPECT_EQ(choice.channels, row.channels) << collective << ' ' << row.bytes;
  }
}

TEST(PlannerTest, ChoosesWhatTheMeasuredNodeChoseForAllReduce) {
  expect_as_logged("info_all_reduce_4gpu.txt", "AllReduce", Collective::kAllReduce, 28);
}
TEST(PlannerTest, ChoosesWhatTheMeasuredNodeChoseForAllGather) {
  expect_as_logged("info_all_gather_4gpu.txt", "AllGather", Collective::kAllGather, 25);
}
TEST(PlannerTest, ChoosesWhatTheMeasuredNodeChoseForBroadcast) {
  expect_as_logged("info_broadcast_4gpu.txt", "Broadcast", Collective::kBroadcast, 28);
}

TEST(PlannerTest, GivesEveryByteToOneChannelWhateverTheSize) {
  for (const char* name : {"hgx-h200-4gpu-n1", "h100-n1", "h100-n2", "a100-n16", "pcie4-n1", "one-n8", "gb200-n1"}) {
    const CommInfo comm = golden::read(name).comm;
    const TuningModel model{comm, {}};
    for (std::size_t k = 0; k < kTunedCollectives; ++k) {
      for (const std::int64_t element : {1, 2, 4, 8, 16}) {
        for (const std::int64_t bytes : {1, 7, 100, 4097, 65535, 999'999, 12'345'678, 1'000'000'007}) {
          const CollectiveCall call{.kind = tuned_collective(k), .bytes = Bytes{bytes}, .element_size = element, .root = 0};
          const Choice choice = plan(model, call);
          const CallSizes sizes = sizes_of(call, comm.ranks);
          const std::vector<std::int64_t> parts = bytes_of(choice);
          const std::string what = fmt::format("{} {} {} B of {}", name, to_string(call.kind), bytes, element);
          EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}), sizes.count * element) << what;
          EXPECT_EQ(choice.channels, static_cast<int>(parts.size())) << what;
          EXPECT_LE(choice.channels, std::max(comm.channels, comm.nvls_channels)) << what;
          EXPECT_TRUE(sizes.count == 0 || std::ranges::min(parts) > 0) << what;
        }
      }
    }
  }
}

TEST(PlannerTest, ACallOfNoBytesHasOneEmptyShare) {
  const Choice choice = planned(measured_node(), {}, Collective::kAllReduce, 0_B);
  EXPECT_EQ(bytes_of(choice), std::vector<std::int64_t>{0});
  EXPECT_EQ(choice.channels, 1);
}

TEST(PlannerTest, ChunksAreAsManySlotsAsTheOperationTakes) {
  // models/nccl §4.1, §4.3.
  const CommInfo comm = measured_node();
  EXPECT_EQ(planned(comm, {}, Collective::kAllReduce, 1_GiB).chunk, 2_MiB);
  EXPECT_EQ(planned(comm, {}, Collective::kAllGather, 1_GiB).chunk, 2_MiB);
  EXPECT_EQ(planned(comm, {}, Collective::kBroadcast, 1_GiB).chunk, 512_KiB);
  EXPECT_EQ(planned(comm, {}, Collective::kReduce, 1_GiB).chunk, 512_KiB);
  EXPECT_EQ(planned(comm, given({{"PROTO", "LL"}, {"ALGO", "Ring"}}), Collective::kAllReduce, 1_GiB).chunk, 32_KiB);
  EXPECT_EQ(planned(comm, given({{"PROTO", "LL128"}, {"ALGO", "Ring"}}), Collective::kAllReduce, 1_GiB).chunk, Bytes{576'000});
  EXPECT_EQ(planned(comm, given({{"PROTO", "Simple"}, {"ALGO", "Tree"}}), Collective::kAllReduce, 1_GiB).chunk, 512_KiB);
}

TEST(PlannerTest, BuffersSetTheSlots) {
  const CommInfo comm = measured_node();
  EXPECT_EQ(planned(comm, given({{"BUFFSIZE", "1048576"}}), Collective::kAllReduce, 1_GiB).chunk, 512_KiB);
  EXPECT_EQ(planned(comm, given({{"LL_BUFFSIZE", "262144"}}), Collective::kAllReduce, 1_MiB).chunk, 16_KiB);
  // 2 MiB / 8 is 262144 B of lines: 2048 of them, 120 B of data each, 245760 B, which is 128 grains.
  EXPECT_EQ(planned(comm, given({{"LL128_BUFFSIZE", "2097152"}}), Collective::kAllReduce, 4_MiB).chunk, Bytes{245'760});
}

TEST(PlannerTest, TreesIn2_19HalveTheirChunksForTheDepth) {
  // models/nccl §4.4: depth 3, 1 MiB over 24 channels: parts of 49152 B, less than one chunk each, down to 32 KiB.
  CommInfo comm = measured_node();
  comm.version = NcclVersion::k2_19;
  const Settings tree = given({{"ALGO", "Tree"}, {"PROTO", "Simple"}});
  EXPECT_EQ(planned(comm, tree, Collective::kAllReduce, 1_MiB).chunk, 32_KiB);
  // 1 GiB: parts of 44.7 MB hold 85 chunks of 512 KiB, over 3 * 8.
  EXPECT_EQ(planned(comm, tree, Collective::kAllReduce, 1_GiB).chunk, 512_KiB);
  comm.version = NcclVersion::k2_21;
  EXPECT_EQ(planned(comm, tree, Collective::kAllReduce, 1_MiB).chunk, 512_KiB);
}

TEST(PlannerTest, Ll128TreesHalveTheirChunks) {
  // 2 x 8 H100, 16 channels: 1 MiB is 64 KiB a channel. Steps 1 + 1 + 0.8; 576000 is halved to 72000 under 22.4 chunks, then to
  // 18000 under 5.6; 9 grains of 1920 B fit.
  const Choice choice = planned(golden::read("h100-n2").comm, {}, Collective::kAllReduce, 1_MiB);
  EXPECT_EQ(choice.algorithm, "tree");
  EXPECT_EQ(choice.protocol, "LL128");
  EXPECT_THAT(choice.shares, Each(ChannelShare{.bytes = 64_KiB, .chunk = Bytes{9 * 1920}}));
}

TEST(PlannerTest, NvlsChunksGrowWithTheMessage) {
  // models/nccl §4.4: 8 GPUs, 16 channels.
  const CommInfo comm = golden::read("h100-n1").comm;
  EXPECT_EQ(planned(comm, {}, Collective::kAllReduce, 4_MiB).chunk, 16_KiB);
  EXPECT_EQ(planned(comm, {}, Collective::kAllReduce, 8_MiB).chunk, 32_KiB);
  EXPECT_EQ(planned(comm, {}, Collective::kAllReduce, 32_MiB).chunk, 32_KiB);
  EXPECT_EQ(planned(comm, {}, Collective::kAllReduce, 64_MiB).chunk, 64_KiB);
  EXPECT_EQ(planned(comm, {}, Collective::kAllReduce, 512_MiB).chunk, 64_KiB);
  EXPECT_EQ(planned(comm, {}, Collective::kAllReduce, 1_GiB).chunk, 128_KiB);
  const Choice choice = planned(comm, {}, Collective::kAllReduce, 64_MiB);
  EXPECT_EQ(choice.algorithm, "nvls");
  EXPECT_THAT(choice.shares, Each(Field(&ChannelShare::bytes, 4_MiB)));
  EXPECT_EQ(choice.channels, 16);
}

TEST(PlannerTest, NvlsTreeChunksStayUnderTheirMost) {
  // 4 x 8 H100: at most 64 KiB; 16 MiB over 16 channels of 8 heads: 1 MiB a part, under 4 * 8 * 64 KiB but that is the size
  // already, and over 1 * 8 * 64 KiB.
  const Choice large = planned(golden::read("h100-n4").comm, {}, Collective::kAllReduce, 16_MiB);
  EXPECT_EQ(large.algorithm, "nvls_tree");
  EXPECT_EQ(large.chunk, 64_KiB);
  // 4 MiB: 256 KiB a part, under 512 KiB.
  EXPECT_EQ(planned(golden::read("h100-n4").comm, given({{"ALGO", "NVLSTree"}}), Collective::kAllReduce, 4_MiB).chunk, 32_KiB);
}

TEST(PlannerTest, PatHalvesItsChunksForTheRanks) {
  // 8 nodes of one GPU, 4 channels, all-gather of 1 MiB: 256 KiB in all for a channel, under 32 chunks of any size: 64 KiB.
  const Choice choice = planned(golden::read("one-n8").comm, {}, Collective::kAllGather, 1_MiB);
  EXPECT_EQ(choice.algorithm, "pat");
  EXPECT_EQ(choice.chunk, 64_KiB);
  EXPECT_EQ(choice.warps, 20);
}

TEST(PlannerTest, ThreadsFollowNcclNthreads) {
  const CommInfo comm = measured_node();
  EXPECT_EQ(planned(comm, {}, Collective::kAllReduce, 1_GiB).warps, 17);  // 16 and the one that posts
  EXPECT_EQ(planned(comm, given({{"NTHREADS", "128"}}), Collective::kAllReduce, 1_GiB).warps, 5);
  EXPECT_EQ(planned(comm, given({{"LL128_NTHREADS", "320"}}), Collective::kAllReduce, 4_MiB).warps, 10);
  Settings logged;
  logged.set_from_log("NTHREADS", "100");  // not whole warps: NCCL takes the most
  EXPECT_EQ(planned(comm, logged, Collective::kAllReduce, 1_GiB).warps, 17);
}

TEST(PlannerTest, ThresholdsSetHowManyChannelsAMessageIsWorth) {
  // 64 KiB in ring LL on 4 ranks: 512 threads of 32 B fill 4 channels, of 16 B 8 channels.
  const CommInfo comm = measured_node();
  EXPECT_EQ(planned(comm, {}, Collective::kAllReduce, 64_KiB).channels, 4);
  EXPECT_EQ(planned(comm, given({{"THREAD_THRESHOLDS", "-2 -2 -2 16"}}), Collective::kAllReduce, 64_KiB).channels, 8);
}

TEST(PlannerTest, CollNetStridesEvenlyOverAllItsChannels) {
  // 2 x 8 H100 with SHARP, 8 heads. 64 MiB: chunk 512 KiB is halved to 64 KiB and on: 16 channels * 8 heads; see the shares.
  CommInfo comm = golden::read("h100-n2").comm;
  comm.collnet = true;
  comm.collnet_direct = *comm.nvls_graph;
  const Choice choice = planned(comm, given({{"ALGO", "CollNetDirect"}}), Collective::kAllReduce, 64_MiB);
  EXPECT_EQ(choice.algorithm, "collnet_direct");
  // 64 MiB / (16 * 8 * chunk) is below 2 * 64 at 512 and 256 KiB, then below 2 * 8 at 128 and 64 KiB.
  EXPECT_EQ(choice.chunk, 32_KiB);
  EXPECT_EQ(choice.channels, 16);
  EXPECT_THAT(choice.shares, Each(Field(&ChannelShare::bytes, 4_MiB)));
}

TEST(ChannelSplitTest, TasksOfAGroupFollowEachOther) {
  // Two all-reduces of 64 KiB, each worth two channels: 32 KiB a channel, the second where the first ends.
  const SplitTask task{.elements = 16384, .element_size = 4, .traffic_per_byte = 2, .channels = 2};
  const auto plan = split_over_channels(std::vector<SplitTask>{task, task}, 4, NcclVersion::k2_30);
  EXPECT_THAT(plan[0], ElementsAre(ChannelPart{0, 8192}, ChannelPart{1, 8192}));
  EXPECT_THAT(plan[1], ElementsAre(ChannelPart{2, 8192}, ChannelPart{3, 8192}));
}

TEST(ChannelSplitTest, ATaskFillsWhatTheLastOneLeft) {
  // 48 KiB and 16 KiB worth one channel each, on one of two channels of 64 KiB traffic: 2 + 1 cells, then the fourth.
  const SplitTask first{.elements = 12288, .element_size = 4, .traffic_per_byte = 2, .channels = 1};
  const SplitTask second{.elements = 4096, .element_size = 4, .traffic_per_byte = 2, .channels = 1};
  const auto plan = split_over_channels(std::vector<SplitTask>{first, second}, 4, NcclVersion::k2_30);
  EXPECT_THAT(plan[0], ElementsAre(ChannelPart{0, 8192}, ChannelPart{1, 4096}));
  EXPECT_THAT(plan[1], ElementsAre(ChannelPart{1, 4096}));
}

TEST(ChannelSplitTest, GroupsOfAnySizeStayOnTheirChannels) {
  for (int most = 1; most <= 12; ++most) {
    for (std::int64_t seed = 1; seed <= 200; ++seed) {
      std::vector<SplitTask> tasks;
      for (std::int64_t t = 0; t < 1 + seed % 7; ++t) {
        tasks.push_back({.elements = (seed * 7919 + t * 104'729) % 300'000,
                         .element_size = 1 << (seed + t) % 5,
                         .traffic_per_byte = 1 + (seed + t) % 9,
                         .channels = 1 + static_cast<int>((seed + t) % most)});
      }
      const auto plan = split_over_channels(tasks, most, seed % 2 == 0 ? NcclVersion::k2_28 : NcclVersion::k2_30);
      for (std::size_t t = 0; t < tasks.size(); ++t) {
        std::int64_t sum = 0;
        for (const ChannelPart& part : plan[t]) {
          sum += part.elements;
          EXPECT_LT(part.channel, most);
        }
        EXPECT_EQ(sum, tasks[t].elements);
      }
    }
  }
}

}  // namespace
}  // namespace weft::coll::nccl
