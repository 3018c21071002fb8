#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/workloads/parallel/pipeline_support.h"

namespace weft::work::test {
namespace {

TEST(ZeroBubbleH1Test, OrdersAreTheKnownOnes) {
  // models/workloads §3.2.
  const std::vector<std::string> orders{"F0 F1 F2 F3 b0 W0 F4 b1 W1 F5 b2 W2 F6 b3 W3 F7 b4 W4 b5 W5 b6 W6 b7 W7",
                                        "F0 F1 F2 b0 F3 b1 W0 F4 b2 W1 F5 b3 W2 F6 b4 W3 F7 b5 W4 b6 W5 b7 W6 W7",
                                        "F0 F1 b0 F2 b1 F3 b2 W0 F4 b3 W1 F5 b4 W2 F6 b5 W3 F7 b6 W4 b7 W5 W6 W7",
                                        "F0 b0 F1 b1 F2 b2 F3 b3 W0 F4 b4 W1 F5 b5 W2 F6 b6 W3 F7 b7 W4 W5 W6 W7"};
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(order_text("zb_h1", {.stages = 4, .microbatches = 8}, stage), orders[static_cast<std::size_t>(stage)]);
  }
}

TEST(ZeroBubbleH1Test, AThirdOfTheBubbleIsLeftWhereAllPassesAreEqual) {
  // models/workloads §3: idle (p-1)(F+B-W), peak p on every stage.
  for (const int p : {1, 2, 4, 8}) {
    for (const int m : {p, 2 * p, 4 * p}) {
      const PipelineTiming timing = timed("zb_h1", {.stages = p, .microbatches = m}, uniform(1_us, 1_us, 1_us));
      EXPECT_EQ(timing.makespan, m * 3_us + (p - 1) * 1_us) << p << ' ' << m;
      EXPECT_EQ(peaks(timing), std::vector(static_cast<std::size_t>(p), p)) << m;
    }
  }
}

TEST(ZeroBubbleH1Test, FewMicrobatchesRunTooAndShapesAreRefusedAs1f1bDoes) {
  for (const int m : {1, 2, 3}) {
    const PipelineShape shape{.stages = 4, .microbatches = m};
    expect_complete(*make_pipeline_schedule("zb_h1"), shape);
    timed("zb_h1", shape, uniform(1_us, 1_us, 1_us));
  }
  EXPECT_EQ(refusal("zb_h1", {.stages = 4, .microbatches = 8, .virtual_stages = 2}),
            "zb_h1 has one chunk per rank; virtual_stages 2 needs interleaved_1f1b");
}

}  // namespace
}  // namespace weft::work::test
