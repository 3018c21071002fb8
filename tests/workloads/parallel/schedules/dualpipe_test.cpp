#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/workloads/parallel/pipeline_support.h"

namespace weft::work::test {
namespace {

TEST(DualPipeTest, OrdersAreTheKnownOnes) {
  // models/workloads §3.2.
  const std::vector<std::string> orders{"F0 F1 F2 F0.1 b0.1 W0.1 F1.1 [F3|B1.1] [F2.1|B0] B2.1 [F3.1|B1] B3.1 b2 W2 b3 W3",
                                        "F0 F0.1 F1 F1.1 F2 B0.1 [F2.1|B0] [F3|B1.1] [F3.1|B1] B2.1 B2 b3.1 b3 W3.1 W3",
                                        "F0.1 F0 F1.1 F1 F2.1 B0 [F2|B0.1] [F3.1|B1] [F3|B1.1] B2 B2.1 b3 b3.1 W3 W3.1",
                                        "F0.1 F1.1 F2.1 F0 b0 W0 F1 [F3.1|B1] [F2|B0.1] B2 [F3|B1.1] B3 b2.1 W2.1 b3.1 W3.1"};
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(order_text("dualpipe", {.stages = 4, .microbatches = 8}, stage), orders[static_cast<std::size_t>(stage)]);
  }
}

TEST(DualPipeTest, BubbleIsTheOneItsAuthorsGive) {
  // models/workloads §3: idle (p/2-1)(FB + (B+W) - 3W), p+1 in flight.
  for (const int p : {2, 4, 8, 16}) {
    for (const int m : {2 * p, 2 * p + 4, 4 * p}) {
      const PipelineShape shape{.stages = p, .microbatches = m};
      const PipelineTiming timing = timed("dualpipe", shape, uniform(1_us, 1_us, 1_us, 3_us));
      EXPECT_EQ(timing.makespan, m * 3_us + (p / 2 - 1) * (3_us + 2_us - 3_us)) << p << ' ' << m;
      EXPECT_EQ(peaks(timing), std::vector(static_cast<std::size_t>(p), p + 1));
      expect_complete(*make_pipeline_schedule("dualpipe"), shape);
    }
  }
}

TEST(DualPipeTest, DirectionsRunOppositeWays) {
  const auto schedule = make_pipeline_schedule("dualpipe");
  const PipelineShape shape{.stages = 4, .microbatches = 8};
  EXPECT_EQ(schedule->chunks(shape), 2);
  EXPECT_EQ(schedule->microbatches(shape), 4);
  for (int s = 0; s < 4; ++s) {
    EXPECT_EQ(schedule->place(shape, s, 0).position, s);
    EXPECT_EQ(schedule->place(shape, s, 1).position, 3 - s);
    EXPECT_EQ(schedule->place(shape, s, 1).positions, 4);
    EXPECT_EQ(schedule->stage_at(shape, s, 1), 3 - s);
    EXPECT_EQ(schedule->chunk_at(shape, s, 0), 0);
    EXPECT_EQ(schedule->chunk_at(shape, s, 1), 1);
  }
}

TEST(DualPipeTest, RefusesOddAndShortPipelines) {
  const auto why = [](int p, int m, int v = 1) {
    return refusal("dualpipe", {.stages = p, .microbatches = m, .virtual_stages = v});
  };
  EXPECT_EQ(why(4, 8), "");
  EXPECT_EQ(why(3, 8), "dualpipe runs in both directions and needs an even number of stages, not 3");
  EXPECT_EQ(why(4, 9), "dualpipe gives each direction half of the microbatches; 9 is odd");
  EXPECT_EQ(why(4, 6), "dualpipe needs at least 8 microbatches on 4 stages, not 6");
  EXPECT_EQ(why(4, 8, 2), "dualpipe has one chunk per rank and direction; virtual_stages must be 1");
}

}  // namespace
}  // namespace weft::work::test
