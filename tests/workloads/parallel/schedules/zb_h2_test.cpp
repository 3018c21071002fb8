#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/workloads/parallel/pipeline_support.h"

namespace weft::work::test {
namespace {

TEST(ZeroBubbleH2Test, WarmsUpTwiceAsLongAndDelaysTwiceAsMuch) {
  // By hand from the rule: 2(p-s)-1 = 3 and 1 forwards, weight gradients 0 and 2 microbatches late.
  const PipelineShape shape{.stages = 2, .microbatches = 4};
  EXPECT_EQ(order_text("zb_h2", shape, 0), "F0 F1 F2 b0 W0 F3 b1 W1 b2 W2 b3 W3");
  EXPECT_EQ(order_text("zb_h2", shape, 1), "F0 b0 F1 b1 F2 b2 W0 F3 b3 W1 W2 W3");
}

TEST(ZeroBubbleH2Test, NoStageIdlesBetweenItsFirstAndLastOpWhereAllPassesAreEqual) {
  // models/workloads §3: idle (p-1)(F+B-2W) = 0 within the span of a stage; peak 2p-1 on every stage.
  for (const int p : {1, 2, 4, 8}) {
    for (const int m : {2 * p, 3 * p, 8 * p}) {
      const PipelineTiming timing = timed("zb_h2", {.stages = p, .microbatches = m}, uniform(1_us, 1_us, 1_us));
      EXPECT_EQ(timing.longest_span(), m * 3_us) << p << ' ' << m;
      EXPECT_EQ(peaks(timing), std::vector(static_cast<std::size_t>(p), 2 * p - 1)) << m;
    }
  }
}

TEST(ZeroBubbleH2Test, FewMicrobatchesRunToo) {
  for (const int m : {1, 2, 3, 4, 5}) {
    const PipelineShape shape{.stages = 4, .microbatches = m};
    expect_complete(*make_pipeline_schedule("zb_h2"), shape);
    timed("zb_h2", shape, uniform(1_us, 1_us, 1_us));
  }
}

}  // namespace
}  // namespace weft::work::test
