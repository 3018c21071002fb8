#include "sim/collectives/msccl/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/core/error.h"

namespace weft::coll::msccl {
namespace {

using ::testing::HasSubstr;

std::string path_of(const std::string& name) { return std::string{WEFT_TEST_DATA} + "/msccl/" + name + ".xml"; }

// One GPU that copies its vector, with some attributes of <algo> or of the step given.
std::string one_gpu(const std::string& algo, const std::string& step) {
  return "<algo name=\"one\" proto=\"LL\" nchannels=\"2\" ngpus=\"1\" coll=\"allreduce\" " + algo +
         "><gpu id=\"0\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"1\"><tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"1\"><step "
         "s=\"0\" " +
         step + " hasdep=\"0\"/></tb></gpu></algo>";
}
const std::string kPlain = "nchunksperloop=\"2\" inplace=\"0\"";
const std::string kCopy = "type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"2\" depid=\"-1\" deps=\"-1\"";

// The first message, without place and source line.
std::string error(const std::string& text) {
  try {
    (void)read_program(text, "a.xml");
  } catch (const ConfigError& e) {
    return e.diagnostics().front().message;
  }
  return "none";
}
std::string error_of(const std::string& algo, const std::string& step) { return error(one_gpu(algo, step)); }

TEST(MscclReaderTest, ReadsEveryAttribute) {
  const Program program = read_program_file(path_of("allpairs_all_reduce"));
  EXPECT_EQ(program.name, "allpairs_all_reduce");
  EXPECT_EQ(program.collective, Collective::kAllReduce);
  EXPECT_EQ(program.protocol, "LL");
  EXPECT_EQ(program.channels, 1);
  EXPECT_EQ(program.chunks_per_loop, 4);
  EXPECT_EQ(program.ranks(), 4);
  EXPECT_TRUE(program.in_place);
  EXPECT_FALSE(program.out_of_place);
  EXPECT_EQ(program.min_bytes, 0);
  EXPECT_EQ(program.max_bytes, 1 << 20);
  EXPECT_EQ(program.threads, 512);
  EXPECT_EQ(program.reduction, "sum");
  const Gpu& gpu = program.gpus[1];
  EXPECT_EQ(gpu.input_chunks, 4);
  EXPECT_EQ(gpu.scratch_chunks, 3);
  ASSERT_EQ(gpu.blocks.size(), 3U);
  EXPECT_EQ(gpu.blocks[0].send, 2);
  EXPECT_EQ(gpu.blocks[0].receive, 2);
  ASSERT_EQ(gpu.blocks[0].steps.size(), 8U);
  const ProgramStep& nop = gpu.blocks[0].steps[2];
  EXPECT_EQ(nop.op, Op::kNop);
  EXPECT_EQ(nop.wait_block, 1);
  EXPECT_EQ(nop.wait_step, 1);
  const ProgramStep& reduce = gpu.blocks[0].steps[5];
  EXPECT_EQ(reduce.op, Op::kReduce);
  EXPECT_EQ(reduce.source.buffer, Buffer::kScratch);
  EXPECT_EQ(reduce.source.chunk, 2);
  EXPECT_EQ(reduce.destination.chunk, 1);
  EXPECT_TRUE(reduce.waited_for);
  EXPECT_FALSE(gpu.blocks[0].steps[4].waited_for);
}

// MSCCL 0.1 has no `outofplace`, and up to 128 MiB where maxBytes is not given.
TEST(MscclReaderTest, FillsInWhatMayBeLeftOut) {
  const Program program = read_program(one_gpu(kPlain, kCopy), "a.xml");
  EXPECT_TRUE(program.out_of_place);
  EXPECT_FALSE(program.in_place);
  EXPECT_EQ(program.max_bytes, 128 << 20);
  EXPECT_EQ(program.threads, 0);
  const Program in_place = read_program(one_gpu("nchunksperloop=\"2\" inplace=\"1\"", kCopy), "a.xml");
  EXPECT_FALSE(in_place.out_of_place);
}

TEST(MscclReaderTest, TheSourceOfAReceiveAndReduceMayBeLeftToItsDestination) {
  const Program program = read_program(
      R"(<algo name="x" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2" coll="reduce" inplace="1">
  <gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0"><tb id="0" send="-1" recv="1" chan="0">
    <step s="0" type="rrc" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
  <gpu id="1" i_chunks="1" o_chunks="1" s_chunks="0"><tb id="0" send="0" recv="-1" chan="0">
    <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="-1" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
</algo>)",
      "x.xml");
  EXPECT_EQ(program.gpus[0].blocks[0].steps[0].source.buffer, Buffer::kOutput);
  EXPECT_EQ(program.gpus[0].blocks[0].steps[0].source.chunk, 0);
}

// Other tools write attributes of their own; a misspelt one leaves a required one missing, which is an error.
TEST(MscclReaderTest, UnknownAttributesAreWarnedOfOnceForEachKindOfElement) {
  const std::string step = "pipelined=\"1\" " + kCopy;
  const Program program =
      read_program(one_gpu(kPlain + " note=\"made by hand\"", step + " hasdep=\"0\"/><step s=\"1\" " + step), "a.xml");
  ASSERT_EQ(program.warnings.size(), 2U);
  EXPECT_EQ(program.warnings[0].message, "algo: unknown attribute 'note'");
  EXPECT_EQ(program.warnings[1].message, "algo.gpu[0].tb[0].step[0]: unknown attribute 'pipelined'");
}

TEST(MscclReaderTest, MalformedFilesAreRefusedWithPlaceAndNearestName) {
  const struct {
    std::string name;
    std::string what;  // after the path
    std::string note;
  } cases[] = {
      {"unknown_step_type", ":6:19: error: algo.gpu[0].tb[0].step[1].type: unknown step type 'rcc'\n",
       "note: did you mean 'rcs'? choices: cpy, nop, r, rcs, re, rrc, rrcs, rrs, s\n"},
      {"unknown_attribute", ":5:39: error: algo.gpu[0].tb[0].step[0]: unknown attribute 'srcof'\n",
       "note: did you mean 'srcoff'? attributes here: cnt, depid, deps, dstbuf, dstoff, hasdep, s, srcbuf, srcoff, type\n"},
      {"missing_attribute", ":5:7: error: algo.gpu[0].tb[0].step[0]: attribute 'cnt' is missing\n", ""},
      {"unknown_element", ":10:3: error: algo.gpu[0]: unknown element 'thread'\n", "note: elements here: tb\n"},
      {"unknown_collective", ":2:91: error: algo.coll: unknown collective 'alreduce'\n",
       "note: did you mean 'allreduce'? choices: allgather, allreduce, alltoall, broadcast, gather, reduce, reduce_scatter, "
       "reducescatter, scatter\n"},
      {"count_too_large", ":5:73: error: algo.gpu[0].tb[0].step[0].cnt: expected a whole number from 1 to 71, got '72'\n", ""},
      {"step_out_of_order", ":6:13: error: algo.gpu[0].tb[0].step[1].s: expected 1, its place in the threadblock, got 2\n", ""},
      {"missing_gpu", ":2:74: error: algo.gpu[2]: missing; ngpus says 3\n", ""},
      {"send_to_itself", ":4:16: error: algo.gpu[0].tb[0].send: GPU 0 has no connection to itself\n", ""},
      {"no_receive_peer", ":6:19: error: algo.gpu[0].tb[0].step[1]: 'rrc' receives, but the threadblock has no receive peer\n",
       ""},
      {"chunk_out_of_range", ":6:7: error: algo.gpu[0].tb[0].step[1]: chunk 2 of buffer 'o', which has 2 (o_chunks)\n", ""},
      {"not_xml", ":5:77: error: not well-formed XML: error parsing element attribute\n", ""},
      {"connection_used_twice",
       ":10:5: error: algo.gpu[0].tb[1]: sends to GPU 1 on channel 0, as tb 0 does; one threadblock only may\n", ""},
      {"one_send_too_many",
       ":9:7: error: algo.gpu[0].tb[0].step[4]: sends to GPU 1 on channel 0, which receives from it only 2 times\n", ""},
      {"counts_differ",
       ":14:7: error: algo.gpu[1].tb[0].step[1].cnt: receives 1 chunks, but algo.gpu[0].tb[0].step[0] sends 2\n", ""},
      {"dependency_never_told",
       ":11:7: error: algo.gpu[0].tb[1].step[0]: waits for ever: step 1 of tb 0 has hasdep 0 and never tells\n", ""},
      {"writes_input",
       ":16:7: error: algo.gpu[1].tb[0].step[3]: writes the input, but the algorithm may be used out of place\n", ""}};
  for (const auto& c : cases) {
    const std::string path = path_of("bad/" + c.name);
    try {
      (void)read_program_file(path);
      ADD_FAILURE() << c.name;
    } catch (const ConfigError& e) {
      const std::string text = e.what();
      EXPECT_EQ(text.substr(0, path.size() + c.what.size()), path + c.what);
      EXPECT_THAT(text, HasSubstr(c.note));
    }
  }
}

TEST(MscclReaderTest, AMissingFileIsNamed) {
  try {
    (void)read_program_file(path_of("ring_all_gathr"));
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no such file\nnote: did you mean 'ring_all_gather.xml'?"));
  }
}

TEST(MscclReaderTest, OtherXmlIsNoAlgorithm) {
  EXPECT_EQ(error("<system version=\"1\"/>"), "expected the root element 'algo' of an MSCCL algorithm, got 'system'");
}

TEST(MscclReaderTest, LimitsHoldFromBothSides) {
  const auto with = [](std::string text, const std::string& old, const std::string& now) {
    return text.replace(text.find(old), old.size(), now);
  };
  const std::string good = one_gpu("nchunksperloop=\"128\" inplace=\"0\"", kCopy);
  const std::string large = with(with(good, "i_chunks=\"2\"", "i_chunks=\"128\""), "o_chunks=\"2\"", "o_chunks=\"128\"");
  EXPECT_EQ(error(with(large, "cnt=\"2\"", "cnt=\"71\"")), "none");
  EXPECT_EQ(error(with(large, "cnt=\"2\"", "cnt=\"72\"")),
            "algo.gpu[0].tb[0].step[0].cnt: expected a whole number from 1 to 71, got '72'");
  EXPECT_EQ(error(with(good, "nchannels=\"2\"", "nchannels=\"64\"")), "none");
  EXPECT_EQ(error(with(good, "nchannels=\"2\"", "nchannels=\"65\"")),
            "algo.nchannels: expected a whole number from 1 to 64, got '65'");
  EXPECT_EQ(error(with(good, "chan=\"1\"", "chan=\"2\"")),
            "algo.gpu[0].tb[0].chan: expected a whole number from -1 to 1, got '2'");
  EXPECT_EQ(error(with(good, "i_chunks=\"2\"", "i_chunks=\"129\"")), "algo.gpu[0].i_chunks: 129, but the input has 128");
}

TEST(MscclReaderTest, AThreadblockHas256StepsAndAChannel32ThreadblocksAtMost) {
  const auto program = [](int blocks, int steps) {
    std::string text =
        "<algo name=\"many\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"1\" ngpus=\"1\" coll=\"allreduce\" "
        "inplace=\"0\"><gpu id=\"0\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\">";
    for (int b = 0; b < blocks; ++b) {
      text += "<tb id=\"" + std::to_string(b) + "\" send=\"-1\" recv=\"-1\" chan=\"0\">";
      for (int s = 0; s < steps; ++s) {
        text += "<step s=\"" + std::to_string(s) +
                "\" type=\"nop\" srcbuf=\"i\" srcoff=\"-1\" dstbuf=\"i\" dstoff=\"-1\" cnt=\"0\" " +
                "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>";
      }
      text += "</tb>";
    }
    return text + "</gpu></algo>";
  };
  EXPECT_EQ(error(program(1, 256)), "none");
  EXPECT_EQ(error(program(1, 257)), "algo.gpu[0].tb[0]: 257 steps; MSCCL runs 256 at most");
  EXPECT_EQ(error(program(32, 1)), "none");
  EXPECT_EQ(error(program(33, 1)), "algo.gpu[0]: more than 32 threadblocks on channel 0");
}

TEST(MscclReaderTest, ValuesThatCannotBeAreRefused) {
  EXPECT_EQ(error_of("nchunksperloop=\"two\" inplace=\"0\"", kCopy),
            "algo.nchunksperloop: expected a whole number from 1 to 1048576, got 'two'");
  EXPECT_EQ(error_of("nchunksperloop=\"2\" inplace=\"2\"", kCopy),
            "algo.inplace: expected a whole number from 0 to 1, got '2'");
  EXPECT_EQ(error_of("nchunksperloop=\"2\" inplace=\"0\" outofplace=\"0\"", kCopy),
            "algo.inplace: neither in place nor out of place leaves no call to use it for");
  EXPECT_EQ(error_of(kPlain + " minBytes=\"8\" maxBytes=\"7\"", kCopy), "algo.maxBytes: 7 is below minBytes, 8");
  EXPECT_EQ(error_of(kPlain + " redop=\"summ\"", kCopy), "algo.redop: unknown reduction 'summ'");
  const std::string local = "type=\"cpy\" srcbuf=\"i\" dstbuf=\"o\" dstoff=\"0\" cnt=\"2\" ";
  EXPECT_EQ(error_of(kPlain, local + "srcoff=\"-1\" depid=\"-1\" deps=\"-1\""),
            "algo.gpu[0].tb[0].step[0].srcoff: 'cpy' reads a chunk, got -1");
  EXPECT_EQ(error_of(kPlain, local + "srcoff=\"0\" depid=\"1\" deps=\"0\""),
            "algo.gpu[0].tb[0].step[0].depid: no tb 1 on this GPU, which has 1");
  EXPECT_EQ(error_of(kPlain, local + "srcoff=\"0\" depid=\"0\" deps=\"3\""),
            "algo.gpu[0].tb[0].step[0].deps: no step 3 in tb 0, which has 1");
  EXPECT_EQ(error_of(kPlain, local + "srcoff=\"0\" depid=\"0\" deps=\"0\""),
            "algo.gpu[0].tb[0].step[0]: waits for step 0 of its own threadblock, which comes after it");
}

TEST(MscclReaderTest, ChunksMustBeSharedOutEvenlyAmongGpus) {
  const auto text = [](int chunks) {
    return "<algo name=\"x\" proto=\"LL\" nchannels=\"1\" ngpus=\"2\" coll=\"alltoall\" inplace=\"0\" nchunksperloop=\"" +
           std::to_string(chunks) +
           "\"><gpu id=\"0\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\"/><gpu id=\"1\" i_chunks=\"2\" o_chunks=\"2\" "
           "s_chunks=\"0\"/></algo>";
  };
  EXPECT_EQ(error(text(4)), "none");
  EXPECT_EQ(error(text(3)), "algo.nchunksperloop: 3 chunks cannot be shared by 2 GPUs");
}

TEST(MscclReaderTest, ACollectiveThatTheFileDoesNotDefineCannotBeVerified) {
  std::string text = one_gpu(kPlain, kCopy);
  const std::string old = "coll=\"allreduce\"";
  text.replace(text.find(old), old.size(), "coll=\"custom\"");
  EXPECT_EQ(error(text), "algo.coll: 'custom' does not say what the GPUs must end with, so it cannot be verified");
}

TEST(MscclReaderTest, EveryErrorOfAFileIsReported) {
  try {
    (void)read_program(one_gpu("nchunksperloop=\"2\" inplace=\"2\"", kCopy + " color=\"red\""), "a.xml");
    FAIL();
  } catch (const ConfigError& e) {
    // The attribute that nobody knows may be the cause of the other error.
    EXPECT_EQ(e.diagnostics().size(), 2U);
  }
}

}  // namespace
}  // namespace weft::coll::msccl
