#include "tests/support/pipeline_timing.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/workloads/parallel/pipeline_support.h"

namespace weft::work::test {
namespace {

// F = B = W = 1 ms in a whole stage, cut into chunks.
Duration makespan(std::string_view schedule, int p, int m, int v = 1) {
  const Duration pass = Duration::from_ps(1'000'000'000 / v);
  return timed(schedule, {.stages = p, .microbatches = m, .virtual_stages = v}, uniform(pass, pass, pass)).makespan;
}

TEST(PipelineTimingTest, KnownAnswer11And12MakespansOfEqualPasses) {
  // models/workloads §3.2 and §8, 11 and 12.
  EXPECT_EQ(makespan("gpipe", 4, 8), 33_ms);
  EXPECT_EQ(makespan("1f1b", 4, 8), 33_ms);
  EXPECT_EQ(makespan("interleaved_1f1b", 4, 8, 2), 28'500_us);
  EXPECT_EQ(makespan("interleaved_1f1b", 4, 8, 4), 26'250_us);
  EXPECT_EQ(makespan("zb_h1", 4, 8), 27_ms);
  EXPECT_EQ(makespan("1f1b", 8, 32), 117_ms);
  EXPECT_EQ(makespan("interleaved_1f1b", 8, 32, 2), 106'500_us);
  EXPECT_EQ(makespan("interleaved_1f1b", 8, 32, 4), 101'250_us);
  EXPECT_EQ(makespan("zb_h1", 8, 32), 103_ms);
}

TEST(PipelineTimingTest, OverlappedPairsShortenDualPipe) {
  // models/workloads §3.2: FB = 3 gains nothing, FB = 2.4.
  struct Case {
    int p, m;
    Duration plain, overlapped;
  };
  for (const Case& c : {Case{4, 8, 26_ms, 23'600_us}, {8, 20, 66_ms, 57'600_us}, {16, 40, 134_ms, 116_ms}}) {
    const PipelineShape shape{.stages = c.p, .microbatches = c.m};
    EXPECT_EQ(timed("dualpipe", shape, uniform(1_ms, 1_ms, 1_ms)).makespan, c.plain);
    EXPECT_EQ(timed("dualpipe", shape, uniform(1_ms, 1_ms, 1_ms, 3_ms)).makespan, c.plain);
    EXPECT_EQ(timed("dualpipe", shape, uniform(1_ms, 1_ms, 1_ms, 2'400_us)).makespan, c.overlapped);
  }
}

TEST(PipelineTimingTest, KnownAnswer10And11BubbleFraction) {
  // models/workloads §8, 10 and 11.
  for (const char* schedule : {"gpipe", "1f1b"}) {
    const PipelineTiming timing = timed(schedule, {.stages = 8, .microbatches = 32}, uniform(1_ms, 1_ms, 1_ms));
    EXPECT_DOUBLE_EQ(timing.bubble_fraction(), 7 / 32.0);
    EXPECT_DOUBLE_EQ(static_cast<double>(timing.idle(0).ps()) / static_cast<double>(timing.makespan.ps()), 7 / 39.0);
  }
  EXPECT_DOUBLE_EQ(
      timed("interleaved_1f1b", {.stages = 8, .microbatches = 32, .virtual_stages = 4}, uniform(250_us, 250_us, 250_us))
          .bubble_fraction(),
      0.0546875);
}

TEST(PipelineTimingTest, KnownAnswer36And37BubbleRatesToFourDigits) {
  // models/workloads §9.13 ([ZB] tables 3 to 5 and 9), times in us; models/workloads §8, 36 and 37. The rate is that of the
  // longest span of a stage.
  struct Row {
    int p, m;
    Duration forward, input, weight, p2p;
    double one_f_one_b, zb_h1, zb_h2;
  };
  const std::array rows{
      Row{8, 24, 18'522_us, 18'086_us, 9'337_us, 601_us, 0.2431, 0.1585, 0.1083},
      Row{8, 64, 18'546_us, 18'097_us, 9'321_us, 762_us, 0.1240, 0.0674, 0.0444},
      Row{8, 32, 29'802_us, 29'428_us, 19'530_us, 577_us, 0.1898, 0.1045, 0.0559},
      Row{16, 48, 11'347_us, 11'248_us, 8'132_us, 377_us, 0.2552, 0.1397, 0.0672},
      Row{16, 128, 11'325_us, 11'308_us, 8'109_us, 378_us, 0.1251, 0.0576, 0.0266},
      Row{32, 128, 10'408_us, 10'204_us, 7'703_us, 408_us, 0.2168, 0.1106, 0.0490},
  };
  for (const Row& row : rows) {
    const auto rate = [&row](std::string_view schedule) {
      PipelineCosts costs = uniform(row.forward, row.input, row.weight);
      costs.p2p = row.p2p;
      const Duration cost = timed(schedule, {.stages = row.p, .microbatches = row.m}, costs).longest_span();
      const Duration work = row.m * (row.forward + row.input + row.weight);
      return static_cast<double>((cost - work).ps()) / static_cast<double>(cost.ps());
    };
    EXPECT_NEAR(rate("1f1b"), row.one_f_one_b, 0.00005) << row.p << ' ' << row.m;
    EXPECT_NEAR(rate("zb_h1"), row.zb_h1, 0.00005) << row.p << ' ' << row.m;
    EXPECT_NEAR(rate("zb_h2"), row.zb_h2, 0.00005) << row.p << ' ' << row.m;
  }
}

TEST(PipelineTimingTest, LatencyLiesOnEdgesBetweenStages) {
  // One microbatch through 3 stages and back: 6 ms of passes x 3 and 4 edges of 10 us.
  PipelineCosts costs = uniform(1_ms, 2_ms, 3_ms);
  costs.p2p = 10_us;
  const PipelineTiming timing = timed("1f1b", {.stages = 3, .microbatches = 1}, costs);
  EXPECT_EQ(timing.makespan, 18'040_us);
  EXPECT_EQ(timing.stages[1].first_start, Time{} + 1'010_us);
  EXPECT_EQ(timing.stages[1].last_end, Time{} + 13'030_us);  // F 3 x 1, B of the last and of this stage, 3 edges
  EXPECT_EQ(timing.stages[1].busy, 6_ms);
  EXPECT_EQ(timing.longest_span(), 18'040_us);
  // The turn of a V stays on its stage: positions 0 1 | 1 0 have 2 edges each way instead of 3.
  EXPECT_EQ(timed("dualpipe_v", {.stages = 1, .microbatches = 2}, costs).makespan, 24_ms);
}

TEST(PipelineTimingTest, PositionsMayDiffer) {
  // 2 stages, 1 microbatch: F 1 + 2, B+W of the last 5 + 6, then 3 + 4 of the first.
  const PipelineCosts costs{.passes = {{1_ms, 3_ms, 4_ms}, {2_ms, 5_ms, 6_ms}}, .p2p = {}};
  const PipelineTiming timing = timed("1f1b", {.stages = 2, .microbatches = 1}, costs);
  EXPECT_EQ(timing.makespan, 21_ms);
  EXPECT_EQ(timing.idle(0), 13_ms);
  EXPECT_EQ(timing.idle(1), 8_ms);
  EXPECT_DOUBLE_EQ(timing.bubble_fraction(), 1.0);
}

TEST(PipelineTimingTest, ADeadlockNamesTheStageAndTheOp) {
  // The first stage wants B0 back before it sends F1, the last wants F1 before it runs B0.
  const auto schedule = make_pipeline_schedule("1f1b");
  const PipelineShape shape{.stages = 2, .microbatches = 2};
  const PipelineOp forward0{.pass = PipelinePass::kForward, .microbatch = 0};
  const PipelineOp forward1{.pass = PipelinePass::kForward, .microbatch = 1};
  const PipelineOp backward0{.pass = PipelinePass::kBackward, .microbatch = 0};
  const PipelineOp backward1{.pass = PipelinePass::kBackward, .microbatch = 1};
  std::vector<std::vector<PipelineOp>> orders{{forward0, backward0, forward1, backward1},
                                              {forward0, forward1, backward0, backward1}};
  const PipelineCosts costs = uniform(1_ms, 1_ms, 1_ms);
  EXPECT_EQ(time_orders(*schedule, shape, orders, costs).deadlock, "stage 0 waits for ever at B0, op 2 of 4");
  orders[0] = {forward0, forward1, backward0, backward1};
  EXPECT_EQ(time_orders(*schedule, shape, orders, costs).deadlock, "");
  // A backward before its own forward, and a pass nobody runs.
  orders[1] = {backward0, forward0, forward1, backward1};
  EXPECT_EQ(time_orders(*schedule, shape, orders, costs).deadlock, "stage 0 waits for ever at B0, op 3 of 4");
  orders[1] = {forward0, forward1, backward0};
  EXPECT_EQ(time_orders(*schedule, shape, orders, costs).deadlock, "stage 0 waits for ever at B1, op 4 of 4");
}

TEST(PipelineTimingTest, APairStartsWhenBothAreReady) {
  // F = B = W = 1 ms, the pair 2 ms: stage 0 holds F1 back until B0 has come.
  const auto schedule = make_pipeline_schedule("1f1b");
  const PipelineShape shape{.stages = 2, .microbatches = 2};
  const std::vector<std::vector<PipelineOp>> orders{{{.pass = PipelinePass::kForward},
                                                     {.pass = PipelinePass::kForward, .microbatch = 1, .with_next = true},
                                                     {.pass = PipelinePass::kBackward},
                                                     {.pass = PipelinePass::kBackward, .microbatch = 1}},
                                                    {{.pass = PipelinePass::kForward},
                                                     {.pass = PipelinePass::kBackward},
                                                     {.pass = PipelinePass::kForward, .microbatch = 1},
                                                     {.pass = PipelinePass::kBackward, .microbatch = 1}}};
  const PipelineTiming timing = time_orders(*schedule, shape, orders, uniform(1_ms, 1_ms, 1_ms, 2_ms));
  // Stage 0: F0 0-1, pair 4-6, B1 9-11. Stage 1: F0 1-2, B0 2-4, F1 6-7, B1 7-9.
  EXPECT_EQ(timing.deadlock, "");
  EXPECT_EQ(timing.makespan, 11_ms);
  EXPECT_EQ(timing.stages[0].busy, 5_ms);
  EXPECT_EQ(timing.stages[0].peak_in_flight, 2);
}

TEST(PipelineTimingTest, EveryScheduleRunsEveryShapeItTakes) {
  for (const std::string& name : pipeline_schedules().names()) {
    const auto schedule = make_pipeline_schedule(name);
    int taken = 0;
    for (int p = 1; p <= 6; ++p) {
      for (int m = 1; m <= 14; ++m) {
        for (int v = 1; v <= 3; ++v) {
          const PipelineShape shape{.stages = p, .microbatches = m, .virtual_stages = v};
          if (!schedule->refusal(shape).empty()) continue;
          ++taken;
          expect_complete(*schedule, shape);
          const PipelineTiming timing = timed(name, shape, uniform(3_us, 2_us, 1_us));
          EXPECT_EQ(timing.stages[0].busy, schedule->chunks(shape) * schedule->microbatches(shape) * 6_us) << name;
        }
      }
    }
    EXPECT_GT(taken, 10) << name;
  }
}

}  // namespace
}  // namespace weft::work::test
