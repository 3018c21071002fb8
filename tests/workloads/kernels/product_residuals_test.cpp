#include "sim/workloads/kernels/product_residuals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/workloads/kernels/gpu_rates.h"
#include "sim/workloads/kernels/kernel_costs.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::work {
namespace {

std::shared_ptr<const ProductTable> table_of(std::vector<MeasuredProduct> rows) {
  auto table = std::make_shared<ProductTable>();
  table->rows = std::move(rows);
  return table;
}

Kernel product(std::int64_t m, std::int64_t n, std::int64_t k, Precision precision = Precision::kBf16) {
  return {.kind = KernelKind::kGemm, .precision = precision, .m = m, .n = n, .k = k};
}

MeasuredProduct row(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t us) {
  return {.m = m, .n = n, .k = k, .type = "bf16", .time = Duration::from_us(us)};
}

// A formula that says 1 us of everything.
double one_us(const Kernel&) { return 1e-6; }

TEST(ProductResidualsTest, AMeasuredShapeTakesWhatItTook) {
  const ProductResiduals residuals{table_of({row(64, 4096, 4096, 3), row(128, 4096, 4096, 5)})};
  EXPECT_NEAR(residuals.of(product(64, 4096, 4096), one_us).factor, 3, 1e-9);
  EXPECT_EQ(residuals.of(product(64, 4096, 4096), one_us).share, 1);
}

TEST(ProductResidualsTest, BetweenTwoThatAreAsFarItIsTheirGeometricMean) {
  const ProductResiduals residuals{table_of({row(64, 4096, 4096, 2), row(256, 4096, 4096, 8)})};
  const ProductResiduals::Correction between = residuals.of(product(128, 4096, 4096), one_us);
  // Each is a factor of two away, rows counting twice: d = 2 ln 2, and the table counts by 1 / (1 + (d / 2)^2).
  const double share = 1 / (1 + std::log(2.0) * std::log(2.0));
  EXPECT_NEAR(between.share, share, 1e-12);
  EXPECT_NEAR(between.factor, std::pow(4.0, share), 1e-9);
}

TEST(ProductResidualsTest, FarAwayTheFormulaStands) {
  const ProductResiduals residuals{table_of({row(1, 64, 64, 5)})};
  const ProductResiduals::Correction far = residuals.of(product(65'536, 65'536, 65'536), one_us);
  EXPECT_LT(far.share, 0.01);
  EXPECT_NEAR(far.factor, 1, 0.02);
}

TEST(ProductResidualsTest, OtherTypesAndGroupedProductsAreTheFormulas) {
  const ProductResiduals residuals{table_of({row(64, 4096, 4096, 3)})};
  EXPECT_EQ(residuals.of(product(64, 4096, 4096, Precision::kFp8), one_us).factor, 1);
  Kernel grouped = product(64, 4096, 4096);
  grouped.batch = 8;
  EXPECT_EQ(residuals.of(grouped, one_us).share, 0);
  EXPECT_EQ(ProductResiduals{nullptr}.of(product(64, 4096, 4096), one_us).factor, 1);
}

TEST(ProductResidualsTest, KernelTimesAreThoseOfTheTableAndSayHowMuchIs) {
  const Profile profile = Profile::defaults(kernel_param_groups());
  const KernelTimes formula{gpu_spec("h100_sxm"), profile};
  const KernelTimes own{gpu_spec("h100_sxm"), profile.with_products(table_of({row(64, 4096, 4096, 77)}))};
  EXPECT_NEAR(own.alone(product(64, 4096, 4096)).us(), 77, 1e-6);
  EXPECT_EQ(own.measured_share(product(64, 4096, 4096)), 1);
  EXPECT_EQ(formula.measured_share(product(64, 4096, 4096)), 0);
  // One row decides: near it the same factor stands, to the power of its share.
  const Kernel near = product(64, 4096, 5120);
  const double factor = 77 / formula.alone(product(64, 4096, 4096)).us();
  EXPECT_NEAR(own.alone(near).us() / formula.alone(near).us(), std::pow(factor, own.measured_share(near)), 1e-4);
}

}  // namespace
}  // namespace weft::work
