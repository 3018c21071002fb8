// Whole MSCCL algorithms: those that are right run as the file says, those that are wrong are refused with the place.
#include "sim/collectives/msccl/algorithm.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(MscclAlgorithmTest, RightAlgorithmsOfManyKindsEndRightAtSizesLargeAndSmall) {
  const struct {
    std::string file;
    Collective kind;
    int chunks;  // nchunksperloop
  } cases[] = {{"allpairs_all_reduce", Collective::kAllReduce, 4},
               {"ring_all_gather", Collective::kAllGather, 4},
               {"halving_doubling_all_reduce", Collective::kAllReduce, 8},
               {"binomial_broadcast", Collective::kBroadcast, 2},
               {"two_step_all_to_all", Collective::kAllToAll, 4},
               {"ring_reduce_scatter", Collective::kReduceScatter, 16},
               {"ring_all_reduce", Collective::kAllReduce, 3}};
  for (const auto& c : cases) {
    const auto algorithm = msccl_algorithm(weft::testing::msccl_file(c.file));
    EXPECT_TRUE(algorithm->supports(c.kind));
    const Group group{algorithm->program().ranks(), 4};
    for (const std::int64_t each : {16, 1040, 48 * 1024}) {  // bytes of a chunk
      const CollectiveCall of = call(c.kind, Bytes{each * c.chunks});
      if (algorithm->refusal(of, algorithm->program().ranks())) continue;  // outside minBytes, maxBytes
      const auto schedule = algorithm->plan(group.communicator(), of, {.chunk = 2_MiB});
      EXPECT_EQ(verify(*schedule, of, {.fifo_slots = 2}).value_or("none"), "none") << c.file << ' ' << each;
    }
  }
}

// Ring all-gather, out of place, 4 ranks of 96 B: cpy, s, rcs, rcs, r, all of one chunk.
TEST(MscclAlgorithmTest, AThreadblockIsALaneAndItsStepsAreThoseOfTheFile) {
  const auto algorithm = msccl_algorithm(weft::testing::msccl_file("ring_all_gather"));
  const Group group{4};
  const auto schedule = algorithm->plan(group.communicator(), call(Collective::kAllGather, 4 * 96_B), {.chunk = 2_MiB});
  ASSERT_EQ(schedule->lanes(1, 0), 1);
  ASSERT_EQ(schedule->step_count(1, 0, 0), 5);
  const Step copy = schedule->step(1, 0, 0, 0);
  EXPECT_EQ(copy.source, (Chunk{Buffer::kInput, 0}));
  EXPECT_EQ(copy.destination, (Chunk{Buffer::kOutput, 96}));
  EXPECT_TRUE(copy.store && copy.use_source && copy.send_to.empty());
  const Step pass_on = schedule->step(1, 0, 0, 2);
  EXPECT_EQ(pass_on.receive_from, Peers{0});
  EXPECT_EQ(pass_on.send_to, Peers{2});
  EXPECT_EQ(pass_on.destination, (Chunk{Buffer::kOutput, 0}));
  EXPECT_EQ(pass_on.bytes, 96_B);
}

// 96 B chunks moved 40 B at a time: three iterations of 40, 40 and 16 B, and the dependency of each is in the same iteration.
TEST(MscclAlgorithmTest, LargeChunksGoInIterationsWithDependenciesInEach) {
  const auto algorithm = msccl_algorithm(weft::testing::msccl_file("allpairs_all_reduce"));
  const Group group{4};
  const auto schedule = algorithm->plan(group.communicator(), call(Collective::kAllReduce, 4 * 96_B), {.chunk = 40_B});
  // tb 0: s, r, nop, re, re, re, s, r; tb 1: s, r, then s that waits for step 5 of tb 0.
  ASSERT_EQ(schedule->step_count(2, 0, 0), 3 * 8);
  ASSERT_EQ(schedule->step_count(2, 0, 1), 3 * 4);
  const std::int64_t bytes[] = {40, 40, 16};
  for (int iteration = 0; iteration < 3; ++iteration) {
    const Step reduce = schedule->step(2, 0, 0, 8 * iteration + 3);
    EXPECT_TRUE(reduce.accumulate);
    EXPECT_EQ(reduce.bytes.count(), bytes[iteration]);
    EXPECT_EQ(reduce.source, (Chunk{Buffer::kScratch, 40 * iteration}));
    EXPECT_EQ(reduce.destination, (Chunk{Buffer::kOutput, 2 * 96 + 40 * iteration}));
    const Step send = schedule->step(2, 0, 1, 4 * iteration + 2);
    EXPECT_EQ(send.after, (Progress{.channel = 0, .lane = 0, .steps = 8 * iteration + 6}));
  }
}

