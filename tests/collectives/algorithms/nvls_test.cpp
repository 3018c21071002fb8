#include <gtest/gtest.h>

#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

// models/nccl §3.4: scatter to every head, the switch adds up all copies and writes to all ranks, gather from every head.
TEST(NvlsTest, AHeadHasTheSwitchAddUpAndCopyItsChunk) {
  const Group group{std::vector<int>{4}};
  const auto nvls = plan(group.communicator(), call(Collective::kAllReduce, 1_MiB), "nvls", 1, 64_KiB);
  ASSERT_EQ(nvls->lanes(1, 0), 3);
  ASSERT_EQ(nvls->step_count(1, 0, 0), 4);  // one scatter a loop, to all heads
  ASSERT_EQ(nvls->step_count(1, 0, 1), 4);
  const std::vector<Rank> everyone = {0, 1, 2, 3};
  const Step reduce = nvls->step(1, 0, 1, 2);
  EXPECT_TRUE(reduce.receive_in_switch && reduce.send_in_switch && !reduce.use_source && !reduce.store);
  EXPECT_EQ(reduce.receive_from, Peers::view(everyone));
  EXPECT_EQ(reduce.send_to, Peers::view(everyone));
  EXPECT_EQ(reduce.bytes, 64_KiB);
  const Step scatter = nvls->step(1, 0, 0, 1);  // second loop
  EXPECT_EQ(scatter.send_to, Peers::view(everyone));
  EXPECT_TRUE(scatter.send_in_switch && scatter.contributes() && !scatter.multicasts());
  EXPECT_EQ(scatter.bytes, 4 * 64_KiB);
  EXPECT_EQ(scatter.bytes_of_peer(3), 64_KiB);
  EXPECT_EQ(scatter.peer_offset, 65536);
  EXPECT_EQ(scatter.source, (Chunk{Buffer::kInput, 4 * 65536}));
  const Step gather = nvls->step(1, 0, 2, 1);
  EXPECT_EQ(gather.receive_from, Peers::view(everyone));
  EXPECT_EQ(gather.destination, (Chunk{Buffer::kOutput, 4 * 65536}));
}

// The links of every rank carry S(1 + 1/n) bytes out (models/nccl §3.4): its data to the switch, and one n-th as a head.
TEST(NvlsTest, EveryRankSendsItsDataOnceAndOneNthMore) {
  const Group group{std::vector<int>{8}};
  const auto nvls = plan(group.communicator(), call(Collective::kAllReduce, 8_MiB), "nvls", 1, 64_KiB);
  for (const Rank rank : {0, 7}) {
    std::int64_t out = 0;
    for (int lane = 0; lane < nvls->lanes(rank, 0); ++lane) {
      for (std::int64_t i = 0; i < nvls->step_count(rank, 0, lane); ++i) {
        const Step step = nvls->step(rank, 0, lane, i);
        if (!step.send_to.empty()) out += step.bytes.count();  // to all peers, or once however many the switch copies it to
      }
    }
    EXPECT_EQ(out, (8 << 20) + (1 << 20));
  }
}

// 4 heads, 600,000 B in chunks of 65,536: two loops of 262,144 and 75,712 left, a quarter of which, 18,928, is rounded up to
// 32,768: heads get 32,768, 32,768, 10,176 and 0 B.
TEST(NvlsTest, AShortLoopIsSpreadInUnitsOf16KiB) {
  const Group group{std::vector<int>{4}};
  const auto nvls = plan(group.communicator(), call(Collective::kAllReduce, Bytes{600'000}), "nvls", 1, 64_KiB);
  ASSERT_EQ(nvls->step_count(0, 0, 1), 3);
  const std::int64_t sizes[] = {32768, 32768, 10176, 0};
  for (int head = 0; head < 4; ++head) {
    EXPECT_EQ(nvls->step(head, 0, 1, 2).bytes.count(), sizes[head]);
    EXPECT_EQ(nvls->step(0, 0, 0, 2).bytes_of_peer(head).count(), sizes[head]);
  }
}

TEST(NvlsTest, AllGatherOnlyCopiesAndReduceScatterOnlyAddsUp) {
  const Group group{std::vector<int>{4}};
  const auto gather = plan(group.communicator(), call(Collective::kAllGather, 1_KiB), "nvls");
  EXPECT_EQ(gather->step_count(2, 0, 0), 0);
  EXPECT_TRUE(gather->step(2, 0, 1, 0).send_in_switch);
  EXPECT_TRUE(gather->step(2, 0, 1, 0).receive_from.empty());
  EXPECT_EQ(gather->step(2, 0, 2, 0).peer_offset, 256);
  EXPECT_EQ(gather->step(2, 0, 2, 0).bytes, 4 * 256_B);
  const auto scatter = plan(group.communicator(), call(Collective::kReduceScatter, 1_KiB), "nvls");
  EXPECT_EQ(scatter->step_count(2, 0, 2), 0);
  EXPECT_TRUE(scatter->step(2, 0, 1, 0).receive_in_switch);
  EXPECT_EQ(scatter->step(2, 0, 1, 0).destination, (Chunk{Buffer::kOutput, 0}));
}

TEST(NvlsTest, NoMoreThan32RanksAreHeads) {
  const Group group{std::vector<int>{33}};
  const auto nvls = plan(group.communicator(), call(Collective::kAllReduce, 1_MiB), "nvls", 1, 32_KiB);
  EXPECT_EQ(nvls->step_count(31, 0, 1), 1);
  EXPECT_EQ(nvls->step_count(32, 0, 1), 0);
  EXPECT_EQ(nvls->step(32, 0, 0, 0).send_to.size(), 32);
}

}  // namespace
}  // namespace weft::coll
