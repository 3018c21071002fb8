// Kineto traces made by hand, and two real sets.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/workloads/trace/stand_ins.h"
#include "sim/workloads/trace/trace_format.h"
#include "sim/workloads/trace/trace_summary.h"
#include "tests/support/temp_folder.h"

namespace weft::work {
namespace {

using namespace literals;

// One rank of a made-up trace; times in microseconds.
class RankFile {
 public:
  explicit RankFile(int rank, int world = 2) : rank_{rank}, world_{world} {}

  RankFile& launch(double at, int correlation) {
    add(fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":4,"args":{{"correlation":{}}}}})",
        at, correlation));
    return *this;
  }
  RankFile& wait(double at) {
    add(fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":1,"tid":1,"ts":{},"dur":1,"args":{{}}}})", at));
    return *this;
  }
  RankFile& kernel(double at, double duration, int stream, int correlation, const std::string& name = "gemm",
                   const std::string& more = "") {
    add(fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"stream":{},"correlation":{}{}}}}})",
        name, stream, at, duration, stream, correlation, more));
    return *this;
  }
  RankFile& all_reduce(double at, double duration, int correlation, std::int64_t elements) {
    return kernel(
        at, duration, 20, correlation, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
        fmt::format(
            R"(,"Collective name":"allreduce","dtype":"BFloat16","In msg nelems":{},"Out msg nelems":{},"Group size":{},)"
            R"("Process Group Name":"0","Process Group Ranks":"[0, 1]","grid":[24,1,1])",
            elements, elements, world_));
  }
  RankFile& raw(const std::string& event) {
    add(event);
    return *this;
  }
  [[nodiscard]] std::filesystem::path write(const std::string& stem) const {
    static const weft::test::TempFolder folder;
    return folder.write(
        fmt::format("{}.rank{}.json", stem, rank_),
        fmt::format(R"({{"schemaVersion":1,"distributedInfo":{{"rank":{},"world_size":"{}"}},"traceEvents":[{}]}})", rank_,
                    world_, events_));
  }

 private:
  void add(const std::string& event) { events_ += (events_.empty() ? "" : ",\n") + event; }
  int rank_;
  int world_;
  std::string events_;
};

std::string all_findings(const Trace& trace) {
  std::string text;
  for (const Diagnostic& finding : trace.findings) text += finding.message + "\n";
  return text;
}

