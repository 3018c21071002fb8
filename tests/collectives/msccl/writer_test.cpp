#include "sim/collectives/msccl/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/collectives/msccl/algorithm.h"
#include "sim/collectives/msccl/reader.h"
#include "sim/collectives/verifier.h"
#include "sim/core/error.h"
#include "tests/support/schedules.h"

namespace weft::coll {
namespace {

using namespace weft::literals;
using ::testing::HasSubstr;
using weft::testing::call;
using weft::testing::Group;
using weft::testing::plan;

void expect_same_steps(const Schedule& a, const Schedule& b) {
  ASSERT_EQ(a.channels(), b.channels());
  for (Rank rank = 0; rank < a.ranks(); ++rank) {
    for (int channel = 0; channel < a.channels(); ++channel) {
      ASSERT_EQ(a.lanes(rank, channel), b.lanes(rank, channel));
      for (int lane = 0; lane < a.lanes(rank, channel); ++lane) {
        ASSERT_EQ(a.step_count(rank, channel, lane), b.step_count(rank, channel, lane));
        for (std::int64_t i = 0; i < a.step_count(rank, channel, lane); ++i) {
          const Step x = a.step(rank, channel, lane, i);
          const Step y = b.step(rank, channel, lane, i);
          EXPECT_EQ(x.receive_from, y.receive_from);
          EXPECT_EQ(x.send_to, y.send_to);
          EXPECT_EQ(x.bytes, y.bytes);
          EXPECT_EQ(x.use_source, y.use_source);
          EXPECT_EQ(x.store, y.store);
          EXPECT_EQ(x.accumulate, y.accumulate);
          EXPECT_EQ(x.after, y.after);
          EXPECT_EQ(x.use_source ? x.source : Chunk{}, y.use_source ? y.source : Chunk{});
          EXPECT_EQ(x.store ? x.destination : Chunk{}, y.store ? y.destination : Chunk{});
        }
      }
    }
  }
}

// Reads and verifies what was written.
std::unique_ptr<MscclAlgorithm> read_back(const std::string& text) {
  return msccl_algorithm(msccl::read_program(text, "out.xml"));
}

std::string refusal(const Schedule& schedule, const CollectiveCall& of) {
  try {
    (void)export_msccl(schedule, of);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(MscclWriterTest, RingAllReduceComesBackAsTheSameSteps) {
  for (const int ranks : {2, 3, 8}) {
    for (const int channels : {1, 2}) {
      const Group group{ranks, channels};
      const CollectiveCall of = call(Collective::kAllReduce, Bytes{ranks * channels * 64});
      const auto ring = plan(group.communicator(), of, "plain_ring", channels);
      const auto algorithm = read_back(export_msccl(*ring, of, {.name = "ring", .protocol = "LL"}));
      EXPECT_EQ(algorithm->program().name, "ring");
      EXPECT_EQ(algorithm->program().protocol, "LL");
      const auto again = algorithm->plan(group.communicator(), of, {.chunk = 2_MiB});
      expect_same_steps(*ring, *again);
      EXPECT_EQ(verify(*again, of).value_or("none"), "none");
    }
  }
}

// 3 ranks, 96 B in chunks of 32 B: by hand from models/nccl §3.1, rank 1 of the ring 0, 1, 2.
TEST(MscclWriterTest, WritesTheRingAsMscclWouldHaveIt) {
  const Group group{3};
  const CollectiveCall of = call(Collective::kAllReduce, 96_B);
  EXPECT_THAT(export_msccl(*plan(group.communicator(), of, "plain_ring"), of), HasSubstr(R"(
  <gpu id="1" i_chunks="3" o_chunks="3" s_chunks="0">
    <tb id="0" send="2" recv="0" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="-1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rrs" srcbuf="i" srcoff="2" dstbuf="i" dstoff="-1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="2" type="rrcs" srcbuf="i" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="3" type="rcs" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="4" type="r" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="2" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
)"));
}

TEST(MscclWriterTest, EveryBuiltInOfEvenSizeComesBackRight) {
  for (const auto& [algorithm, kind] : {std::pair{"plain_ring", Collective::kAllGather},
                                        {"plain_ring", Collective::kReduceScatter},
                                        {"plain_ring", Collective::kBroadcast},
                                        {"plain_ring", Collective::kReduce},
                                        {"direct", Collective::kAllToAll},
                                        {"direct", Collective::kGather},
                                        {"direct", Collective::kScatter},
                                        {"pairwise", Collective::kAllToAll}}) {
    const Group group{4};
    const CollectiveCall of = call(kind, 1024_B, 2);
    const auto schedule = plan(group.communicator(), of, algorithm);
    const auto again = read_back(export_msccl(*schedule, of));
    EXPECT_EQ(verify(*again->plan(group.communicator(), of, {.chunk = 2_MiB}), of).value_or("none"), "none") << algorithm;
  }
}

// Each round has other peers, so it is a threadblock of its own, which waits for the round before.
TEST(MscclWriterTest, ALaneOfSeveralPeersBecomesThreadblocksInOrder) {
  const Group group{3};
  const CollectiveCall of = call(Collective::kAllToAll, 3 * 64_B);
  const auto schedule = plan(group.communicator(), of, "pairwise");
  const auto algorithm = read_back(export_msccl(*schedule, of));
  const msccl::Gpu& gpu = algorithm->program().gpus[0];
  ASSERT_EQ(gpu.blocks.size(), 3U);  // own block; to 1, from 2; to 2, from 1
  EXPECT_EQ(gpu.blocks[0].steps[0].op, msccl::Op::kCopy);
  EXPECT_EQ(gpu.blocks[1].send, 1);
  EXPECT_EQ(gpu.blocks[1].receive, 2);
  EXPECT_EQ(gpu.blocks[1].steps[0].wait_block, -1);
  EXPECT_TRUE(gpu.blocks[1].steps[1].waited_for);
  EXPECT_EQ(gpu.blocks[2].send, 2);
  EXPECT_EQ(gpu.blocks[2].steps[0].wait_block, 1);
  EXPECT_EQ(gpu.blocks[2].steps[0].wait_step, 1);
}

TEST(MscclWriterTest, WhatMscclWroteComesBackAsTheSameFile) {
  for (const std::string file : {"allpairs_all_reduce", "binomial_broadcast", "two_step_all_to_all", "ring_reduce_scatter",
                                 "ring_all_reduce", "halving_doubling_all_reduce"}) {
    const auto algorithm = msccl_algorithm(weft::testing::msccl_file(file));
    const Group group{algorithm->program().ranks(), 4};
    const CollectiveCall of = call(algorithm->program().collective, 4608_B);
    const auto schedule = algorithm->plan(group.communicator(), of, {.chunk = 2_MiB});
    const auto again = read_back(export_msccl(*schedule, of, {.name = file, .protocol = "LL"}));
    expect_same_steps(*schedule, *again->plan(group.communicator(), of, {.chunk = 2_MiB}));
  }
}

TEST(MscclWriterTest, NamesAreEscaped) {
  const Group group{2};
  const CollectiveCall of = call(Collective::kAllReduce, 64_B);
  const std::string text =
      export_msccl(*plan(group.communicator(), of, "plain_ring"), of, {.name = "a \"<b>\" & c", .protocol = "Simple"});
  EXPECT_EQ(read_back(text)->program().name, "a \"<b>\" & c");
}

TEST(MscclWriterTest, WhatMscclCannotSayIsRefusedWithTheStep) {
  const Group group{3};
  // 20 B in chunks of 16 B: one of 16, one of 4, one empty.
  const CollectiveCall uneven = call(Collective::kAllReduce, 20_B);
  EXPECT_THAT(refusal(*plan(group.communicator(), uneven, "plain_ring"), uneven), HasSubstr("it moves no bytes"));
  const CollectiveCall ring = call(Collective::kSendRecv, 64_B);
  EXPECT_THAT(refusal(*plan(group.communicator(), ring, "direct"), ring),
              HasSubstr("MSCCL XML has no collective like sendrecv"));

  weft::testing::TableSchedule table{3, 1};
  Step both;
  both.receive_from = 1;
  both.receive_from.add(2);
  both.bytes = 64_B;
  both.store = true;
  table.lane(0) = {both};
  const CollectiveCall of = call(Collective::kAllReduce, 64_B);
  EXPECT_THAT(refusal(table, of),
              HasSubstr("MSCCL XML cannot say rank 0 channel 0 lane 0 step 0: it has several peers at once"));
  Step pass_on;
  pass_on.receive_from = 1;
  pass_on.send_to = 2;
  pass_on.bytes = 64_B;
  table.lane(0) = {pass_on};
  EXPECT_THAT(refusal(table, of), HasSubstr("step 0: it passes on what it neither keeps nor adds to"));
}

}  // namespace
}  // namespace weft::coll
