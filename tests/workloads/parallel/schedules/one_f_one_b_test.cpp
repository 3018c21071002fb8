#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/workloads/parallel/pipeline_support.h"

namespace weft::work::test {
namespace {

TEST(OneForwardOneBackwardTest, OrdersAreTheKnownOnes) {
  // models/workloads §3.2.
  const std::vector<std::string> orders{
      "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7", "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7",
      "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7", "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7"};
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(order_text("1f1b", {.stages = 4, .microbatches = 8}, stage), orders[static_cast<std::size_t>(stage)]);
  }
}

TEST(OneForwardOneBackwardTest, IdlesAsGPipeAndHoldsFewer) {
  // models/workloads §3: idle (p-1)(F+B+W), peak min(p-s, m).
  for (const int p : {1, 2, 3, 8}) {
    for (const int m : {1, 2, 5, 32}) {
      const PipelineTiming timing = timed("1f1b", {.stages = p, .microbatches = m}, uniform(7_us, 5_us, 3_us));
      EXPECT_EQ(timing.makespan, m * 15_us + (p - 1) * 15_us) << p << ' ' << m;
      for (int s = 0; s < p; ++s) {
        EXPECT_EQ(timing.idle(s), (p - 1) * 15_us);
        EXPECT_EQ(timing.stages[static_cast<std::size_t>(s)].peak_in_flight, std::min(p - s, m)) << p << ' ' << m;
      }
    }
  }
}

TEST(OneForwardOneBackwardTest, KnownAnswer13PeaksOfEightStages) {
  // models/workloads §8, 13.
  EXPECT_EQ(peaks(timed("1f1b", {.stages = 8, .microbatches = 32}, uniform(1_us, 1_us, 1_us))),
            (std::vector{8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(OneForwardOneBackwardTest, WithoutStagesForwardsRunBesideBackwardsForExperts) {
  EXPECT_EQ(order_text("1f1b", {.microbatches = 3, .overlap_expert = true}, 0), "F0 [F1|B0] [F2|B1] B2");
  EXPECT_EQ(order_text("1f1b", {.microbatches = 3}, 0), "F0 B0 F1 B1 F2 B2");
}

TEST(OneForwardOneBackwardTest, RefusesWhatItHasNot) {
  EXPECT_EQ(refusal("1f1b", {.stages = 4, .microbatches = 1}), "");
  EXPECT_EQ(refusal("1f1b", {.stages = 4, .microbatches = 8, .virtual_stages = 2}),
            "1f1b has one chunk per rank; virtual_stages 2 needs interleaved_1f1b");
  EXPECT_EQ(refusal("1f1b", {.stages = 4, .microbatches = 8, .group = 4}),
            "1f1b has no groups of microbatches; they are of interleaved_1f1b");
  EXPECT_EQ(refusal("1f1b", {.stages = 2, .microbatches = 8, .overlap_expert = true}),
            "1f1b leaves no independent microbatch to run beside an expert all-to-all; interleaved_1f1b and dualpipe do");
}

}  // namespace
}  // namespace weft::work::test
