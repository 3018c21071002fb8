#include "sim/workloads/replay/replayer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/collectives/builtin.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "tests/support/topologies.h"
#include "tests/workloads/replay/replay_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

// Programs written by hand, on a star of bare hosts: 100 Gb/s, no latency, textbook collectives. Launches are free unless said.
class ReplayerTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 4;

  ReplayerTest() {
    launch_.host_cost = 0_us;
    for (Rank r = 0; r < kRanks; ++r) {
      program_.programs.emplace_back();
      program_.programs.back().names = {"op"};
      program_.programs.back().streams = {"compute", "comm", "more"};
      program_.ranks.push_back({.program = static_cast<std::uint32_t>(r), .groups = {0}, .peers = {0, 1, 2, 3}, .leader = r});
      program_.devices.push_back(topology_.endpoints()[static_cast<std::size_t>(r)]);
    }
    program_.groups = {{.name = "pair", .ranks = {0, 1}}};
    options_.contention = {.gemm = 13, .attention = 1, .memory = 1, .collective = 1, .gemm_drain = {}};
  }

  OpIndex add(Rank rank, Operation op, const std::vector<OpIndex>& waits = {}) {
    RankProgram& program = program_.programs[static_cast<std::size_t>(rank)];
    op.first_wait = static_cast<std::uint32_t>(program.waits.size());
    op.wait_count = static_cast<std::uint16_t>(waits.size());
    program.waits.insert(program.waits.end(), waits.begin(), waits.end());
    program.operations.push_back(op);
    return static_cast<OpIndex>(program.operations.size() - 1);
  }
  OpIndex kernel(Rank rank, Duration duration, const std::vector<OpIndex>& waits = {}, std::uint8_t stream = 0) {
    return add(rank, {.duration = duration, .stream = stream}, waits);
  }
  OpIndex gemm(Rank rank, Duration duration, const std::vector<OpIndex>& waits = {}) {
    return add(rank, {.duration = duration, .category = Category::kGemm}, waits);
  }
  // 12.5 MB in a ring of two at 12.5 GB/s: two steps of half of it, 1 ms.
  OpIndex all_reduce(Rank rank, const std::vector<OpIndex>& waits = {}, Bytes bytes = 12'500'000_B) {
    return add(rank, {.bytes = bytes, .stream = 1, .kind = OpKind::kCollective, .category = Category::kCommData}, waits);
  }
  OpIndex message(Rank rank, Rank peer, OpKind kind, const std::vector<OpIndex>& waits = {}) {
    return add(rank,
               {.bytes = 12'500'000_B,
                .slot = static_cast<std::uint16_t>(peer),
                .stream = 1,
                .kind = kind,
                .category = Category::kCommPipeline},
               waits);
  }

  // Ends of the operations of the last iteration, in the order they ended.
  struct Log final : ReplayObserver {
    void on_program(const Program&) override {}
    void on_operation(const Span& span) override { spans.push_back(span); }
    [[nodiscard]] const Span& of(Rank rank, OpIndex op) const {
      for (const Span& span : spans) {
        if (span.rank == rank && span.op == op) return span;
      }
      throw InternalError("no such operation");
    }
    std::vector<Span> spans;
  };

  ReplayResult run() {
    net::Machine machine{topology_, "ecmp", 1, shuffle_};
    GroupCosts costs{topology_, "ecmp", 1, profile_, {}};
    log_ = {};
    Replayer replayer{machine, program_, costs, launch_, options_, &log_};
    replayer.start();
    machine.simulator.run();
    replayer.check_finished();
    machine.fabric.check_conservation();
    return replayer.result();
  }
  [[nodiscard]] Time end(Rank rank, OpIndex op) const { return log_.of(rank, op).end; }

  net::Topology topology_ = weft::testing::star(kRanks, 100_Gbps, 0_us);
  Profile profile_ = Profile::defaults(groups());
  net::LaunchTimings launch_;
  ReplayOptions options_;
  Program program_;
  Log log_;
  std::uint64_t shuffle_ = 0;
};

