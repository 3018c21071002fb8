#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/workloads/parallel/pipeline_support.h"

namespace weft::work::test {
namespace {

TEST(GPipeTest, RunsAllForwardsFirst) {
  for (int stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(order_text("gpipe", {.stages = 2, .microbatches = 3}, stage), "F0 F1 F2 B0 B1 B2");
  }
}

TEST(GPipeTest, KnownAnswer13HoldsEveryMicrobatch) {
  // models/workloads §3: idle (p-1)(F+B+W), peak m. models/workloads §8, 13: 32 on all stages.
  for (const int p : {1, 2, 5, 8}) {
    for (const int m : {1, 3, 32}) {
      const PipelineTiming timing = timed("gpipe", {.stages = p, .microbatches = m}, uniform(7_us, 5_us, 3_us));
      EXPECT_EQ(timing.makespan, (m + p - 1) * 15_us) << p << ' ' << m;
      EXPECT_EQ(peaks(timing), std::vector(static_cast<std::size_t>(p), m));
    }
  }
}

TEST(GPipeTest, OverlapsNothing) {
  EXPECT_EQ(refusal("gpipe", {.microbatches = 4, .overlap_expert = true}),
            "gpipe leaves no independent microbatch to run beside an expert all-to-all; interleaved_1f1b and dualpipe do");
}

}  // namespace
}  // namespace weft::work::test
