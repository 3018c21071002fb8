#include <gtest/gtest.h>

#include "tests/workloads/trace/trace_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

// The sample of models/workloads §5.4.
constexpr std::string_view kSimai =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 16 checkpoints: 0 "
    "checkpoint_initiates: 0\n"
    "4\n"
    "grad_gather\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLGATHER\t100663296\t100\n"
    "grad_param_comm\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tREDUCESCATTER\t201326592\t100\n"
    "attention_column\t-1\t850000\tALLGATHER\t16777216\t850000\tREDUCESCATTER\t16777216\t850000\tNONE\t0\t100\n"
    "attention_row\t-1\t850000\tREDUCESCATTER\t16777216\t850000\tALLGATHER\t16777216\t850000\tNONE\t0\t100\textra\n";

TEST(LayerTableTest, SimaisSampleHasItsGroupsAndItsTimes) {
  const Trace trace = trace_builtin::simai.read(std::vector{write_trace("w.txt", std::string{kSimai})}, {});
  ASSERT_EQ(trace.program.ranks.size(), 16U);
  const RankProgram& program = trace.program.program_of(9);
  Duration compute;
  std::vector<std::pair<coll::Collective, std::vector<Rank>>> calls;
  for (const Operation& op : program.operations) {
    compute += op.duration;
    if (op.kind != OpKind::kCollective) continue;
    calls.emplace_back(op.collective, trace.program.groups[trace.program.ranks[9].groups[op.slot]].ranks);
  }
  // Two rows of three times 1 ns, two of three times 850 us, four updates of 100 ns.
  EXPECT_EQ(compute, 6 * 1_ns + 6 * 850_us + 4 * 100_ns);
  const std::vector<Rank> tensor = {8, 9, 10, 11, 12, 13, 14, 15};
  const std::vector<Rank> data = {1, 9};
  using enum coll::Collective;
  // Forward through the rows, backward in reverse order.
  EXPECT_EQ(calls, (std::vector<std::pair<coll::Collective, std::vector<Rank>>>{{kAllGather, tensor},
                                                                                {kReduceScatter, tensor},
                                                                                {kAllGather, tensor},
                                                                                {kReduceScatter, tensor},
                                                                                {kReduceScatter, data},
                                                                                {kAllGather, data}}));
}

// The sample of models/workloads §5.5, with the number of ranks that the format lacks.
TEST(LayerTableTest, AstrasDataParallelGradientsMoveBesideTheBackwardPass) {
  const Trace trace = trace_builtin::astra_text.read(
      std::vector{write_trace("w.txt",
                              "DATA ranks: 2\n2\nconv1 -1 1000 NONE 0 900 NONE 0 900 ALLREDUCE 4194304 10\n"
                              "fc    -1  500 NONE 0 400 NONE 0 400 ALLREDUCE 8388608 10\n")},
      {});
  const TraceRun run{trace.program};
  // 0 conv1, 1 fc forward; 2 ig, 3 wg and 4 all-reduce of fc; 5 ig, 6 wg, 7 all-reduce of conv1; 8 and 9 updates.
  EXPECT_EQ(run.of(0, 4).start, Time{} + 2300_ns) << "1000 + 500 + 400 + 400 ns";
  EXPECT_EQ(run.of(0, 6).end, Time{} + 4100_ns) << "does not wait for the all-reduce";
  EXPECT_EQ(run.of(0, 7).start, run.of(0, 4).end);
  EXPECT_EQ(run.of(0, 8).start, run.of(0, 7).end);
}