TEST_F(ReplayerTest, AStreamRunsInOrderAndStreamsRunSideBySide) {
  const OpIndex a = kernel(0, 10_us);
  const OpIndex b = kernel(0, 20_us);
  const OpIndex c = kernel(0, 5_us, {}, 2);
  const OpIndex d = kernel(0, 1_us, {b}, 2);
  run();
  EXPECT_EQ(end(0, a), Time{} + 10_us);
  EXPECT_EQ(end(0, b), Time{} + 30_us);
  EXPECT_EQ(end(0, c), Time{} + 5_us);
  EXPECT_EQ(end(0, d), Time{} + 31_us);
}

TEST_F(ReplayerTest, TheHostPaysForEveryLaunch) {
  launch_.host_cost = 4_us;
  const OpIndex a = kernel(0, 1_us);
  const OpIndex b = kernel(0, 10_us);
  const OpIndex c = kernel(0, 1_us);
  run();
  EXPECT_EQ(end(0, a), Time{} + 5_us);
  EXPECT_EQ(end(0, b), Time{} + 18_us);
  EXPECT_EQ(end(0, c), Time{} + 19_us) << "issued at 12 us, and waits for b";
}

TEST_F(ReplayerTest, AHostSyncHoldsBackWhatIsIssuedAfterIt) {
  const OpIndex a = kernel(0, 10_us);
  add(0, {.duration = 3_us, .kind = OpKind::kHostSync, .category = Category::kHost}, {a});
  const OpIndex b = kernel(0, 1_us, {}, 2);
  run();
  EXPECT_EQ(end(0, b), Time{} + 14_us);
}

