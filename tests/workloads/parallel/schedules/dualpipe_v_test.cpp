#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/workloads/parallel/pipeline_support.h"

namespace weft::work::test {
namespace {

TEST(DualPipeVTest, IsDualPipeWithAQuarterTurn) {
  // The first two ranks of DualPipe on 4 stages with 16 microbatches, whose other direction has become the way back up.
  const PipelineShape folded{.stages = 2, .microbatches = 8};
  const PipelineShape straight{.stages = 4, .microbatches = 16};
  for (int stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(order_text("dualpipe_v", folded, stage), order_text("dualpipe", straight, stage));
  }
}

TEST(DualPipeVTest, BubbleIsDualPipesOfTwiceAsManyStages) {
  // models/workloads §3: (P/2-1)(FB + (B+W) - 3W) with P = 2p positions on p ranks; each rank runs 2m chunks.
  for (const int p : {1, 2, 4, 8}) {
    for (const int m : {2 * p, 3 * p, 4 * p}) {
      const PipelineShape shape{.stages = p, .microbatches = m};
      const PipelineTiming timing = timed("dualpipe_v", shape, uniform(1_us, 1_us, 1_us, 3_us));
      EXPECT_EQ(timing.makespan, 2 * m * 3_us + (p - 1) * (3_us + 2_us - 3_us)) << p << ' ' << m;
      EXPECT_EQ(peaks(timing), std::vector(static_cast<std::size_t>(p), 2 * p + 1));
      expect_complete(*make_pipeline_schedule("dualpipe_v"), shape);
    }
  }
}

TEST(DualPipeVTest, ChunksFormAV) {
  const auto schedule = make_pipeline_schedule("dualpipe_v");
  const PipelineShape shape{.stages = 3, .microbatches = 6};
  EXPECT_EQ(schedule->place(shape, 0, 1).position, 5);
  EXPECT_EQ(schedule->place(shape, 2, 1).position, 3);
  EXPECT_EQ(schedule->place(shape, 2, 1).positions, 6);
  EXPECT_EQ(schedule->stage_at(shape, 3, 0), 2);
  EXPECT_EQ(schedule->chunk_at(shape, 3, 0), 1);
  EXPECT_EQ(schedule->chunk_at(shape, 2, 0), 0);
}

TEST(DualPipeVTest, RefusesTooFewMicrobatchesAndTooManyChunks) {
  EXPECT_EQ(refusal("dualpipe_v", {.stages = 3, .microbatches = 6}), "");
  EXPECT_EQ(refusal("dualpipe_v", {.stages = 3, .microbatches = 5}),
            "dualpipe_v needs at least 6 microbatches on 3 stages, not 5");
  EXPECT_EQ(refusal("dualpipe_v", {.stages = 3, .microbatches = 6, .virtual_stages = 3}),
            "dualpipe_v has two chunks per rank; virtual_stages must be 2");
}

}  // namespace
}  // namespace weft::work::test
