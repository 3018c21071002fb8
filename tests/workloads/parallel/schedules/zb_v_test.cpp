#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/workloads/parallel/pipeline_support.h"

namespace weft::work::test {
namespace {

TEST(ZeroBubbleVTest, OneRankTurnsAtOnce) {
  // By hand from the rule: b of chunk 0 before that of chunk 1, F of chunk 1 before that of chunk 0, W if nothing else is
  // ready. Two chunks may be held, so the second microbatch waits for a W.
  EXPECT_EQ(order_text("zb_v", {.stages = 1, .microbatches = 2}, 0), "F0 F0.1 b0.1 b0 W0 F1 W0.1 F1.1 b1.1 b1 W1 W1.1");
}

TEST(ZeroBubbleVTest, HasTheLeastMakespanOrAlmostAndHoldsTwoChunksPerStage) {
  // models/workloads §3: no bubble where F = B = W, p microbatches (2 p chunks). The last rank starts after p-1 passes and has
  // 6 m.
  for (const int p : {1, 2, 3, 4, 5, 6, 8}) {
    for (const int m : {2 * p, 2 * p + 1, 3 * p, 4 * p}) {
      const PipelineTiming timing = timed("zb_v", {.stages = p, .microbatches = m}, uniform(1_us, 1_us, 1_us));
      EXPECT_GE(timing.makespan, (6 * m + p - 1) * 1_us);
      EXPECT_LE(timing.makespan, (6 * m + p - 1 + p / 3) * 1_us) << p << ' ' << m;
      for (const int peak : peaks(timing)) EXPECT_LE(peak, 2 * p);
    }
  }
  for (const int p : {2, 4, 8}) {
    const PipelineTiming timing = timed("zb_v", {.stages = p, .microbatches = 2 * p}, uniform(1_us, 1_us, 1_us));
    EXPECT_EQ(timing.makespan, (13 * p - 1) * 1_us) << p;
    EXPECT_EQ(peaks(timing)[0], 2 * p);
  }
}

TEST(ZeroBubbleVTest, BeatsOneForwardOneBackwardByMostOfItsBubble) {
  // Stages of two chunks each: 1F1B idles (p-1) 6 passes, ZB-V's last rank p-1.
  const int p = 8;
  const int m = 32;
  const Duration one_f_one_b = timed("1f1b", {.stages = p, .microbatches = m}, uniform(2_us, 2_us, 2_us)).makespan;
  const Duration zb_v = timed("zb_v", {.stages = p, .microbatches = m}, uniform(1_us, 1_us, 1_us)).makespan;
  EXPECT_EQ(one_f_one_b - zb_v, (p - 1) * 5_us);
}

TEST(ZeroBubbleVTest, ChunksFormAV) {
  const auto schedule = make_pipeline_schedule("zb_v");
  const PipelineShape shape{.stages = 3, .microbatches = 6};
  EXPECT_EQ(schedule->place(shape, 0, 1).position, 5);
  EXPECT_EQ(schedule->stage_at(shape, 3, 0), 2);
  EXPECT_EQ(schedule->chunk_at(shape, 3, 0), 1);
}

TEST(ZeroBubbleVTest, RefusesMoreChunksThanTwo) {
  EXPECT_EQ(refusal("zb_v", {.stages = 3, .microbatches = 1}), "");
  EXPECT_EQ(refusal("zb_v", {.stages = 3, .microbatches = 6, .virtual_stages = 3}),
            "zb_v has two chunks per rank; virtual_stages must be 2");
}

}  // namespace
}  // namespace weft::work::test
