#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/workloads/parallel/pipeline_support.h"

namespace weft::work::test {
namespace {

TEST(Interleaved1f1bTest, OrdersAreTheKnownOnes) {
  // models/workloads §3.2.
  const std::vector<std::string> orders{
      "F0 F1 F2 F3 F0.1 F1.1 F2.1 F3.1 F4 F5 F6 B0.1 F7 B1.1 F4.1 B2.1 F5.1 B3.1 F6.1 B0 F7.1 B1 B2 B3 B4.1 "
      "B5.1 B6.1 B7.1 B4 B5 B6 B7",
      "F0 F1 F2 F3 F0.1 F1.1 F2.1 F3.1 F4 B0.1 F5 B1.1 F6 B2.1 F7 B3.1 F4.1 B0 F5.1 B1 F6.1 B2 F7.1 B3 B4.1 "
      "B5.1 B6.1 B7.1 B4 B5 B6 B7",
      "F0 F1 F2 F3 F0.1 F1.1 F2.1 B0.1 F3.1 B1.1 F4 B2.1 F5 B3.1 F6 B0 F7 B1 F4.1 B2 F5.1 B3 F6.1 B4.1 F7.1 "
      "B5.1 B6.1 B7.1 B4 B5 B6 B7",
      "F0 F1 F2 F3 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4 B0 F5 B1 F6 B2 F7 B3 F4.1 B4.1 F5.1 B5.1 F6.1 "
      "B6.1 F7.1 B7.1 B4 B5 B6 B7"};
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(order_text("interleaved_1f1b", {.stages = 4, .microbatches = 8, .virtual_stages = 2}, stage),
              orders[static_cast<std::size_t>(stage)]);
  }
}

TEST(Interleaved1f1bTest, IdleTimeIsDividedByTheChunks) {
  // models/workloads §3: idle (p-1)(F+B+W)/v; a chunk takes a v-th of the stage's times. Peak chunks 2(p-s-1) + (v-1)p + 1.
  for (const int p : {2, 3, 4, 8}) {
    for (const int v : {2, 3, 4}) {
      for (const int m : {p, 2 * p, 4 * p}) {
        const PipelineShape shape{.stages = p, .microbatches = m, .virtual_stages = v};
        const PipelineTiming timing = timed("interleaved_1f1b", shape, uniform(7_us, 5_us, 3_us));  // of a chunk
        EXPECT_EQ(timing.makespan, (m * v + p - 1) * 15_us) << p << ' ' << m << ' ' << v;
        for (int s = 0; s < p; ++s) {
          EXPECT_EQ(timing.stages[static_cast<std::size_t>(s)].peak_in_flight,
                    std::min(2 * (p - s - 1) + (v - 1) * p + 1, m * v));
        }
      }
    }
  }
}

TEST(Interleaved1f1bTest, KnownAnswer13PeaksOfEightStages) {
  // models/workloads §8, 13.
  EXPECT_EQ(peaks(timed("interleaved_1f1b", {.stages = 8, .microbatches = 32, .virtual_stages = 2}, uniform(1_us, 1_us, 1_us))),
            (std::vector{23, 21, 19, 17, 15, 13, 11, 9}));
}

TEST(Interleaved1f1bTest, GroupsMayBeLargerThanThePipeline) {
  // Groups of 3 on 2 stages: w = 2(p-s-1) + (v-1) 3 is 5 and 3; the last group of 5 microbatches has 2.
  const PipelineShape shape{.stages = 2, .microbatches = 5, .virtual_stages = 2, .group = 3};
  EXPECT_EQ(order_text("interleaved_1f1b", shape, 0),
            "F0 F1 F2 F0.1 F1.1 F2.1 B0.1 F3 B1.1 F4 B2.1 F3.1 B0 F4.1 B1 B2 B3.1 B4.1 B3 B4");
  expect_complete(*make_pipeline_schedule("interleaved_1f1b"), shape);
  timed("interleaved_1f1b", shape, uniform(1_us, 1_us, 1_us));
}

TEST(Interleaved1f1bTest, OverlappedExpertsTakeOneMoreForwardToWarmUp) {
  const PipelineShape shape{.stages = 2, .microbatches = 2, .virtual_stages = 2, .overlap_expert = true};
  EXPECT_EQ(order_text("interleaved_1f1b", shape, 0), "F0 F1 F0.1 F1.1 B0.1 B1.1 B0 B1");  // 5 > 4: no forward is left
  EXPECT_EQ(order_text("interleaved_1f1b", shape, 1), "F0 F1 F0.1 [F1.1|B0.1] B1.1 B0 B1");
  timed("interleaved_1f1b", {.stages = 4, .microbatches = 16, .virtual_stages = 3, .overlap_expert = true},
        uniform(1_us, 1_us, 1_us));
}

TEST(Interleaved1f1bTest, ChunksOfARankAreAPipelineApart) {
  const auto schedule = make_pipeline_schedule("interleaved_1f1b");
  const PipelineShape shape{.stages = 4, .microbatches = 8, .virtual_stages = 2};
  EXPECT_EQ(schedule->place(shape, 1, 1).position, 5);
  EXPECT_EQ(schedule->place(shape, 1, 1).positions, 8);
  EXPECT_EQ(schedule->stage_at(shape, 5, 0), 1);
  EXPECT_EQ(schedule->chunk_at(shape, 5, 0), 1);
  EXPECT_EQ(schedule->chunk_at(shape, 3, 1), 0);
}

TEST(Interleaved1f1bTest, RefusesShapesThatDoNotFill) {
  const auto why = [](int p, int m, int v, int group = 0) {
    return refusal("interleaved_1f1b", {.stages = p, .microbatches = m, .virtual_stages = v, .group = group});
  };
  EXPECT_EQ(why(4, 8, 2), "");
  EXPECT_EQ(why(4, 8, 1), "interleaved_1f1b needs at least 2 virtual_stages; with one it is 1f1b");
  EXPECT_EQ(why(1, 8, 2), "interleaved_1f1b needs at least 2 pipeline stages");
  EXPECT_EQ(why(4, 10, 2), "10 microbatches in groups of 4 leave 2, fewer than the 4 pipeline stages");
  EXPECT_EQ(why(4, 10, 2, 6), "");
  EXPECT_EQ(why(4, 3, 2), "3 microbatches do not fill a group of 4");
  EXPECT_EQ(why(4, 8, 2, 3), "a group of 3 microbatches is smaller than the 4 pipeline stages");
}

}  // namespace
}  // namespace weft::work::test