TEST_F(ReplayerTest, ACollectiveStartsWithItsLastMemberAndEndsForAll) {
  kernel(0, 10_us);
  const OpIndex late = kernel(1, 400_us);
  const OpIndex a = all_reduce(0);
  const OpIndex b = all_reduce(1, {late});
  const OpIndex after = kernel(0, 1_us, {a});
  const ReplayResult result = run();
  EXPECT_EQ(log_.of(0, a).ready, Time{} + 400_us);
  EXPECT_EQ(end(0, a), Time{} + 1'400_us);
  EXPECT_EQ(end(1, b), Time{} + 1'400_us);
  EXPECT_EQ(end(0, after), Time{} + 1'401_us);
  // Rank 0: 11 us of compute, waits 390 us, 1 ms of the wire exposed.
  EXPECT_EQ(result.ranks[0].last.compute, 11_us);
  EXPECT_EQ(result.ranks[0].last.skew, 390_us);
  EXPECT_EQ(result.ranks[0].last.exposed[static_cast<std::size_t>(Category::kCommData)], 1_ms);
  EXPECT_EQ(result.iterations, (std::vector<Duration>{1'401_us}));
}

TEST_F(ReplayerTest, CallsOfOneCommunicatorMeetInIssueOrder) {
  for (Rank r = 0; r < 2; ++r) {
    all_reduce(r);
    all_reduce(r);
  }
  run();
  EXPECT_EQ(end(0, 1), Time{} + 2_ms);
  EXPECT_EQ(end(1, 1), Time{} + 2_ms);
}

TEST_F(ReplayerTest, TwoGroupsShareTheLinksTheyHaveInCommon) {
  program_.groups.push_back({.name = "other", .ranks = {0, 2}});
  program_.ranks[0].groups = {0, 1};
  program_.ranks[2].groups = {0, 1};
  all_reduce(0);
  all_reduce(1);
  for (const Rank r : {0, 2}) {
    add(r, {.bytes = 12'500'000_B, .slot = 1, .stream = 2, .kind = OpKind::kCollective, .category = Category::kCommTensor});
  }
  run();
  EXPECT_EQ(end(1, 0), Time{} + 2_ms) << "rank 0's link serves both";
  EXPECT_EQ(end(2, 0), Time{} + 2_ms);
}

// Rank 0's NVLink serves two all-reduces that fill it for 1 and 2 ms of the (longer) times that they take alone, in two steps
// each. The shorter takes T (1 + min(u, u') + 2.7 (1 - u) (1 - 1/2)) (link_turns.h), the longer as much longer as the shorter
// has bytes, and what is left of it then goes on at its pace alone.
TEST_F(ReplayerTest, CallsOnOneNvlinkTakeTurns) {
  topology_ = weft::testing::star(kRanks, 100_Gbps, 200_us, "nvlink4");
  for (std::size_t r = 0; r < kRanks; ++r) program_.devices[r] = topology_.endpoints()[r];
  program_.groups.push_back({.name = "other", .ranks = {0, 2}});
  program_.ranks[0].groups = {0, 1};
  program_.ranks[2].groups = {0, 1};
  const auto ends = [&](bool shorter, bool longer) {
    for (RankProgram& program : program_.programs) program.operations.clear();
    for (const Rank r : {0, 1}) {
      if (shorter) all_reduce(r);
    }
    for (const Rank r : {0, 2}) {
      if (!longer) continue;
      add(r, {.bytes = 25'000'000_B, .slot = 1, .stream = 2, .kind = OpKind::kCollective, .category = Category::kCommTensor});
    }
    run();
    return std::pair{shorter ? (end(1, 0) - Time{}).seconds() : 0.0, longer ? (end(2, 0) - Time{}).seconds() : 0.0};
  };
  const double a = ends(true, false).first;
  const double b = ends(false, true).second;
  ASSERT_GT(a, 1.2e-3) << "latencies count";
  const double held = std::min(1e-3 / a, 2e-3 / b);
  const auto [first, second] = ends(true, true);
  EXPECT_NEAR(first, a * (1 + held + 2.7 * (1 - 1e-3 / a) / 2), 1e-9);
  EXPECT_NEAR(second, b + a * held, 1e-9);
}

// An all-reduce of ranks 0 and 1 while rank 0 waits for rank 2 in a longer one, of which it sends the first of two steps: 1 ms
// of the link. Beside the other's, steps of half as long, that takes 1 + m / (1 + e) ms.
TEST_F(ReplayerTest, AMemberThatWaitsHasSentItsFirstStep) {
  topology_ = weft::testing::star(kRanks, 100_Gbps, 200_us, "nvlink4");
  for (std::size_t r = 0; r < kRanks; ++r) program_.devices[r] = topology_.endpoints()[r];
  program_.groups.push_back({.name = "other", .ranks = {0, 2}});
  program_.ranks[0].groups = {0, 1};
  program_.ranks[2].groups = {0, 1};
  // When the shorter one ends on rank 1, after it began; rank 2 comes at `late`.
  const auto takes = [&](bool longer, Duration later, Duration late) {
    for (RankProgram& program : program_.programs) program.operations.clear();
    for (RankProgram& program : program_.programs) program.waits.clear();
    const Operation other{
        .bytes = 25'000'000_B, .slot = 1, .stream = 2, .kind = OpKind::kCollective, .category = Category::kCommTensor};
    if (longer) add(0, other);
    if (longer) add(2, other, {kernel(2, late)});
    OpIndex last = 0;
    for (const Rank r : {0, 1}) last = all_reduce(r, {kernel(r, later)});
    run();
    return (end(1, last) - Time{} - later).seconds();
  };
  const double a = takes(false, 1_us, 0_us);
  const double m = 1e-3 / a;
  const double e = 2.7 * (1 - m) / 2;
  EXPECT_NEAR(takes(true, 0_us, 50_ms), a + 1e-3 * (m + e) / (1 + e), 1e-8);
  EXPECT_NEAR(takes(true, 400_us, 50_ms), a + 0.6e-3 * (m + e) / (1 + e), 1e-8) << "0.4 ms of it were sent before";
  EXPECT_NEAR(takes(true, 2_ms, 50_ms), a, 1e-9) << "all of it was";
  EXPECT_NEAR(takes(true, 10_ms, 1_ms), a, 1e-9) << "the other has ended";
}

// Times over those of a call whose links are awake, as measured on two GPUs (link_sleep.h): 134 us where the receiver is new,
// 170 us where it waits for as long as the links are idle. In whole microseconds: pace and bytes are rounded.
TEST_F(ReplayerTest, LinksSleepAfterFiftyMilliseconds) {
  topology_ = weft::testing::star(kRanks, 100_Gbps, 0_us, "nvlink4");
  for (std::size_t r = 0; r < kRanks; ++r) program_.devices[r] = topology_.endpoints()[r];
  // A message from rank 0 to 1, and one `idle` after it, which rank 1 awaits for `waits`.
  const auto longer = [&](Duration idle, Duration waits) {
    for (RankProgram& program : program_.programs) program.operations.clear();
    for (RankProgram& program : program_.programs) program.waits.clear();
    message(0, 1, OpKind::kSend, {});
    message(1, 0, OpKind::kReceive, {});
    message(0, 1, OpKind::kSend, {kernel(0, 1_ms + idle)});
    const OpIndex last = message(1, 0, OpKind::kReceive, {kernel(1, 1_ms + idle - waits)});
    run();
    return (end(1, last) - Time{} - 2_ms - idle).ps() / 1'000'000;
  };
  EXPECT_EQ(longer(49'999'999_ns, 1_us), 0);
  EXPECT_EQ(longer(50_ms, 1_us), 134);
  EXPECT_EQ(longer(1000_ms, 49'999_us), 134);
  EXPECT_EQ(longer(1000_ms, 50_ms), 170);
  options_.links_idle = {10_ms, 60_ms, 0_us, 0_us};
  EXPECT_EQ(longer(0_us, 0_us), 67) << "rank 1's links alone, in the first message";
}

// An all-reduce 60 ms after the one before it, of whose members rank 1 came earlier: its first step wakes the links.
TEST_F(ReplayerTest, AMemberThatWaitsWakesLinks) {
  topology_ = weft::testing::star(kRanks, 100_Gbps, 0_us, "nvlink4");
  for (std::size_t r = 0; r < kRanks; ++r) program_.devices[r] = topology_.endpoints()[r];
  const auto longer = [&](Duration earlier) {
    for (RankProgram& program : program_.programs) program.operations.clear();
    for (RankProgram& program : program_.programs) program.waits.clear();
    for (const Rank r : {0, 1}) all_reduce(r);
    all_reduce(1, {kernel(1, 61_ms - earlier)});
    const OpIndex last = all_reduce(0, {kernel(0, 61_ms)});
    run();
    return (end(0, last) - Time{} - 62_ms).ps() / 1'000'000;
  };
  EXPECT_EQ(longer(0_us), 134);
  EXPECT_EQ(longer(100_us), 34);
  EXPECT_EQ(longer(500_us), 0);
  EXPECT_EQ(longer(59_ms), 170) << "asleep again since";
}

TEST_F(ReplayerTest, AMessageStartsWhenBothEndsAreThere) {
  const OpIndex computed = kernel(0, 300_us);
  const OpIndex sent = message(0, 1, OpKind::kSend, {computed});
  const OpIndex received = message(1, 0, OpKind::kReceive);
  const ReplayResult result = run();
  EXPECT_EQ(end(0, sent), Time{} + 1'300_us);
  EXPECT_EQ(end(1, received), Time{} + 1'300_us);
  EXPECT_EQ(result.ranks[1].last.bubble, 300_us);
  EXPECT_EQ(result.ranks[1].last.exposed[static_cast<std::size_t>(Category::kCommPipeline)], 1_ms);
}

// A GEMM beside one thread block, of the 24 that its factor is stated for, takes 1 + 12/24 as long.
TEST_F(ReplayerTest, ComputeIsSlowerWhileCommunicationIsResident) {
  for (Rank r = 0; r < 2; ++r) {
    all_reduce(r);
    gemm(r, 4_ms);
  }
  run();
  // 1 ms at two thirds, then the rest.
  EXPECT_NEAR(static_cast<double>((end(0, 1) - Time{}).ps()), 4e9 + 1e9 / 3, 2);
}

// 1 ms alone: 100 us alone, 400 us beside compute at half its pace, 300 us at a quarter beside a kernel that fills the memory,
// the remaining 625 us of work at half again.
TEST_F(ReplayerTest, ACollectiveIsSlowedFromWhenComputeBegins) {
  options_.contention = {.gemm = 1, .attention = 1, .memory = 1, .collective = 2, .collective_memory = 4};
  const OpIndex a = all_reduce(0);
  all_reduce(1);
  add(1, {.duration = 100_us, .kind = OpKind::kHostDelay, .category = Category::kHost});
  const OpIndex plain = kernel(1, 400_us);
  add(1, {.duration = 300_us, .fills_memory = true}, {plain});
  run();
  EXPECT_EQ(end(0, a), Time{} + 100_us + 400_us + 300_us + 1'250_us);
}

// 1 ms alone: its one thread block moves 12.5 MB in, twice, and its input and output, 50 MB in all, at half of 25 GB/s: in 4 ms
// beside a memory that is full. So 400 us there are 100 us of work.
TEST_F(ReplayerTest, ACollectiveGetsItsSmsPartOfAFullMemory) {
  options_.contention.collective_memory = 1;
  options_.contention.block_memory_share = 0.5;
  options_.sm_memory_rate = 25e9;
  const OpIndex a = all_reduce(0);
  all_reduce(1);
  add(1, {.duration = 400_us, .fills_memory = true});
  run();
  EXPECT_EQ(end(0, a), Time{} + 400_us + 900_us);
}

TEST_F(ReplayerTest, AWeightGradientBesideCommunicationRunsASecondWave) {
  options_.contention.gemm = 1;
  for (Rank r = 0; r < 2; ++r) all_reduce(r);
  const OpIndex held = add(0, {.duration = 600_us, .category = Category::kGemm, .weight_gradient = true});
  const OpIndex longer = add(1, {.duration = 3_ms, .category = Category::kGemm, .weight_gradient = true});
  run();
  EXPECT_EQ(end(0, held), Time{} + 1'200_us) << "T + min(T, rest) with T = 600 us, rest 1 ms";
  EXPECT_EQ(end(1, longer), Time{} + 4_ms) << "T + rest";
}

TEST_F(ReplayerTest, CommunicationWaitsForAKernelThatFillsTheGpu) {
  const OpIndex big = add(0, {.duration = 500_us, .category = Category::kGemm, .fills_gpu = true});
  const OpIndex a = all_reduce(0);
  all_reduce(1);
  run();
  EXPECT_EQ(end(0, big), Time{} + 500_us);
  EXPECT_EQ(log_.of(0, a).start, Time{} + 500_us);
  EXPECT_EQ(end(0, a), Time{} + 1'500_us);
}

// 1 ms from 470 us on, at full pace: what drains slows nothing, and is not slowed.
TEST_F(ReplayerTest, CommunicationBeginsWhileAGemmDrains) {
  options_.contention.collective = 2;
  options_.contention.gemm_drain = 30_us;
  const OpIndex big = add(0, {.duration = 500_us, .category = Category::kGemm, .fills_gpu = true});
  const OpIndex a = all_reduce(0);
  all_reduce(1);
  run();
  EXPECT_EQ(end(0, big), Time{} + 500_us);
  EXPECT_EQ(log_.of(0, a).start, Time{} + 470_us);
  EXPECT_EQ(end(0, a), Time{} + 1'470_us);
}

// The second of two short calls finds rank 1 in its next GEMM, and holds SMs of rank 0 until that drains.
TEST_F(ReplayerTest, AShortCallInADrainLeavesItsSuccessorBesideTheNextGemm) {
  options_.contention.gemm_drain = 30_us;
  std::vector<OpIndex> second;
  std::vector<OpIndex> next;
  for (Rank r = 0; r < 2; ++r) {
    // Rank 1 ends its first GEMM 10 us before rank 0 does.
    add(r, {.duration = r == 0 ? 1000_us : 990_us, .category = Category::kGemm, .fills_gpu = true});
    next.push_back(add(r, {.duration = 1000_us, .category = Category::kGemm, .fills_gpu = true}));
    all_reduce(r, {}, 125'000_B);
    second.push_back(all_reduce(r, {}, 125'000_B));
  }
  run();
  // Both drain at 970 us at the latest; 10 us for the first call.
  EXPECT_LT(log_.of(0, second[0]).start, Time{} + 981_us);
  EXPECT_LT(log_.of(1, second[1]).start, Time{} + 981_us);
  options_.contention.gemm_drain = 15_us;
  run();
  // Drained at 985 us: rank 1's next GEMM runs from 990 us, so the second call waits there for its drain and on rank 0 for it.
  EXPECT_LT(log_.of(0, second[0]).start, Time{} + 996_us);
  EXPECT_GT(log_.of(1, second[1]).start, Time{} + 1'900_us);
  EXPECT_GT(end(0, next[0]) - (Time{} + 1000_us), 1'300_us) << "at two thirds of its pace nearly all along";
}

TEST_F(ReplayerTest, ADeadlockNamesRanksAndWhatTheyWaitFor) {
  all_reduce(0);
  message(1, 0, OpKind::kReceive);
  all_reduce(1);
  try {
    run();
    FAIL() << "it cannot end";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("rank 0, stream comm: 'op' waits in group 'pair' for ranks 1"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1, stream comm: 'op' waits for rank 0 to send"), std::string::npos) << text;
  }
}

TEST_F(ReplayerTest, MembersThatCallDifferentlyAreNamed) {
  all_reduce(0);
  all_reduce(1, {}, 1_MB);
  try {
    run();
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string{error.what()}.find("members of 'pair' do not call the same: rank 0: all_reduce of 12500000 B"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(ReplayerTest, IterationsFollowEachOtherWhenARankHasDrained) {
  options_.iterations = 3;
  for (Rank r = 0; r < 2; ++r) {
    kernel(r, 100_us);
    all_reduce(r);
  }
  const ReplayResult result = run();
  EXPECT_EQ(result.iterations, (std::vector<Duration>{1_ms, 1_ms, 1_ms}));
}

TEST_F(ReplayerTest, MemoryRisesAtStartsAndFallsAtEnds) {
  const OpIndex a = kernel(0, 10_us);
  const OpIndex b = kernel(0, 10_us);
  kernel(0, 10_us);
  program_.programs[0].resident.parameters = 1'000;
  program_.programs[0].memory = {{a, 70}, {b, 50}, {b, -70}, {2, 30}, {2, -80}};
  EXPECT_EQ(run().ranks[0].peak_bytes, 1'120);
}

TEST_F(ReplayerTest, OneRankStandsForThoseAlike) {
  const auto build = [&] {
    for (Rank r = 0; r < kRanks; ++r) {
      const OpIndex a = gemm(r, 300_us);
      const OpIndex b = all_reduce(r, {a});
      gemm(r, 600_us);
      kernel(r, 5_us, {b});
    }
  };
  program_.groups = {{.name = "all", .ranks = {0, 1, 2, 3}}};
  build();
  const Duration whole = run().iterations[0];
  for (ProgramRank& rank : program_.ranks) rank.leader = 0;
  EXPECT_EQ(run().iterations[0], whole);
  EXPECT_EQ(log_.spans.size(), 4U) << "one rank's operations";
}

// Two groups whose members share links: the leader's transfer carries what the other group sends over them too.
TEST_F(ReplayerTest, FollowersGroupsLoadTheLinksOfHostsThatAreRun) {
  program_.groups = {{.name = "a", .ranks = {0, 1}}, {.name = "b", .ranks = {1, 0}}};
  for (Rank r = 0; r < 2; ++r) {
    program_.ranks[static_cast<std::size_t>(r)].groups = {static_cast<std::uint32_t>(r)};
    program_.ranks[static_cast<std::size_t>(r)].leader = 0;
  }
  all_reduce(0);
  run();
  EXPECT_EQ(end(0, 0), Time{} + 2_ms);
}

TEST_F(ReplayerTest, TheDigestDoesNotDependOnTheOrderOfTies) {
  for (Rank r = 0; r < 2; ++r) {
    all_reduce(r);
    gemm(r, 100_us);
    all_reduce(r);
    kernel(r, 10_us, {}, 2);
  }
  const std::uint64_t digest = run().digest;
  for (shuffle_ = 1; shuffle_ < 20; ++shuffle_) EXPECT_EQ(run().digest, digest) << shuffle_;
}

TEST_F(ReplayerTest, StragglersAndJitterSlowTheirRanksOnly) {
  options_.jitter.stragglers = {{1, 2.0}};
  const OpIndex a = kernel(0, 10_us);
  const OpIndex b = kernel(1, 10_us);
  run();
  EXPECT_EQ(end(0, a), Time{} + 10_us);
  EXPECT_EQ(end(1, b), Time{} + 20_us);
}

TEST_F(ReplayerTest, TheCriticalPathLeadsBackThroughTheLastArrival) {
  kernel(0, 10_us);
  const OpIndex late = kernel(1, 400_us);
  const OpIndex a = all_reduce(0);
  all_reduce(1, {late});
  const OpIndex after = kernel(0, 50_us, {a});
  const ReplayResult result = run();
  ASSERT_EQ(result.critical.size(), 3U);
  EXPECT_EQ(result.critical[0].op, after);
  EXPECT_EQ(result.critical[1].op, a);
  EXPECT_EQ(result.critical[2].rank, 1);
  EXPECT_EQ(result.critical[2].op, late);
}

}  // namespace
}  // namespace weft::work::test
