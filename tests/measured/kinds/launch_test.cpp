#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

// Round numbers, so that every time follows by hand.
net::Cluster with_launches() {
  return four_gpus(
      "gpu.stream.gap: {value: 2500 ns, source: assumed}, gpu.stream.graph_gap: {value: 700 ns, source: assumed}, "
      "gpu.launch.host: {value: 4 us, source: assumed}, gpu.launch.event_share: {value: 0.25, source: assumed}, "
      "gpu.launch.graph_share: {value: 0.5, source: assumed}, gpu.launch.graph_kernel: {value: 10 ns, source: assumed}, "
      "gpu.launch.empty_kernel: {value: 300 ns, source: assumed}, gpu.launch.answer: {value: 3 us, source: assumed}");
}

double us_of(const std::string& what, std::int64_t count = 1) {
  MeasuredPoint launch = record_of("launch", what);
  launch.count = count;
  return *predicted(launch, with_launches()).predicted_us;
}

TEST(LaunchKindTest, AKernelInAStreamTakesTheGapAndItself) { EXPECT_DOUBLE_EQ(us_of("kernel_gap"), 2.5 + 0.3); }

TEST(LaunchKindTest, TheHostLaunchesAtOnePaceFromAnyNumberOfThreads) {
  EXPECT_DOUBLE_EQ(us_of("kernel"), 4);
  EXPECT_DOUBLE_EQ(us_of("kernel", 4), 4);
  EXPECT_DOUBLE_EQ(us_of("event"), 0.25 * 4);
}

TEST(LaunchKindTest, AGraphsKernelsCostItsLaunchATimeEach) {
  EXPECT_DOUBLE_EQ(us_of("graph"), 0.5 * 4 + 0.01);
  EXPECT_DOUBLE_EQ(us_of("graph", 100), 0.5 * 4 + 1);
}

TEST(LaunchKindTest, TheFirstKernelOfAGraphBeginsAsOneOfAStream) {
  EXPECT_DOUBLE_EQ(us_of("graph_node"), 2.5 + 0.3);
  EXPECT_DOUBLE_EQ(us_of("graph_node", 10), (9 * (0.7 + 0.3) + 2.5 + 0.3) / 10);
}

TEST(LaunchKindTest, WhoWaitsGetsAnAnswerAfterTheLastKernel) {
  EXPECT_DOUBLE_EQ(us_of("kernel_sync"), 4 + (2.5 + 0.3) + 3);
  EXPECT_DOUBLE_EQ(us_of("graph_sync", 100), (0.5 * 4 + 1) + 100 * (0.7 + 0.3) + 3);
}

TEST(LaunchKindTest, SaysWhatItDoesNotKnow) {
  MeasuredPoint launch = record_of("launch", "stream_priority", 4);
  EXPECT_EQ(predicted(launch).not_modelled, "launches of empty kernels, kind 'stream_priority'");
  EXPECT_EQ(predicted(launch).algorithm, "stream_priority");
  launch.count = 8;
  EXPECT_EQ(predicted(launch).algorithm, "stream_priority of 8");
}

TEST(LaunchKindTest, HostAndEmptyKernelAreFittedToLaunches) {
  KernelLog log = kernel_log();
  log.launches = {record_of("launch", "kernel_gap", 1.5), record_of("launch", "stream_priority", 9)};
  const std::vector<FitPart> parts = fits_of("launch", {log}, four_gpus().profile);
  ASSERT_EQ(parts.size(), 2U);
  ASSERT_EQ(parts[1].samples.size(), 1U);
  EXPECT_EQ(parts[1].keys, (std::vector<std::string>{"gpu.launch.host", "gpu.launch.empty_kernel"}));
  EXPECT_EQ(parts[1].samples[0].point.measured_us, 1.5);
}

TEST(LaunchKindTest, IsFittedToEveryGap) {
  KernelLog log = kernel_log();
  log.gaps_us = {1.5, 2.5};
  const std::vector<FitPart> parts = fits_of("launch", {log}, four_gpus().profile);
  ASSERT_EQ(parts.size(), 2U);
  ASSERT_EQ(parts[0].samples.size(), 2U);
  EXPECT_EQ(parts[0].keys, std::vector<std::string>{"gpu.stream.gap"});
  EXPECT_EQ(parts[0].samples[1].point.measured_us, 2.5);
}

}  // namespace
}  // namespace weft::measured
