#include "sim/collectives/step_costs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "sim/collectives/costs.h"
#include "sim/collectives/launch_plan.h"

namespace weft::coll {
namespace {

using namespace literals;

CollectiveCosts costs_with(std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  Profile profile = Profile::defaults(collective_param_groups());
  for (const auto& [key, value] : values) profile = profile.with_value(key, value, "test");
  return CollectiveCosts{profile};
}

// models/nccl §4.2: a chunk is cut into two slices of at least 32 KiB; what is left of a small chunk is an empty slice.
TEST(StepCostsTest, SlicesOfARingChunkAreAtLeast32KiB) {
  const StepCosts costs{.slices = 2, .min_slice = 32_KiB};
  EXPECT_EQ(costs.slice_bytes(2_MiB, 0), 1_MiB);
  EXPECT_EQ(costs.slice_bytes(2_MiB, 1), 1_MiB);
  EXPECT_EQ(costs.slice_bytes(32_KiB, 0), 32_KiB);
  EXPECT_EQ(costs.slice_bytes(32_KiB, 1), 0_B);
  EXPECT_EQ(costs.slice_bytes(Bytes{40'000}, 0), 32_KiB);
  EXPECT_EQ(costs.slice_bytes(Bytes{40'000}, 1), Bytes{40'000 - 32'768});
  EXPECT_EQ(costs.slice_bytes(Bytes{65'568}, 0), Bytes{32'784});  // half, in whole units of 16 bytes
  EXPECT_EQ(costs.slice_bytes(0_B, 0), 0_B);
}

// models/nccl §4.1: LL sends 8 bytes for 4, LL128 128 for 120.
TEST(StepCostsTest, FlagsTakeRoomOnTheWire) {
  const CollectiveCosts costs{Profile::defaults(collective_param_groups())};
  EXPECT_EQ(costs.of("LL", 0, false, false).on_wire(32_KiB), 64_KiB);
  EXPECT_EQ(costs.of("LL128", 0, false, false).on_wire(Bytes{576'000}), Bytes{614'400});
  EXPECT_EQ(costs.of("LL128", 0, false, false).on_wire(Bytes{8}), Bytes{9});
  EXPECT_EQ(costs.of("Simple", 0, false, false).on_wire(1_MiB), 1_MiB);
}

TEST(StepCostsTest, WorkIsBytesOverTheRateOfTheLanesShare) {
  const StepCosts costs{.rate = Bandwidth::from_bytes_per_second(20'000'000'000)};
  EXPECT_EQ(costs.work(Bytes{20'000}, 1.0, 1.0), 1_us);
  EXPECT_EQ(costs.work(Bytes{20'000}, 0.5, 1.0), 2_us);
  EXPECT_EQ(costs.work(Bytes{20'000}, 1.0, 0.5), 500_ns);
  EXPECT_EQ(costs.work(0_B, 1.0, 1.0), Duration{});
  EXPECT_EQ(StepCosts{}.work(1_GiB, 1.0, 1.0), Duration{});
}

// Probe kernels on H200: one block sends 42, adds and sends 35.9, copies and sends 25.2, adds, copies and sends 22.9 GB/s.
TEST(StepCostsTest, EffortAddsUpLoadsAndStores) {
  const StepCosts costs = CollectiveCosts{Profile::defaults(collective_param_groups())}.of("Simple", 0, false, false);
  const double rate = costs.rate.bytes_per_ps() * 1e3;  // GB/s
  constexpr double kTwoInAHundred = 0.02;
  EXPECT_NEAR(rate / costs.effort({}), 42, 42 * kTwoInAHundred);
  EXPECT_NEAR(rate / costs.effort({.received = 1}), 35.9, 35.9 * kTwoInAHundred);
  EXPECT_NEAR(rate / costs.effort({.stored = 1}), 25.2, 25.2 * kTwoInAHundred);
  EXPECT_NEAR(rate / costs.effort({.received = 1, .stored = 1}), 22.9, 22.9 * kTwoInAHundred);
}

// A warp has 8 loads of 512 B under way (ncclCollUnroll()), each operand's after the other's. Two warps that wait 600 ns for
// them move 8 KiB of one operand in that time, of two operands in twice of it; 16 warps are bound by what they move.
TEST(StepCostsTest, FewWarpsOfSimpleWaitForTheirLoads) {
  const CollectiveCosts with =
      costs_with({{"collectives.simple.load_latency", "600 ns"}, {"collectives.simple.crowding", "0"}});
  const StepCosts two = with.of("Simple", 2, false, false);
  constexpr std::int64_t kTimes = 1'000;
  const auto time_of = [&](const StepCosts& costs, const StepWork& work) {
    return costs.work(Bytes{kTimes * 8 * 1024}, 1.0, costs.effort(work)).seconds();
  };
  EXPECT_NEAR(time_of(two, {}), kTimes * 600e-9, 1e-9);
  EXPECT_NEAR(time_of(two, {.received = 1}), kTimes * 1'200e-9, 1e-9);
  EXPECT_NEAR(time_of(two, {.received = 1, .sourced = 0, .stored = 1}), kTimes * 600e-9, 1e-9);
  EXPECT_EQ(with.of("Simple", 16, false, false).effort({}), 1.0);
  EXPECT_EQ(with.of("Simple", 0, false, false).effort({.received = 1}),
            with.of("Simple", 16, false, false).effort({.received = 1}));
  EXPECT_EQ(with.of("LL", 2, false, false).effort({}), with.of("LL", 16, false, false).effort({}));
}

// LL keeps its result element by element, and only that: eight bytes take eight stores, two floats two.
TEST(StepCostsTest, LlStoresEveryElement) {
  const CollectiveCosts costs = costs_with({{"collectives.ll.store_cost", "0.4"}});
  const auto keeping = [&](std::string_view protocol, std::int64_t element) {
    const StepCosts of = costs.of(protocol, 0, false, false, {.element = element});
    return of.effort({.stored = 1}) - of.effort({});
  };
  EXPECT_NEAR(keeping("LL", 1), 0.4, 1e-12);
  EXPECT_NEAR(keeping("LL", 4), 0.4 / 4, 1e-12);
  EXPECT_DOUBLE_EQ(keeping("LL128", 1), keeping("LL128", 4));
}

// The first pass of LL is shorter in proportion to its warps. Others are less so: passes of broadcasts over 4 x H100 take
// 0.293, 0.310, 0.376 and 0.573 us with 3, 4, 8 and 16 warps.
TEST(StepCostsTest, FewerWarpsOfLlMovePassesFasterButNotInProportion) {
  const CollectiveCosts costs{Profile::defaults(collective_param_groups())};
  const auto first = [&](int warps) {
    return costs.of("LL", warps, false, false).work(Bytes{warps * 256}, 1.0, 1.0).seconds();
  };
  const auto later = [&](int warps) {
    const StepCosts of = costs.of("LL", warps, false, false);
    return (of.work(Bytes{warps * 512}, 1.0, 1.0) - of.work(Bytes{warps * 256}, 1.0, 1.0)).seconds();
  };
  EXPECT_NEAR(first(8), first(16) / 2, 1e-12);
  for (const auto& [warps, measured_us] : {std::pair{3, 0.293}, {4, 0.310}, {8, 0.376}})
    EXPECT_NEAR(later(warps) / later(16), measured_us / 0.573, 0.13 * measured_us / 0.573) << warps;
}

// With no more than half of the cache nothing is far, with half as much again all is. A pass of LL (16 warps, 4 KiB) and of
// LL128 (20 warps, 38400 B) waits for memory once, a chunk of Simple too; while it does, it keeps what it has.
TEST(StepCostsTest, BuffersThatCachesDoNotHoldAreReadLater) {
  CollectiveCosts costs = costs_with({{"collectives.channels.far_latency", "400 ns"}});
  costs.cache = 1_MiB;
  const auto later = [&](std::string_view protocol, Bytes buffers, const StepWork& work, Bytes data) {
    const StepCosts near = costs.of(protocol, 0, false, false);
    const StepCosts of = costs.of(protocol, 0, false, false, {.buffers = buffers});
    return of.far_wait + of.work(data, 1.0, of.effort(work)) - near.work(data, 1.0, near.effort(work));
  };
  const StepWork sends{};
  const auto later_in_ten_passes = [&](std::string_view protocol, Bytes buffers, Bytes pass) {
    return (later(protocol, buffers, sends, 10 * pass) - later(protocol, buffers, sends, pass)).seconds() * 1e9 / 9;
  };
  EXPECT_EQ(later("LL", 512_KiB, sends, 8_KiB), Duration{});
  EXPECT_NEAR(later_in_ten_passes("LL", 1_GiB, 4_KiB), 400.0, 1.0);
  EXPECT_NEAR(later_in_ten_passes("LL", 1_MiB, 4_KiB), 200.0, 1.0);
  EXPECT_NEAR(later_in_ten_passes("LL128", 1_GiB, Bytes{38'400}), 400.0, 1.0);
  EXPECT_EQ(later("LL", 1_GiB, {.received = 1, .sourced = 0, .stored = 1, .sent = 0}, 40_KiB), Duration{});
  EXPECT_EQ(later("Simple", 1_GiB, sends, 1_MiB), 400_ns);
  const StepCosts copies = costs.of("LL", 0, false, false, {.element = 1, .buffers = 1_GiB});
  EXPECT_LT(copies.effort({.stored = 1}), copies.effort({}) + copies.memory.store);
}

// At half the clock: cycles take twice as long, of latencies half are cycles, and a host's memory knows nothing of it.
TEST(StepCostsTest, AClockThatFallsSlowsCyclesOnly) {
  const CollectiveCosts all = costs_with({{"collectives.clock.latency_share", "0.5"}});
  const StepCosts full = all.of("Simple", 0, false, false);
  StepCosts low = full;
  all.slow_down(low, 2.0);
  EXPECT_EQ(low.start.ps(), full.start.ps() * 3 / 2);
  EXPECT_EQ(low.slice.ps(), full.slice.ps() * 3 / 2);
  EXPECT_EQ(low.hop[0].ps(), full.hop[0].ps() * 3 / 2);
  EXPECT_EQ(low.hop[1], full.hop[1]);
  EXPECT_EQ(low.hop[2], full.hop[2]);
  EXPECT_EQ(low.host_slice, full.host_slice);
  EXPECT_EQ(low.rate.bits_per_second(), full.rate.bits_per_second() / 2);
  EXPECT_EQ(low.memory, full.memory);
}

// Small calls of NCCL have blocks of fewer threads than 512.
TEST(StepCostsTest, LargerBlocksOfSimpleStartLater) {
  const CollectiveCosts all =
      costs_with({{"collectives.simple.base_latency", "5 us"}, {"collectives.simple.block_latency", "4 us"}});
  EXPECT_EQ(all.of("Simple", 4, false, false).start, 6_us);
  EXPECT_EQ(all.of("Simple", 8, false, false).start, 7_us);
  EXPECT_EQ(all.of("Simple", 16, false, false).start, 9_us);
}

// Each doubling of the channels adds as much.
TEST(StepCostsTest, ThreadBlocksStartLaterByTheLogarithmOfTheirNumber) {
  const StepCosts costs{.channel_start = 240_ns};
  EXPECT_EQ(costs.start_of(0), 0_ns);
  EXPECT_EQ(costs.start_of(1), 240_ns);
  EXPECT_EQ(costs.start_of(7), 720_ns);
  EXPECT_EQ(costs.start_of(15), 960_ns);
}

// NCCL halves blocks of 640 threads where a call is small: they start sooner.
TEST(StepCostsTest, LargerBlocksOfLl128StartLater) {
  const CollectiveCosts all =
      costs_with({{"collectives.ll128.base_latency", "7 us"}, {"collectives.ll128.block_latency", "4 us"}});
  const auto of = [&](int warps) { return all.of("LL128", warps, false, false); };
  EXPECT_EQ(of(10).start, 9_us);
  EXPECT_EQ(of(20).start, 11_us);
  EXPECT_EQ(of(0).start, 11_us);
}

// 8 bytes that a kernel for bytes keeps one by one, and floats two by two.
TEST(StepCostsTest, ChannelsOfARingInSimpleSlowEachOther) {
  const CollectiveCosts all =
      costs_with({{"collectives.simple.channel_rate", "400 Gb/s"}, {"collectives.simple.crowding", "0.01"}});
  const auto rate = [&](int channels, bool is_p2p) {
    return all.of("Simple", 0, false, is_p2p, {.channels = channels}).rate.bits_per_second();
  };
  EXPECT_EQ(rate(1, false), 400'000'000'000);
  EXPECT_EQ(rate(26, false), 320'000'000'000) << "25 beside each";
  EXPECT_EQ(rate(26, true), rate(1, true));
}

// 7 of a block's 20 warps scatter (models/nccl §3.4). As fast as one of Simple's 16 copies, they would move 24 x 7 / 16 times
// 336 Gb/s in all at copies of full cost; the port lets half of its 7.2 Tb/s through.
TEST(StepCostsTest, MoreChannelsOfNvlsAreNoFasterWhereThePortIsFull) {
  const CollectiveCosts costs = costs_with({{"collectives.in_switch.port_share", "0.5"},
                                            {"collectives.in_switch.peer_latency", "10 ns"},
                                            {"collectives.simple.source_cost", "0.3"},
                                            {"collectives.simple.store_cost", "0.7"},
                                            {"collectives.simple.channel_rate", "336 Gb/s"}});
  const auto scatters = [&](int channels) {  // Gb/s, all channels
    const StepCosts of = costs.in_switch({.channels = channels, .port = Bandwidth::from_bits_per_second(7'200'000'000'000)});
    return static_cast<double>(of.rate.bits_per_second()) / 1e9 * channels * 7 / 20;
  };
  EXPECT_NEAR(scatters(16), 16 * 336 * 7.0 / 16, 1);
  EXPECT_NEAR(scatters(24), 24 * 336 * 7.0 / 16, 1);
  EXPECT_NEAR(scatters(32), 3600, 1);
  EXPECT_NEAR(scatters(64), 3600, 1);
  EXPECT_EQ(costs.in_switch({.channels = 24}).peer_slice, 240_ns);
  EXPECT_EQ(costs.in_switch({.channels = 32}).before_peers(8, 16_KiB), 8 * 320_ns);
  EXPECT_EQ(costs.in_switch({.channels = 32}).before_peers(8, Bytes{1792}), 4 * 320_ns);  // half of a load of 7 warps
}

TEST(StepCostsTest, StepsOfLlWaitForTheLongerOfTheirLoads) {
  const CollectiveCosts all = costs_with({{"collectives.ll.receive_cost", "1.2"}, {"collectives.ll.store_cost", "0.8"}});
  const StepCosts bytes = all.of("LL", 0, false, false, {.element = 1});
  const StepCosts floats = all.of("LL", 0, false, false, {.element = 4});
  EXPECT_DOUBLE_EQ(bytes.effort({.received = 0, .sourced = 1, .stored = 0, .sent = 1}), 1.0);
  EXPECT_DOUBLE_EQ(bytes.effort({.received = 1, .sourced = 1, .stored = 0, .sent = 1}),
                   1.2 + 0.4);  // a load of its own costs half as much: 0.6
  EXPECT_DOUBLE_EQ(bytes.effort({.received = 1, .sourced = 0, .stored = 1, .sent = 0}), 1.2 + 0.8);
  EXPECT_DOUBLE_EQ(floats.effort({.received = 1, .sourced = 0, .stored = 1, .sent = 0}), 1.2 + 0.2);
}

TEST(StepCostsTest, LargerBlocksOfLlStartLaterAndSendsLaterThanRings) {
  const CollectiveCosts all = costs_with({{"collectives.ll.base_latency", "4 us"},
                                          {"collectives.ll.block_latency", "800 ns"},
                                          {"collectives.p2p.ll_latency", "1 us"}});
  EXPECT_EQ(all.of("LL", 2, false, false).start, 4'100_ns);
  EXPECT_EQ(all.of("LL", 0, false, false).start, 4'800_ns);
  EXPECT_EQ(all.of("LL", 0, false, true).start, 5'800_ns);
}

TEST(StepCostsTest, StepsCostAlikeWhereMemoryCostsNothing) {
  EXPECT_EQ(StepCosts{}.effort({}), 1.0);
  EXPECT_EQ(StepCosts{}.effort({.received = 3, .sourced = 1, .stored = 1, .sent = 2}), 1.0);
  EXPECT_EQ(StepCosts{}.effort({.received = 1, .sourced = 0, .stored = 1, .sent = 0}), 1.0);
}

// models/nccl_calibration §3.8: 512 threads of LL move 4096 bytes a pass.
TEST(StepCostsTest, BeyondTheFirstPassesAreWholeWhereFewerThreadsAreNoFaster) {
  const StepCosts costs{.rate = Bandwidth::from_bytes_per_second(4'096'000'000), .pass = 4_KiB, .first_pass = 0.5};
  EXPECT_EQ(costs.work(2_KiB, 1.0, 1.0), 250_ns);
  EXPECT_EQ(costs.work(4_KiB, 1.0, 1.0), 500_ns);
  EXPECT_EQ(costs.work(Bytes{4'097}, 1.0, 1.0), 1'500_ns);
  EXPECT_EQ(costs.work(8_KiB, 1.0, 1.0), 1'500_ns);
  EXPECT_EQ(costs.work(8_KiB, 0.5, 1.0), 3'500_ns);  // four passes of 2 KiB, each at half the rate
}

// In the last pass only the warps with data are at work: a quarter of them at an exponent of 1/2 takes half of a pass's time.
TEST(StepCostsTest, TheLastPassIsShorterWhereFewWarpsHaveData) {
  const StepCosts costs{
      .rate = Bandwidth::from_bytes_per_second(4'096'000'000), .pass = 4_KiB, .first_pass = 0.5, .thread_exponent = 0.5};
  EXPECT_EQ(costs.work(5_KiB, 1.0, 1.0), 1_us);
  EXPECT_EQ(costs.work(8_KiB, 1.0, 1.0), 1'500_ns);
  EXPECT_EQ(costs.work(9_KiB, 1.0, 1.0), 2_us);
}

// Where only the warps of one lane have work, its passes are shorter: a quarter of the warps at an exponent of 1/2 takes half
// the time of a full block's pass.
TEST(StepCostsTest, PassesAreShorterWhileOtherLanesWait) {
  const StepCosts costs{.rate = Bandwidth::from_bytes_per_second(4'096'000'000), .pass = 4_KiB, .thread_exponent = 0.5};
  EXPECT_EQ(costs.work(4_KiB, 0.25, 1.0), 4_us);  // four passes of 1 KiB, of 1 us each
  EXPECT_EQ(costs.work(4_KiB, 0.25, 1.0, 1.0), 4_us);
  EXPECT_EQ(costs.work(4_KiB, 0.25, 1.0, 0.25), 2_us);
}

TEST(StepCostsTest, PaceIsBytesOverTheTimeTheyTake) {
  EXPECT_EQ(StepCosts::pace(Bytes{3000}, 2_us), Bandwidth::from_bytes_per_second(1'500'000'000));
  EXPECT_EQ(StepCosts::pace(Bytes{3000}, Duration{}), Bandwidth{});
}

// One process with four GPUs launches each rank's kernel in turn, call after call; threads launch side by side; a graph of the
// whole loop is launched once a rank.
TEST(LaunchPlanTest, ThreadsLaunchOneKernelAfterAnother) {
  const LaunchPlan one_process{.iterations = 2, .launch = 5_us, .ranks_per_thread = 4};
  EXPECT_EQ(one_process.issued(0, 0), 5_us);
  EXPECT_EQ(one_process.issued(3, 0), 20_us);
  EXPECT_EQ(one_process.issued(0, 1), 25_us);
  const LaunchPlan threads{.iterations = 2, .launch = 5_us};
  EXPECT_EQ(threads.issued(3, 0), 5_us);
  EXPECT_EQ(threads.issued(3, 1), 10_us);
  const LaunchPlan graph{.iterations = 40, .launch = 5_us, .ranks_per_thread = 4, .graph_launch = 92_us};
  EXPECT_EQ(graph.issued(0, 39), 0_us);  // a GPU begins while its graph is launched
  EXPECT_EQ(graph.issued(3, 0), 3 * 92_us);
}

}  // namespace
}  // namespace weft::coll
