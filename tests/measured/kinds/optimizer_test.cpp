#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured/kinds/kind_support.h"

namespace weft::measured {
namespace {

using namespace test;

TEST(OptimizerKindTest, GradientsThatAreMostlyZeroAreFittedApart) {
  KernelLog log = kernel_log();
  for (const double us : {10.0, 20.0}) {
    work::Kernel adam{.kind = work::KernelKind::kOptimizer, .mostly_zero = us > 15, .elements = 1e6};
    log.kernels.push_back({.kernel = adam, .us = us});
  }
  const std::vector<FitPart> parts = fits_of("optimizer", {log}, four_gpus().profile);
  ASSERT_EQ(parts.size(), 2U);
  for (const std::size_t part : {0U, 1U}) {
    ASSERT_EQ(parts[part].samples.size(), 1U);
    EXPECT_EQ(parts[part].samples[0].point.measured_us, part == 0 ? 10.0 : 20.0);
    EXPECT_EQ(parts[part].samples[0].point.kind, "optimizer");
  }
}

TEST(OptimizerKindTest, HasNoRecordsOfItsOwn) { EXPECT_EQ(find_point_kind("optimizer")->predict, nullptr); }

}  // namespace
}  // namespace weft::measured
