#include "sim/measured/foreign_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/measured/measurement_support.h"

namespace weft::measured {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ForeignLogsTest, MakersNamesAreComparedByWhatIdentifiesTheModel) {
  EXPECT_TRUE(is_gpu_model("NVIDIA H200", "h200_sxm"));
  EXPECT_TRUE(is_gpu_model("NVIDIA H100 80GB HBM3", "h100_sxm"));
  EXPECT_TRUE(is_gpu_model("NVIDIA A100-SXM4-80GB", "a100_sxm_40gb"));
  EXPECT_TRUE(is_gpu_model("Tesla V100-SXM2-16GB", "v100_sxm"));
  EXPECT_TRUE(is_gpu_model("NVIDIA GeForce RTX 4090", "rtx_4090"));
  EXPECT_TRUE(is_gpu_model("AMD Instinct MI300X", "mi300x"));
  EXPECT_FALSE(is_gpu_model("NVIDIA A100-SXM4-80GB", "h200_sxm"));
  EXPECT_FALSE(is_gpu_model("NVIDIA H200", "h20"));
  EXPECT_FALSE(is_gpu_model("NVIDIA GB200", "b200"));
  EXPECT_FALSE(is_gpu_model("NVIDIA GeForce RTX 4090", "rtx_5090"));
}

// One log of four of those GPUs under that NCCL, held against a cluster of H200 that may ask for a release.
std::vector<std::string> warnings_of(const std::string& gpu, const std::string& release, const std::string& asked) {
  const net::Cluster cluster = test::four_gpus("", asked.empty() ? "" : ", nccl: {version: " + asked + "}");
  MeasurementSet set;
  set.measurements.push_back(test::log_of("all_reduce", {Bytes{1024}}));
  NcclTestsLog& log = set.measurements.front().log;
  log.library_version = release;
  for (NcclTestsDevice& device : log.devices) device.name = gpu;
  std::vector<std::string> messages;
  for (const Diagnostic& warning : warn_of_foreign_logs(cluster, set)) messages.push_back(warning.message);
  return messages;
}

TEST(ForeignLogsTest, LogsOfTheClustersGpuAndReleaseGiveNoWarning) {
  EXPECT_THAT(warnings_of("NVIDIA H200", "2.28.9+cuda13.0", "2.28.9"), IsEmpty());
  EXPECT_THAT(warnings_of("NVIDIA H200", "2.20.5", ""), IsEmpty());
}

TEST(ForeignLogsTest, AnotherGpuOrReleaseIsSaid) {
  EXPECT_THAT(warnings_of("NVIDIA A100-SXM4-80GB", "2.28.9", "2.28.9"),
              ElementsAre("measured on NVIDIA A100-SXM4-80GB, but the GPUs of cluster 'four' are h200_sxm"));
  EXPECT_THAT(warnings_of("NVIDIA H200", "2.20.5", "2.28.9"),
              ElementsAre("NCCL 2.20.5 ran, but cluster 'four' asks for 2.28.9"));
  EXPECT_THAT(warnings_of("NVIDIA H200", "2.28.91", "2.28.9"),
              ElementsAre("NCCL 2.28.91 ran, but cluster 'four' asks for 2.28.9"));
}

}  // namespace
}  // namespace weft::measured
