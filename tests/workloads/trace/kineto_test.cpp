// Kineto traces made by hand, and two real sets.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/workloads/trace/stand_ins.h"
#include "sim/workloads/trace/trace_format.h"
#include "sim/workloads/trace/trace_summary.h"
#include "tests/support/temp_folder.h"
#include "tests/workloads/trace/rank_file.h"

namespace weft::work {
namespace {

using namespace literals;
using test::all_findings;
using test::RankFile;

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
  // Launched at 0, begun at 10: the step begins with the first kernel, and its launch was ahead of that.
  EXPECT_EQ(kernel.duration, 45'500_ns);
  EXPECT_EQ(first_of(program, OpKind::kMarker).duration, 10_us);
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
  // The first kernels of both streams wait for the step's begin too.
  const auto waits = [](const Trace& trace) {
    const RankProgram& program = trace.program.program_of(0);
    return std::ranges::count_if(program.waits, [&](OpIndex wait) { return program.operations[wait].kind != OpKind::kMarker; });
  };
  EXPECT_EQ(waits(trace_of(160, "Consistent")), 2);
  // The first one began just when the other ended, and late: its own times tell of that one wait.
  EXPECT_EQ(waits(trace_of(120, "Contradicted")), 1);
}

// A step of 10 ms whose two kernels of 5 ms fill the GPU; the host launches them `lead` ahead. Times in microseconds.
RankFile& gpu_bound_steps(RankFile& file, int steps, double lead, const std::string& category = "user_annotation") {
  for (int step = 0; step < steps; ++step) {
    const double begin = 1'000 + 10'000.0 * step;
    file.raw(fmt::format(R"({{"ph":"X","cat":"{}","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":10000}})", category,
                         step + 1, begin));
    for (int k = 0; k < 2; ++k) {
      file.launch(begin + 100 * k, 2 * step + k).kernel(begin + lead + 5'000 * k, 5'000, 7, 2 * step + k);
    }
  }
  return file;
}

Duration marked_lead(const Trace& trace, Rank rank = 0) {
  const std::vector<Operation>& operations = trace.program.program_of(rank).operations;
  const auto at = std::ranges::find(operations, OpKind::kMarker, &Operation::kind);
  return at == operations.end() ? Duration{} : at->duration;
}

TEST(KinetoTest, TheLeadOfAHostOverItsGpuIsNoPartOfTheStep) {
  for (const double lead : {10.0, 8'000.0, 25'000.0}) {
    RankFile file{0, 1};
    const Trace trace = read_trace(std::vector{gpu_bound_steps(file, 4, lead).write("HostAhead")}, {});
    EXPECT_EQ(trace.recorded_step, 10_ms) << lead;
    // The step before ends on the GPU `lead` after the host has begun this one.
    EXPECT_EQ(marked_lead(trace), Duration::from_ns(static_cast<std::int64_t>(lead * 1e3))) << lead;
    EXPECT_EQ(all_findings(trace), "the trace holds 4 iterations; ProfilerStep#3 is replayed\n") << lead;
  }
}

TEST(KinetoTest, AFirstKernelThatBeginsLateBeginsTheStep) {
  for (const bool annotated : {false, true}) {
    RankFile file{0, 1};
    if (annotated)
      file.raw(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":1000,"dur":100})");
    file.launch(1'000, 1).kernel(9'000, 5'000, 7, 1).kernel(14'000, 5'000, 7, 1);
    const Trace trace = read_trace(std::vector{file.write("LateFirst")}, {});
    EXPECT_EQ(trace.recorded_step, 10_ms);
    EXPECT_EQ(marked_lead(trace), 8_ms);
    EXPECT_EQ(all_findings(trace), "");
  }
}

TEST(KinetoTest, TheHostsTimeBeforeItsFirstLaunchBelongsToAnAnnotatedStep) {
  RankFile file{0, 1};
  file.raw(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":1000,"dur":10000})")
      .launch(7'000, 1)
      .kernel(7'010, 3'000, 7, 1);
  const Trace trace = read_trace(std::vector{file.write("StepHead")}, {});
  EXPECT_EQ(trace.recorded_step, 10_ms);  // to the annotation's end: the GPU ended 990 us before
  EXPECT_EQ(marked_lead(trace), Duration{});
  Duration host;
  for (const Operation& op : trace.program.program_of(0).operations) {
    if (op.kind == OpKind::kHostDelay) host += op.duration;
  }
  EXPECT_EQ(host, 10_ms);
}

TEST(KinetoTest, OldTracesAnnotateStepsAsOperators) {
  RankFile file{0, 1};
  const Trace trace = read_trace(std::vector{gpu_bound_steps(file, 4, 10, "Operator").write("OldSteps")}, {});
  EXPECT_EQ(trace.recorded_iterations, 4);
  EXPECT_EQ(trace.recorded_step, 10_ms);
}

TEST(KinetoTest, AStepWithoutWorkIsNotChosen) {
  RankFile file{0, 1};
  for (const int step : {7, 8, 9}) {
    file.raw(fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":1000}})",
                         step, 1'000 * step));
  }
  file.launch(7'100, 1).kernel(7'110, 500, 7, 1);
  const Trace trace = read_trace(std::vector{file.write("EmptySteps")}, {});
  EXPECT_EQ(trace.recorded_step, 1_ms);
  EXPECT_EQ(all_findings(trace),
            "the trace holds 3 iterations, 2 of them without work on every rank; ProfilerStep#7 is replayed\n");
}

// Rank 1 begins 3 ms after rank 0, whose all-reduce waits for it.
TEST(KinetoTest, TheStepOfSeveralRanksBeginsWithTheLastOnes) {
  const std::vector files{RankFile{0}.launch(0, 1).all_reduce(10, 3'100, 1, 1024).write("Skew"),
                          RankFile{1}.launch(3'000, 1).all_reduce(3'010, 100, 1, 1024).write("Skew")};
  const Trace trace = read_trace(files, {});
  EXPECT_EQ(trace.recorded_step, 100_us);
  EXPECT_EQ(all_findings(trace),
            "the ranks began up to 3.00 ms after each other: the step is counted from the last one's begin\n");
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

// The first of each kind is named.
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

TEST(KinetoTest, CopiesAreNoCompute) {
  for (const std::string name : {"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)",
                                 "Memcpy DtoD (Device -> Device)", "CopyHostToDevice"}) {
    RankFile file{0, 1};
    file.launch(0, 1)
        .kernel(10, 1'000, 7, 1)
        .launch(20, 2)
        .raw(fmt::format(
            R"({{"ph":"X","cat":"gpu_memcpy","name":"{}","pid":0,"tid":7,"ts":1020,"dur":5000,"args":{{"stream":7,"correlation":2,"bytes":20000000}}}})",
            name));
    const TraceSummary summary = summarize(read_trace(std::vector{file.write("Copies")}, {}));
    EXPECT_EQ(summary.ranks.at(0).compute, 1_ms) << name;
    EXPECT_EQ(summary.ranks.at(0).busy[static_cast<std::size_t>(Category::kIo)], 5_ms) << name;
  }
}

// One launch at 5 us puts two kernels on stream 7 and one on stream 8, behind a kernel of stream 7 that ends at 110 us.
TEST(KinetoTest, AGraphsStreamsWaitForWhatItsLaunchComesAfter) {
  RankFile file{0, 1};
  file.launch(0, 1)
      .raw(
          R"({"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":1,"tid":1,"ts":5,"dur":4,"args":{"correlation":2}})")
      .launch(20, 3)
      .kernel(10, 100, 7, 1, "before")
      .kernel(110, 60, 7, 2, "first")
      .kernel(112, 50, 8, 2, "beside")
      .kernel(172, 30, 7, 2, "second")
      .kernel(202, 10, 7, 3, "after");
  const Trace trace = read_trace(std::vector{file.write("Graph")}, {});
  const RankProgram& program = trace.program.program_of(0);
  const auto named = [&](std::string_view name) {
    return std::ranges::find_if(program.operations, [&](const Operation& op) { return program.names[op.name] == name; });
  };
  const auto waits = [&](std::string_view name) {
    std::vector<std::string> on;
    for (const OpIndex each : program.waits_of(*named(name))) on.push_back(program.names[program.operations[each].name]);
    return on;
  };
  EXPECT_EQ(waits("beside"), (std::vector<std::string>{"before", std::string{kHostLead}}));
  EXPECT_EQ(named("beside")->duration, 52_us);  // and 2 us after what it waits for
  EXPECT_EQ(waits("first"), std::vector<std::string>{});
  EXPECT_EQ(waits("after"), std::vector<std::string>{"beside"});
  EXPECT_EQ(trace.recorded_step, 202_us);
}

TEST(KinetoTest, TensileKernelsAreGemms) {
  const Trace trace = read_trace(
      std::vector{RankFile{0, 1}.launch(0, 1).kernel(10, 500, 7, 1, "Cijk_Ailk_Bjlk_HHS_BH_MT128x128x32").write("Tensile")},
      {});
  EXPECT_EQ(first_of(trace.program.program_of(0), OpKind::kKernel).category, Category::kGemm);
}

// The host goes on when the device has done: its wait is none of its own work, whoever's library the call is from.
TEST(KinetoTest, HipCallsMeanWhatCudaCallsMean) {
  const auto operations = [](const std::string& library) {
    RankFile file{0, 1};
    file
        .raw(fmt::format(
            R"({{"ph":"X","cat":"cuda_runtime","name":"{}LaunchKernel","pid":1,"tid":1,"ts":0,"dur":2,"args":{{"correlation":1}}}})",
            library))
        .kernel(10, 5'000, 7, 1)
        .raw(fmt::format(
            R"({{"ph":"X","cat":"cuda_runtime","name":"{}DeviceSynchronize","pid":1,"tid":1,"ts":20,"dur":4995,"args":{{"correlation":2}}}})",
            library))
        .launch(5'100, 3)
        .kernel(5'110, 5'000, 7, 3);
    const Trace trace = read_trace(std::vector{file.write("Calls")}, {});
    std::vector<OpKind> kinds;
    for (const Operation& op : trace.program.program_of(0).operations) kinds.push_back(op.kind);
    return kinds;
  };
  EXPECT_EQ(std::ranges::count(operations("hip"), OpKind::kHostSync), 1);
  EXPECT_EQ(operations("hip"), operations("cuda"));
}

TEST(KinetoTest, TheOrderOfEventsInTheFileDoesNotMatter) {
  const auto read = [](bool backwards) {
    std::vector<std::string> events;
    for (const int i : {1, 2, 3}) {
      events.push_back(fmt::format(
          R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":4,"args":{{"correlation":{}}}}})",
          10 * i, i));
      events.push_back(fmt::format(
          R"({{"ph":"X","cat":"kernel","name":"k{}","pid":0,"tid":7,"ts":{},"dur":90,"args":{{"stream":7,"correlation":{}}}}})",
          i, 100 * i, i));
    }
    if (backwards) std::ranges::reverse(events);
    RankFile file{0, 1};
    for (const std::string& event : events) file.raw(event);
    return read_trace(std::vector{file.write("Order")}, {});
  };
  const Trace forwards = read(false);
  EXPECT_EQ(forwards.recorded_step, 290_us);
  EXPECT_EQ(read(true).recorded_step, forwards.recorded_step);
  EXPECT_EQ(read(true).recorded, forwards.recorded);
}

// Both have a stream 7, and work at the same time.
TEST(KinetoTest, GpusOfOneProcessHaveStreamsOfTheirOwn) {
  RankFile file{0, 1};
  file.launch(0, 1).launch(5, 2);
  for (const int device : {0, 1}) {
    file.raw(fmt::format(R"({{"ph":"X","cat":"kernel","name":"k","pid":{},"tid":7,"ts":20,"dur":500,)"
                         R"("args":{{"device":{},"stream":7,"correlation":{}}}}})",
                         device, device, device + 1));
  }
  const Trace trace = read_trace(std::vector{file.write("Gpus")}, {});
  std::set<std::uint8_t> streams;
  for (const Operation& op : trace.program.program_of(0).operations) {
    if (op.kind == OpKind::kKernel) streams.insert(op.stream);
  }
  EXPECT_EQ(streams.size(), 2U);
  EXPECT_EQ(all_findings(trace), "2 GPUs at work in one process: taken for one rank, with the streams of all of them\n");
}

TEST(KinetoTest, NegativeDurationsOfWhatTakesNoTimeAreCounted) {
  RankFile file{0, 1};
  for (const std::string category : {"cpu_op", "user_annotation", "overhead", "cuda_sync"}) {
    file.raw(fmt::format(R"({{"ph":"X","cat":"{}","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":-1}})", category));
  }
  file.raw(R"({"ph":"X","cat":"python_function","name":"f","pid":1,"tid":1,"ts":0,"dur":-1})")
      .raw(R"({"ph":"X","name":"f","ts":0,"dur":-1,"cat":"python_function"})")
      .launch(0, 1)
      .kernel(10, 500, 7, 1);
  EXPECT_EQ(all_findings(read_trace(std::vector{file.write("Negative")}, {})),
            "left out: 6 events of negative duration that take no time of GPU or driver\n");
}

TEST(KinetoTest, WorkOutsideOfMarkedStepsIsCounted) {
  RankFile file{0, 1};
  for (const int step : {1, 2}) {
    file.raw(fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":100}})",
                         step, 100 * step));
  }
  file.launch(50, 1).launch(110, 2).launch(210, 3).launch(300, 4);  // the first before, the last as the second step ends
  for (const int number : {1, 2, 3, 4}) file.kernel(100 * number + 20, 10, 7, number);
  EXPECT_NE(all_findings(read_trace(std::vector{file.write("Outside")}, {}))
                .find("left out: 2 device activities launched in none of the marked iterations"),
            std::string::npos);
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