std::string refusal(const std::vector<std::filesystem::path>& files) {
  try {
    (void)read_trace(files, {});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

const Operation& first_of(const RankProgram& program, OpKind kind) {
  return *std::ranges::find(program.operations, kind, &Operation::kind);
}

TEST(KinetoTest, KernelsKeepTheirTimesAndCollectivesTheirBytes) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    files.push_back(RankFile{rank}
                        .launch(0, 1)
                        .launch(20, 2)
                        .kernel(10, 45.5, 7, 1)
                        .all_reduce(60, rank == 0 ? 80.25 : 100, 2, 1048576)
                        .write("KeepTimes"));
  }
  const Trace trace = read_trace(files, {});
  ASSERT_EQ(trace.program.ranks.size(), 2U);
  const RankProgram& program = trace.program.program_of(0);
  const Operation& kernel = first_of(program, OpKind::kKernel);
  EXPECT_EQ(kernel.category, Category::kGemm);
  // Launched at 0, begun at 10: the gap is part of the operation.
  EXPECT_EQ(kernel.duration, 55'500_ns);
  const Operation& call = first_of(program, OpKind::kCollective);
  EXPECT_EQ(call.collective, coll::Collective::kAllReduce);
  EXPECT_EQ(call.bytes, 2_MiB);
  EXPECT_EQ(call.element_size, 2);
  EXPECT_EQ(trace.program.groups.at(trace.program.ranks[0].groups[call.slot]).ranks, (std::vector<Rank>{0, 1}));
  // From the first kernel's begin to the last end: 10 to 160.
  EXPECT_EQ(trace.recorded_step, 150_us);
  // Rank 1 waited 19.75 us more: the call itself took what rank 0 saw.
  const TraceSummary summary = summarize(trace);
  ASSERT_EQ(summary.calls.size(), 1U);
  EXPECT_EQ(summary.calls[0].shortest, 80'250_ns);
  EXPECT_EQ(summary.ranks[0].exposed, 80'250_ns);
}

// The call's first block begins 20 us before the GEMM's last one ends.
TEST(KinetoTest, ACallCountsFromWhenTheGemmThatFilledTheGpuHasEnded) {
  const std::string memset =
      R"({"ph":"X","cat":"gpu_memset","name":"Memset","pid":0,"tid":7,"ts":5,"dur":1,"args":{"stream":7,"correlation":3}})";
  const auto shortest = [&](bool counts_tiles, double gemm_ends, const std::string& stem) {
    std::vector<std::filesystem::path> files;
    for (int rank = 0; rank < 2; ++rank) {
      RankFile file{rank};
      if (counts_tiles) file.launch(0, 3).raw(memset);
      file.launch(1, 1).launch(2, 2).kernel(10, gemm_ends - 10, 7, 1).all_reduce(80, 100 + rank, 2, 1024);
      files.push_back(file.write(stem));
    }
    return summarize(read_trace(files, {})).calls.at(0).shortest;
  };
  EXPECT_EQ(shortest(true, 100, "Drains"), 80_us);
  // Begun when the GEMM had just ended, and inside one that outlasts the call, which must have had its SMs.
  EXPECT_EQ(shortest(true, 80, "Drained"), 100_us);
  EXPECT_EQ(shortest(true, 300, "Outlasts"), 100_us);
  // One that shares out its tiles in advance has freed most SMs before its second wave.
  EXPECT_EQ(shortest(false, 100, "Static"), 100_us);
}

TEST(KinetoTest, HostTimeBetweenLaunchesIsKept) {
  const Trace trace = read_trace(
      std::vector{RankFile{0, 1}.launch(0, 1).launch(500, 2).kernel(10, 5, 7, 1).kernel(510, 5, 7, 2).write("HostTime")}, {});
  Duration host;
  for (const Operation& op : trace.program.program_of(0).operations) {
    EXPECT_FALSE(op.launched);
    if (op.kind == OpKind::kHostDelay) host += op.duration;
  }
  EXPECT_EQ(host, 500_us);
}

TEST(KinetoTest, AWaitThatSomeInstanceContradictsIsNone) {
  // Twice the same calls: once the kernel on stream 7 begins after the one on 8 has ended, once before.
  const auto trace_of = [](double second_begin, const std::string& stem) {
    return read_trace(std::vector{RankFile{0, 1}
                                      .launch(0, 1)
                                      .kernel(5, 50, 8, 1)
                                      .wait(10)
                                      .launch(12, 2)
                                      .kernel(60, 10, 7, 2)
                                      .launch(100, 3)
                                      .kernel(105, 50, 8, 3)
                                      .wait(110)
                                      .launch(112, 4)
                                      .kernel(second_begin, 10, 7, 4)
                                      .write(stem)},
                      {});
  };
  const auto waits = [](const Trace& trace) { return trace.program.program_of(0).waits.size(); };
  EXPECT_EQ(waits(trace_of(160, "Consistent")), 2U);
  // The first one began just when the other ended, and late: its own times tell of that one wait.
  EXPECT_EQ(waits(trace_of(120, "Contradicted")), 1U);
}

TEST(KinetoTest, ACollectiveThatOneRankLacksIsNamedAndKeepsItsTime) {
  const std::vector files{
      RankFile{0}.launch(0, 1).launch(5, 2).all_reduce(10, 20, 1, 1024).all_reduce(40, 30, 2, 2048).write("Lacks"),
      RankFile{1}.launch(0, 1).all_reduce(10, 20, 1, 1024).write("Lacks")};
  const Trace trace = read_trace(files, {});
  EXPECT_NE(all_findings(trace).find("all_reduce number 1 of group '0' is only on rank 0"), std::string::npos)
      << all_findings(trace);
  const std::vector<Operation>& operations = trace.program.program_of(0).operations;
  EXPECT_EQ(std::ranges::count(operations, OpKind::kCollective, &Operation::kind), 1);
  EXPECT_EQ(std::ranges::count(operations, OpKind::kKernel, &Operation::kind), 1);
}

TEST(KinetoTest, ClocksAreAlignedOnTheEndsOfCollectives) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 2; ++rank) {
    const double ahead = 5000.0 * rank;
    files.push_back(RankFile{rank}.launch(ahead, 1).all_reduce(10 + ahead, 20, 1, 1024).write("Clocks"));
  }
  const Trace trace = read_trace(files, {});
  EXPECT_NE(all_findings(trace).find("the clock of rank 1 is 5.000 ms ahead of rank 0's"), std::string::npos)
      << all_findings(trace);
  EXPECT_EQ(trace.recorded_step, 20_us);
}

TEST(KinetoTest, MissingRanksFollowTheOneBeforeThem) {
  const Trace trace = read_trace(std::vector{RankFile{0}.launch(0, 1).all_reduce(10, 20, 1, 1024).write("Missing")}, {});
  ASSERT_EQ(trace.program.ranks.size(), 2U);
  EXPECT_EQ(trace.program.ranks[1].leader, 0);
  EXPECT_NE(all_findings(trace).find("1 of 2 ranks have no trace (1)"), std::string::npos);
}

TEST(KinetoTest, CopiesOfAJobShareTheGroupOfAllRanks) {
  Trace trace = read_trace(std::vector{RankFile{0}.launch(0, 1).all_reduce(10, 20, 1, 1024).write("Copies")}, {});
  EXPECT_FALSE(replicate(trace.program, 3, {}).empty());
  EXPECT_EQ(trace.program.ranks.size(), 6U);
  EXPECT_EQ(trace.program.groups[0].ranks, (std::vector<Rank>{0, 1, 2, 3, 4, 5}));
  EXPECT_THROW(replicate(trace.program, 2, {"nothing"}), ConfigError);
}

// Of each kind the first is named.
TEST(KinetoTest, SizesAndGridsThatNoneHasAreCountedAndTakenAsNothing) {
  const auto copy = [](int correlation, const std::string& bytes) {
    return fmt::format(R"({{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":{},"dur":1,)"
                       R"("args":{{"stream":7,"correlation":{},"bytes":{}}}}})",
                       20 * correlation, correlation, bytes);
  };
  const Trace trace = read_trace(std::vector{RankFile{0, 1}
                                                 .launch(0, 1)
                                                 .launch(5, 2)
                                                 .launch(10, 3)
                                                 .launch(15, 4)
                                                 .raw(copy(1, "-7"))
                                                 .raw(copy(2, "1125899906842625"))  // 1 PiB and a byte
                                                 .raw(copy(3, "1125899906842624"))
                                                 .kernel(80, 5, 7, 4, "gemm", R"(,"grid":[2147483648,1,1])")
                                                 .write("Odd")},
                                 {});
  const std::string findings = all_findings(trace);
  EXPECT_NE(findings.find("2 sizes of copies that none has, such as -7: taken as 0"), std::string::npos) << findings;
  EXPECT_NE(findings.find("1 grids of kernels that none has, such as [2147483648, 1, 1]: taken as 0"), std::string::npos)
      << findings;
}

