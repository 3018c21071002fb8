#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/core/error.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::work {
namespace {

using ::testing::HasSubstr;

TEST(GpuTableTest, ListsWhatDataSheetsSay) {
  // models/workloads §4.5.
  const GpuSpec& h200 = gpu_spec("h200_sxm");
  EXPECT_EQ(h200.bf16, 989e12);
  EXPECT_EQ(h200.fp8, 1979e12);
  EXPECT_EQ(h200.hbm_bytes_per_second, 4.8e12);
  EXPECT_EQ(h200.hbm_bytes, 141'000'000'000);
  EXPECT_EQ(h200.sms, 132);
  EXPECT_EQ(h200.l2_bytes, 50 << 20);
  EXPECT_EQ(gpu_spec("a100_sxm").peak(Precision::kBf16), 312e12);
  EXPECT_EQ(gpu_spec("p100").peak(Precision::kFp32), 10.6e12);
  EXPECT_EQ(gpu_spec("gb300").peak(Precision::kFp4), 15000e12);
  EXPECT_EQ(gpu_spec("mi300x").sms, 304);
  EXPECT_EQ(gpu_spec("h20").hbm_bytes_per_second, 4.0e12);
}

TEST(GpuTableTest, HasEachModelOnceWithAllItNeeds) {
  std::set<std::string_view> names;
  for (const GpuSpec& gpu : gpu_table()) {
    EXPECT_TRUE(names.insert(gpu.name).second) << gpu.name;
    EXPECT_GT(gpu.bf16, gpu.fp32) << gpu.name;
    EXPECT_TRUE(gpu.fp8 == 0 || gpu.fp8 > 1.9 * gpu.bf16) << gpu.name;
    EXPECT_GT(gpu.sms * gpu.clock_ghz * static_cast<double>(gpu.l2_bytes) * gpu.tdp_watts, 0) << gpu.name;
  }
}

TEST(GpuTableTest, KnowsTheModelsOfTheNodeTemplatesAndTheirShortNames) {
  for (const char* name : {"p100", "v100_sxm", "a100_sxm", "a100_pcie", "h100_sxm", "h200_sxm", "b200", "gb200", "mi300x"})
    EXPECT_NE(find_gpu(name), nullptr) << name;
  EXPECT_EQ(find_gpu("h100"), find_gpu("h100_sxm"));
  EXPECT_EQ(find_gpu("h10"), nullptr);
  EXPECT_EQ(find_gpu(""), nullptr);
}

TEST(GpuTableTest, AnswersAnUnknownModelWithTheNearest) {
  try {
    static_cast<void>(gpu_spec("h200_sxn"));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a GPU of model 'h200_sxn'"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'h200_sxm'?"));
  }
}

TEST(GpuTableTest, APrecisionWithoutUnitsRunsAsTheNextWiderOne) {
  EXPECT_EQ(gpu_spec("h100_sxm").runs_as(Precision::kFp4), Precision::kFp8);
  EXPECT_EQ(gpu_spec("a100_sxm").runs_as(Precision::kMxfp8), Precision::kBf16);
  EXPECT_EQ(gpu_spec("v100_sxm").runs_as(Precision::kTf32), Precision::kFp32);
  EXPECT_EQ(gpu_spec("b200").runs_as(Precision::kFp4), Precision::kFp4);
}

}  // namespace
}  // namespace weft::work
