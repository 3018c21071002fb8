#include "sim/workloads/kernels/gpu_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/error.h"
#include "sim/network/gpu_spec_reader.h"

namespace weft::work {
namespace {

using ::testing::HasSubstr;

TEST(GpuRatesTest, APrecisionWithoutUnitsRunsAsTheNextWiderOne) {
  EXPECT_EQ(runs_as(gpu_spec("h100_sxm"), Precision::kFp4), Precision::kFp8);
  EXPECT_EQ(runs_as(gpu_spec("a100_sxm"), Precision::kMxfp8), Precision::kBf16);
  EXPECT_EQ(runs_as(gpu_spec("v100_sxm"), Precision::kTf32), Precision::kFp32);
  EXPECT_EQ(runs_as(gpu_spec("b200"), Precision::kFp4), Precision::kFp4);
}

TEST(GpuRatesTest, Bf16RunsAtTheRateOfFp16WhereAGpuHasNone) {
  EXPECT_EQ(runs_as(gpu_spec("v100_sxm"), Precision::kBf16), Precision::kFp16);
  EXPECT_EQ(runs_as(gpu_spec("p100"), Precision::kFp8), Precision::kFp16);
  EXPECT_EQ(peak(gpu_spec("v100_sxm"), Precision::kBf16), 125e12);
  // MI100 has units of half the rate of fp16.
  EXPECT_EQ(peak(gpu_spec("mi100"), Precision::kBf16), 92.3e12);
}

TEST(GpuRatesTest, WeightOnlyProductsComputeInBf16) {
  EXPECT_EQ(runs_as(gpu_spec("a100_sxm"), Precision::kW4A16), Precision::kBf16);
  EXPECT_EQ(runs_as(gpu_spec("v100_sxm"), Precision::kW8A16), Precision::kFp16);
  EXPECT_EQ(peak(gpu_spec("h100_sxm"), Precision::kW4A16), 989e12);
}

TEST(GpuRatesTest, Int8HasTwiceThePeakOfBf16WhereAGpuHasUnitsForIt) {
  EXPECT_EQ(peak(gpu_spec("a100_sxm"), Precision::kInt8), 2 * peak(gpu_spec("a100_sxm"), Precision::kBf16));
  EXPECT_EQ(peak(gpu_spec("h100_sxm"), Precision::kInt8), 1979e12);
  EXPECT_EQ(runs_as(gpu_spec("p100"), Precision::kInt8), Precision::kFp16);
}

TEST(GpuRatesTest, ARateThatNobodyStatedIsAnErrorAndNoWiderOne) {
  const ConfigNode node = ConfigNode::parse(
      "sources: {mine: {title: a test, date: 2026}}\npeaks: {source: mine, bf16: 100 TFLOP/s}\n", "my_gpu.yaml", "gpu");
  Diagnostics diagnostics;
  const GpuSpec gpu = net::read_gpu_spec(node, "my_gpu", diagnostics);
  diagnostics.throw_if_any();
  EXPECT_EQ(peak(gpu, Precision::kBf16), 100e12);
  EXPECT_EQ(stated_peak(gpu, Precision::kFp8), 0);
  try {
    static_cast<void>(peak(gpu, Precision::kFp8));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("my_gpu.yaml:2:"));
    EXPECT_THAT(error.what(), HasSubstr("how fast 'my_gpu' computes in fp8"));
  }
  EXPECT_THROW(check_computes(gpu, "a test"), ConfigError);
}

}  // namespace
}  // namespace weft::work
