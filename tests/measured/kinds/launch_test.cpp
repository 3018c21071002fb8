#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

TEST(LaunchKindTest, TheGapBetweenTwoKernelsIsThatOfAStream) {
  const net::Cluster cluster = four_gpus("gpu.stream.gap: {value: 2500 ns, source: assumed}");
  EXPECT_DOUBLE_EQ(*predicted(record_of("launch", "kernel_gap"), cluster).predicted_us, 2.5);
}

TEST(LaunchKindTest, SaysWhatItDoesNotKnow) {
  MeasuredPoint launch = record_of("launch", "kernel", 4);
  EXPECT_EQ(predicted(launch).not_modelled, "launches of empty kernels, kind 'kernel'");
  EXPECT_EQ(predicted(launch).algorithm, "kernel");
  launch.count = 8;
  EXPECT_EQ(predicted(launch).algorithm, "kernel of 8");
}

TEST(LaunchKindTest, IsFittedToEveryGap) {
  KernelLog log = kernel_log();
  log.gaps_us = {1.5, 2.5};
  const std::vector<FitPart> parts = fits_of("launch", {log}, four_gpus().profile);
  ASSERT_EQ(parts.size(), 1U);
  ASSERT_EQ(parts[0].samples.size(), 2U);
  EXPECT_EQ(parts[0].keys, std::vector<std::string>{"gpu.stream.gap"});
  EXPECT_EQ(parts[0].samples[1].point.measured_us, 2.5);
}

}  // namespace
}  // namespace weft::measured