TEST(KinetoTest, BadFilesAreLocatedErrors) {
  const auto bad = [](const std::string& event) { return refusal({RankFile{0, 1}.launch(0, 1).raw(event).write("Bad")}); };
  EXPECT_NE(bad(R"({"ph":"X","cat":"kernel","name":"k","ts":NaN,"dur":1})").find("ts 'NaN' is no time"), std::string::npos);
  EXPECT_NE(bad(R"({"ph":"X","cat":"kernel","name":"k","ts":1,"dur":-1})").find("dur is negative"), std::string::npos);
  EXPECT_NE(bad(R"({"ph":"X","cat":"kernel","name":"k","dur":1})").find("a kernel without ts"), std::string::npos);
  EXPECT_NE(bad("7").find("no object"), std::string::npos);
  EXPECT_NE(refusal({RankFile{0, 1}.launch(0, 1).write("Empty")}).find("no kernels"), std::string::npos);
  const auto twice = RankFile{0}.launch(0, 1).kernel(5, 5, 7, 1).write("Twice");
  EXPECT_NE(refusal({twice, twice}).find("is of rank 0, and so is"), std::string::npos);
}

// The figures of validate/training/trace_categories.py, by its definitions, for rank 0
// (tests/data/h200x4/train/categories.json).
TEST(KinetoTest, ARealSetGivesTheFiguresThatTheScriptGives) {
  std::vector<std::filesystem::path> files;
  for (int rank = 0; rank < 4; ++rank) {
    files.push_back(std::filesystem::path{WEFT_SOURCE_DIR} / "tests/data/traces" /
                    fmt::format("ep4_h4096_l4_s4096_e8k2.kineto.rank{}.json.gz", rank));
  }
  const Trace trace = read_trace(files, {});
  EXPECT_EQ(trace.recorded_gpu, "NVIDIA H200");
  const TraceSummary summary = summarize(trace);
  ASSERT_EQ(summary.ranks.size(), 4U);
  EXPECT_EQ(summary.ranks[0].operations, 322U + 73U);
  ASSERT_EQ(summary.calls.size(), 1U);
  EXPECT_EQ(summary.calls[0].kind, "alltoall");
  EXPECT_EQ(summary.calls[0].count, 16U);
  EXPECT_EQ(summary.calls[0].bytes, 67'108'864);
}

}  // namespace
}  // namespace weft::work
