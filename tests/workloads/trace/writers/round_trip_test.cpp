#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sim/workloads/trace/writers/trace_writer.h"
#include "sim/workloads/trace/writers/writers.h"
#include "tests/workloads/trace/trace_support.h"
#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

// Four ranks in two pairs and one group of all: kernels, collectives beside them on a stream of their own, messages down a
// pipeline, host delays and waits.
Program small_step() {
  Program program;
  program.groups = {
      {.name = "low", .ranks = {0, 1}}, {.name = "high", .ranks = {2, 3}}, {.name = "all", .ranks = {0, 1, 2, 3}}};
  for (Rank r = 0; r < 4; ++r) {
    RankProgramBuilder builder;
    const std::uint8_t compute = builder.stream("compute");
    const std::uint8_t comm = builder.stream("comm");
    const std::uint8_t next = builder.stream("next");
    const OpIndex first =
        builder.add({.duration = 20'300_ns + Duration::from_ps(1 + r), .stream = compute, .category = Category::kGemm}, "gemm");
    const OpIndex reduced =
        builder.add({.bytes = 1'000'000_B, .stream = comm, .kind = OpKind::kCollective, .category = Category::kCommTensor},
                    "tp", std::vector{first});
    builder.add({.duration = 4_us, .kind = OpKind::kHostDelay, .category = Category::kHost}, "optimizer on the host");
    const OpIndex second = builder.add({.duration = 31_us, .stream = compute, .category = Category::kAttention}, "attention");
    const bool sends = r < 2;
    const OpIndex moved = builder.add({.bytes = 250'000_B,
                                       .stream = next,
                                       .kind = sends ? OpKind::kSend : OpKind::kReceive,
                                       .category = Category::kCommPipeline,
                                       .tag = 3},
                                      "activations", sends ? std::vector{second} : std::vector<OpIndex>{});
    const OpIndex last =
        builder.add({.duration = 7_us, .stream = compute}, "norm", std::vector{reduced, sends ? kNoOp : moved});
    builder.allocate(second, 4096);
    builder.release(last, 4096);
    builder.add({.bytes = 64'000_B,
                 .slot = 1,
                 .stream = comm,
                 .kind = OpKind::kCollective,
                 .category = Category::kCommData,
                 .collective = coll::Collective::kAllToAll},
                "all to all", std::vector{last});
    builder.add({.bytes = 16'000_B,
                 .slot = 1,
                 .stream = comm,
                 .kind = OpKind::kCollective,
                 .category = Category::kCommData,
                 .collective = coll::Collective::kReduceScatter},
                "gradients");
    program.programs.push_back(builder.take());
    program.ranks.push_back({.program = static_cast<std::uint32_t>(r),
                             .groups = {r < 2 ? 0U : 1U, 2U},
                             .peers = {r < 2 ? r + 2 : r - 2},
                             .leader = r});
  }
  return program;
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string goal_text(const Program& program) {
  std::ostringstream out;
  write_goal(program, out);
  return out.str();
}

TEST(RoundTripTest, AProgramComesBackFromChakraAsItWas) {
  const Program program = small_step();
  const std::filesystem::path folder = trace_folder() / "chakra";
  std::filesystem::remove_all(folder);
  write_chakra(program, folder, "step");
  const Trace back = trace_builtin::chakra.read(files_in(folder), {});
  ASSERT_EQ(back.program.ranks.size(), 4U);
  for (Rank r = 0; r < 4; ++r) {
    const RankProgram& was = program.program_of(r);
    const RankProgram& is = back.program.program_of(r);
    ASSERT_EQ(is.operations.size(), was.operations.size());
    EXPECT_EQ(is.streams, was.streams);
    EXPECT_EQ(is.memory.size(), was.memory.size());
    for (std::size_t i = 0; i < was.operations.size(); ++i) {
      EXPECT_EQ(is.names[is.operations[i].name], was.names[was.operations[i].name]);
      EXPECT_EQ(is.operations[i].duration, was.operations[i].duration);
      EXPECT_EQ(is.operations[i].category, was.operations[i].category);
      EXPECT_TRUE(std::ranges::equal(is.waits_of(is.operations[i]), was.waits_of(was.operations[i])));
    }
  }
  EXPECT_EQ(TraceRun{back.program}.digest(), TraceRun{program}.digest());
}

TEST(RoundTripTest, WhatWasRecordedComesBackWithTheProgram) {
  Trace trace;
  trace.program = small_step();
  for (const RankProgram& each : trace.program.programs) {
    std::vector<RecordedTime>& times = trace.recorded.emplace_back();
    for (std::size_t i = 0; i < each.operations.size(); ++i) {
      times.push_back({.start = Duration::from_ns(static_cast<std::int64_t>(10 * i)), .duration = 7_ns, .blocks = 24});
    }
  }
  trace.recorded_step = 3_ms;
  trace.recorded_iterations = 5;
  trace.recorded_gpu = "NVIDIA H200";
  trace.full_clock = true;
  const std::filesystem::path folder = trace_folder() / "chakra";
  std::filesystem::remove_all(folder);
  write_chakra(trace.program, folder, "step", origin_of(trace));
  const Trace back = trace_builtin::chakra.read(files_in(folder), {});
  EXPECT_EQ(back.recorded, trace.recorded);
  EXPECT_EQ(back.recorded_step, trace.recorded_step);
  EXPECT_EQ(back.recorded_iterations, 5);
  EXPECT_EQ(back.recorded_gpu, "NVIDIA H200");
  EXPECT_TRUE(back.full_clock);
  ASSERT_EQ(back.program.groups.size(), trace.program.groups.size());
  for (std::size_t g = 0; g < back.program.groups.size(); ++g) {
    EXPECT_EQ(back.program.groups[g].name, trace.program.groups[g].name);
  }
}

TEST(RoundTripTest, RanksThatShareALeaderShareItsProgramAgain) {
  // Two pairs that do the same.
  Program program;
  program.groups = {{.name = "low", .ranks = {0, 1}}, {.name = "high", .ranks = {2, 3}}};
  RankProgramBuilder builder;
  const std::uint8_t compute = builder.stream("compute");
  builder.add({.duration = 5_us, .stream = compute}, "work");
  builder.add({.bytes = 1_MiB, .stream = compute, .kind = OpKind::kCollective, .category = Category::kCommData}, "sum");
  program.programs.push_back(builder.take());
  for (Rank r = 0; r < 4; ++r) program.ranks.push_back({.program = 0, .groups = {r < 2 ? 0U : 1U}, .peers = {}, .leader = 0});
  const std::filesystem::path folder = trace_folder() / "chakra";
  std::filesystem::remove_all(folder);
  write_chakra(program, folder, "step");
  const Trace back = trace_builtin::chakra.read(files_in(folder), {});
  ASSERT_EQ(back.program.programs.size(), 1U);
  for (const ProgramRank& rank : back.program.ranks) EXPECT_EQ(rank.leader, 0);
  EXPECT_TRUE(back.findings.empty());
  EXPECT_EQ(TraceRun{back.program}.digest(), TraceRun{program}.digest());
}

TEST(RoundTripTest, OthersMayReadWhatIsWrittenToChakra) {
  // Without Weft's own attributes the order of streams and the waits are in data_deps: the step runs as long, up to the whole
  // microseconds of the format and the rounding of each of three kernels in a row.
  const Program program = small_step();
  const std::filesystem::path folder = trace_folder() / "chakra";
  std::filesystem::remove_all(folder);
  write_chakra(program, folder, "step");
  for (const std::filesystem::path& file : files_in(folder)) {
    std::ifstream in{file, std::ios::binary};
    std::string content{std::istreambuf_iterator<char>{in}, {}};
    // The name is as long, so that lengths hold.
    for (std::size_t at = 0; (at = content.find("weft", at)) != std::string::npos; ++at) content.replace(at, 4, "none");
    std::ofstream{file, std::ios::binary} << content;
  }
  const Trace foreign = trace_builtin::chakra.read(files_in(folder), {});
  const Time exact = TraceRun{program}.end();
  const Time read = TraceRun{foreign.program}.end();
  EXPECT_GE(read, exact);
  EXPECT_LE(read, exact + 3_us);
}

TEST(RoundTripTest, ALoweredProgramComesBackFromGoalAsItWas) {
  LoweredProgram lowered = lower_to_messages(small_step());
  const std::string text = goal_text(lowered.program);
  const Trace back = trace_builtin::goal.read(std::vector{write_trace("step.goal", text)}, {});
  EXPECT_EQ(TraceRun{back.program}.digest(), TraceRun{lowered.program}.digest());
  EXPECT_EQ(goal_text(back.program).size(), text.size());
  // Written again, nothing changes any more.
  const Trace again = trace_builtin::goal.read(std::vector{write_trace("again.goal", goal_text(back.program))}, {});
  EXPECT_EQ(goal_text(again.program), goal_text(back.program));
}

// Holds of every writer there will be: what it writes is recognised, read, and written again as it was.
TEST(RoundTripTest, WhatEachRegisteredWriterWritesIsReadAndWrittenAgainAlike) {
  ASSERT_FALSE(trace_writers().empty());
  const auto write = [](const TraceWriter& writer, const Trace& trace, const std::string& name) {
    const std::filesystem::path place = trace_folder() / name;
    std::filesystem::remove_all(place);
    if (writer.to_folder != nullptr) {
      EXPECT_GT(writer.to_folder(trace, place, "step").operations, 0U);
    } else {
      std::ofstream out{place, std::ios::binary};
      EXPECT_GT(writer.to_file(trace, out).operations, 0U);
    }
    return place;
  };
  Trace trace;
  trace.program = small_step();
  for (const TraceWriter* writer : trace_writers()) {
    EXPECT_EQ(&trace_writer(writer->name), writer);
    ASSERT_NE(writer->to_folder != nullptr, writer->to_file != nullptr) << writer->name;
    const Trace once = read_trace(std::vector{write(*writer, trace, "once")}, {});
    ASSERT_EQ(once.program.ranks.size(), 4U) << writer->name;
    const Trace twice = read_trace(std::vector{write(*writer, once, "twice")}, {});
    EXPECT_EQ(TraceRun{twice.program}.digest(), TraceRun{once.program}.digest()) << writer->name;
  }
  EXPECT_THROW(static_cast<void>(trace_writer("json")), ConfigError);
}

TEST(RoundTripTest, ARingsMessagesMoveWhatTheCollectiveMoves) {
  Program program = small_step();
  const Program lowered = lower_to_messages(program).program;
  // All-reduce of two: 2 (n - 1) messages of half of it. Reduce-scatter of four: 3 of a quarter. All-to-all: 3 of a quarter.
  for (Rank r = 0; r < 4; ++r) {
    std::int64_t sent = 0;
    for (const Operation& op : lowered.program_of(r).operations) {
      if (op.kind == OpKind::kSend) sent += op.bytes.count();
    }
    EXPECT_EQ(sent, (r < 2 ? 250'000 : 0) + 1'000'000 + 3 * 16'000 + 3 * 4'000) << "rank " << r;
  }
}

TEST(RoundTripTest, AGeneratedTrainingStepComesBackAsItWas) {
  TrainingSetup setup = tp2dp2();
  setup.model.layers = 2;
  Program program = program_of(setup);
  program.devices.clear();
  const std::filesystem::path folder = trace_folder() / "chakra";
  std::filesystem::remove_all(folder);
  write_chakra(program, folder, "step");
  const Trace chakra = trace_builtin::chakra.read(files_in(folder), {});
  EXPECT_EQ(TraceRun{chakra.program}.digest(), TraceRun{program}.digest());

  const LoweredProgram lowered = lower_to_messages(program);
  const Trace goal = trace_builtin::goal.read(std::vector{write_trace("step.goal", goal_text(lowered.program))}, {});
  EXPECT_EQ(TraceRun{goal.program}.digest(), TraceRun{lowered.program}.digest());
}

}  // namespace
}  // namespace weft::work::test