// Like formats say alike what they leave out.
TEST(LayerTableTest, BothFormatsSayThatCheckpointsAreLeftOut) {
  const std::string rows = "1\na -1 1000 NONE 0 2000 NONE 0 2000 NONE 0 1\n";
  const std::string policy = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ";
  const auto findings = [&](const TraceFormat& format, const std::string& header) {
    return format.read(std::vector{write_trace("w.txt", policy + header + "\n" + rows)}, {}).findings;
  };
  for (const auto& [format, ranks] :
       {std::pair{&trace_builtin::astra_text, "ranks: 4"}, std::pair{&trace_builtin::simai, "ep: 1 all_gpus: 4"}}) {
    const auto said = findings(*format, std::string{"pp: 1 checkpoints: 1 0 "} + ranks);
    ASSERT_EQ(said.size(), 1U) << format->name;
    EXPECT_EQ(said[0].message, "checkpoints: recomputation is left out");
    EXPECT_EQ(said[0].where.line, 1);
    EXPECT_TRUE(findings(*format, std::string{"pp: 1 checkpoints: 0 "} + ranks).empty()) << format->name;
  }
}

TEST(LayerTableTest, CallsOfGroupsOfOneRankAreCounted) {
  const Trace trace = trace_builtin::astra_text.read(
      std::vector{write_trace("w.txt",
                              "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ranks: 4\n2\n"
                              "a -1 1000 ALLGATHER 1000000 2000 ALLREDUCE 1000 2000 NONE 0 1\n"
                              "b -1 1000 NONE 0 2000 NONE 0 2000 ALLREDUCE 1000 1\n")},
      {});
  ASSERT_EQ(trace.findings.size(), 1U) << "the data-parallel group has four";
  EXPECT_EQ(trace.findings[0].message, "2 calls of tensor-parallel groups of one rank move nothing and are left out");
}

TEST(LayerTableTest, ReadsBroadcasts) {
  const Trace trace = trace_builtin::astra_text.read(
      std::vector{write_trace("w.txt", "MODEL ranks: 2\n1\nnorm -1 0 BROADCAST 16384 1 NONE 0 1 NONE 0 100\n")}, {});
  const Operation& first = trace.program.program_of(0).operations.at(0);
  EXPECT_EQ(first.collective, coll::Collective::kBroadcast);
  EXPECT_EQ(first.bytes, 16_KiB);
}

TEST(LayerTableTest, AreRecognised) {
  EXPECT_TRUE(trace_builtin::simai.recognises("w.txt", kSimai));
  EXPECT_FALSE(trace_builtin::astra_text.recognises("w.txt", kSimai));
  EXPECT_TRUE(trace_builtin::astra_text.recognises("w.txt", "DATA\n2\n"));
  EXPECT_FALSE(trace_builtin::simai.recognises("w.txt", "DATA\n2\n"));
}

TEST(LayerTableTest, NameWhatIsWrongAndWhere) {
  const auto astra = [](const std::string& text) {
    return first_error(trace_builtin::astra_text, {write_trace("w.txt", text)});
  };
  const auto simai = [](const std::string& text) { return first_error(trace_builtin::simai, {write_trace("w.txt", text)}); };
  EXPECT_EQ(astra(""), "w.txt: expected a policy such as DATA, found nothing");
  EXPECT_EQ(astra("DATA\n2\n"), "w.txt:1:1: the file does not say how many ranks there are");
  EXPECT_EQ(astra("HYBRID_DLRM 3 ranks: 4\n2\n"), "w.txt:1:1: the policy 'HYBRID_DLRM' is not read");
  EXPECT_EQ(astra("DATA ranks: 4\n2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"),
            "w.txt:3:0: 2 rows are announced, but the file ends after 1");
  EXPECT_EQ(astra("DATA ranks: 4\n1\na -1 1 NONE 0 1 NONE 0 1 ALREDUCE 5 1\n"), "w.txt:3:26: unknown collective 'ALREDUCE'");
  EXPECT_EQ(astra("DATA ranks: 4\n1\na -1 nan NONE 0 1 NONE 0 1 NONE 5 1\n"),
            "w.txt:3:6: expected nanoseconds from 0 to 100000000000000, found 'nan'");
  EXPECT_EQ(simai("HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: 1\n"), "w.txt:1:1: all_gpus is missing: the number of ranks");
  EXPECT_EQ(simai("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 3 all_gpus: 8\n"),
            "w.txt:1:1: all_gpus 8 is no multiple of model_parallel_NPU_group 3 x pp 1 x ep 1");
}

}  // namespace
}  // namespace weft::work::test