// binomial_broadcast moves two chunks a step: one message as long as both fit in the chunk, two from one byte above on.
TEST(MscclAlgorithmTest, SmallChunksOfAStepGoAsOneMessage) {
  const auto algorithm = msccl_algorithm(weft::testing::msccl_file("binomial_broadcast"));
  const Group group{8};
  const CollectiveCall of = call(Collective::kBroadcast, 128_B);
  const auto together = algorithm->plan(group.communicator(), of, {.chunk = 128_B});
  EXPECT_EQ(together->step_count(7, 0, 0), 1);
  EXPECT_EQ(together->step(7, 0, 0, 0).bytes, 128_B);
  const auto apart = algorithm->plan(group.communicator(), of, {.chunk = 124_B});
  EXPECT_EQ(apart->step_count(7, 0, 0), 2);
  EXPECT_EQ(apart->step(7, 0, 0, 1).bytes, 64_B);
  EXPECT_EQ(apart->step(7, 0, 0, 1).destination, (Chunk{Buffer::kOutput, 64}));
}

TEST(MscclAlgorithmTest, SaysWhyACallIsNotForIt) {
  const auto algorithm =
      msccl_algorithm(weft::testing::msccl_file("halving_doubling_all_reduce"));  // 8 GPUs, 8 chunks, 4 KiB to 4 MiB
  const auto why = [&](const CollectiveCall& of, int ranks) { return algorithm->refusal(of, ranks).value_or("fits"); };
  EXPECT_EQ(why(call(Collective::kAllReduce, 4096_B), 8), "fits");
  EXPECT_EQ(why(call(Collective::kAllReduce, 4_MiB), 8), "fits");
  EXPECT_EQ(why(call(Collective::kAllReduce, 4064_B), 8), "4064 bytes are below its minBytes, 4096");
  EXPECT_EQ(why(call(Collective::kAllReduce, 4_MiB + 32_B), 8), "4194336 bytes are above its maxBytes, 4194304");
  EXPECT_EQ(why(call(Collective::kAllReduce, 4100_B), 8), "4100 bytes do not make 8 equal chunks of whole elements");
  EXPECT_EQ(why(call(Collective::kAllReduce, 4096_B), 4), "it is for 8 ranks, not 4");
  EXPECT_EQ(why(call(Collective::kBroadcast, 4096_B), 8), "it is an algorithm for all_reduce, not for broadcast");
  const auto broadcast = msccl_algorithm(weft::testing::msccl_file("binomial_broadcast"));
  EXPECT_EQ(broadcast->root(), 0);
  EXPECT_EQ(broadcast->refusal(call(Collective::kBroadcast, 64_B, 3), 8).value_or("fits"), "its root is rank 0, not 3");
}

TEST(MscclAlgorithmTest, PlanningACallItIsNotForIsAnError) {
  const auto algorithm = msccl_algorithm(weft::testing::msccl_file("ring_reduce_scatter"));
  const Group group{4, 3};
  try {
    (void)algorithm->plan(group.communicator(), call(Collective::kReduceScatter, 4096_B), {.chunk = 2_MiB});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("algorithm 'ring_reduce_scatter' does not fit the call: it uses 4 channels, the "
                                        "communicator has 3"));
  }
}

TEST(MscclAlgorithmTest, TheRootIsTheOneTheDataComeFrom) {
  // GPU 1 is the root: it sends its one chunk to GPU 0.
  const auto program = msccl::read_program(
      R"(<algo name="b" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2" coll="broadcast" inplace="0">
  <gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0"><tb id="0" send="-1" recv="1" chan="0">
    <step s="0" type="r" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
  <gpu id="1" i_chunks="1" o_chunks="1" s_chunks="0"><tb id="0" send="0" recv="-1" chan="0">
    <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="-1" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
</algo>)",
      "b.xml");
  EXPECT_EQ(msccl_algorithm(program)->root(), 1);
}

TEST(MscclAlgorithmTest, WrongAlgorithmsAreRefusedWithThePlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"deadlock_by_dependencies",
       "deadlock: gpu 0 tb 0 step 0 (line 5) waits for gpu 0 tb 1 step 0 (line 11); gpu 0 tb 1 step 0 (line 11) waits for gpu "
       "0 "
       "tb 0 step 0 (line 5); gpu 1 tb 0 step 1 (line 17) waits for a message from rank 0"},
      {"deadlock_by_order",
       "deadlock: gpu 0 tb 0 step 0 (line 5) waits for a message from rank 1; gpu 1 tb 0 step 0 (line 13) waits for a message "
       "from rank 0"},
      {"deadlock_by_slots",
       "deadlock: gpu 0 tb 0 step 2 (line 7) waits for a free slot to rank 1; gpu 1 tb 0 step 2 (line 17) waits for a free "
       "slot "
       "to rank 0"},
      {"mixed_chunks", "gpu 0 tb 0 step 1 (line 6): adds up different bytes of the inputs at byte 0 of its chunk"},
      {"never_added", "rank 0 ends with output chunk 1 made of input chunk 1 of rank 0, not of input chunk 1 of ranks 0 1"},
      {"race", "gpu 0 tb 1 step 0 (line 11) and gpu 0 tb 0 step 1 (line 6) use output chunk 0 in no fixed order"},
      {"undefined_read", "gpu 0 tb 0 step 2 (line 7): reads output chunk 1, which is undefined"},
      {"wrong_chunk", "rank 0 ends with output chunk 1 undefined"}};
  for (const auto& [name, what] : cases) {
    const std::string path = weft::testing::msccl_file("bad/" + name);
    try {
      (void)msccl_algorithm(path);
      ADD_FAILURE() << name;
    } catch (const ConfigError& error) {
      EXPECT_EQ(std::string{error.what()},
                fmt::format("{}: error: algorithm '{}' is wrong: all_reduce on 2 ranks: {}\n", path, name, what));
    }
  }
}

// Every step matters: without any one of them the algorithm is refused, be it by the reader's rules or by the verifier.
TEST(MscclAlgorithmTest, EveryStepThatIsLeftOutIsSeen) {
  for (const std::string file :
       {"ring_all_gather", "ring_all_reduce", "binomial_broadcast", "two_step_all_to_all", "ring_reduce_scatter"}) {
    const msccl::Program program = msccl::read_program_file(weft::testing::msccl_file(file));
    for (std::size_t gpu = 0; gpu < program.gpus.size(); ++gpu) {
      for (std::size_t block = 0; block < program.gpus[gpu].blocks.size(); ++block) {
        for (std::size_t i = 0; i < program.gpus[gpu].blocks[block].steps.size(); ++i) {
          msccl::Program without = program;
          msccl::ProgramStep& step = without.gpus[gpu].blocks[block].steps[i];
          step = msccl::ProgramStep{};  // a nop; its dependency goes too
          EXPECT_TRUE(msccl::verify(without, 0).has_value()) << file << " gpu " << gpu << " tb " << block << " step " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::coll
