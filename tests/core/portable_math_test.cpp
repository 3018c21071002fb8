#include "sim/core/portable_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/core/error.h"
#include "sim/core/random.h"

namespace weft {
namespace {

// How many doubles lie between two positive ones.
std::int64_t ulps(double a, double b) { return std::abs(std::bit_cast<std::int64_t>(a) - std::bit_cast<std::int64_t>(b)); }

TEST(PortableMathTest, LogIsWithinTwoUnitsInTheLastPlaceOfTheLibrarys) {
  RandomStream random{1, "log"};
  for (int i = 0; i < 200'000; ++i) {
    const double x = std::ldexp(1.0 + random.unit(), static_cast<int>(random.between(-1'022, 1'022)));
    ASSERT_LE(ulps(std::abs(portable_log(x)), std::abs(std::log(x))), 2) << x;
    const double near_one = 0.5 + 1.5 * random.unit();
    ASSERT_LE(ulps(std::abs(portable_log(near_one)), std::abs(std::log(near_one))), 2) << near_one;
  }
}

TEST(PortableMathTest, ExpIsWithinTwoUnitsInTheLastPlaceOfTheLibrarys) {
  RandomStream random{1, "exp"};
  for (int i = 0; i < 200'000; ++i) {
    const double x = (random.unit() - 0.5) * 1'400.0;
    ASSERT_LE(ulps(portable_exp(x), std::exp(x)), 2) << x;
    const double small = (random.unit() - 0.5) * 2.0;
    ASSERT_LE(ulps(portable_exp(small), std::exp(small)), 2) << small;
  }
}

TEST(PortableMathTest, BasesTwoAndTenAreWithinFourUnitsInTheLastPlaceOfTheLibrarys) {
  RandomStream random{1, "bases"};
  for (int i = 0; i < 200'000; ++i) {
    const double x = std::ldexp(1.0 + random.unit(), static_cast<int>(random.between(-1'022, 1'022)));
    ASSERT_LE(ulps(std::abs(portable_log2(x)), std::abs(std::log2(x))), 4) << x;
    ASSERT_LE(ulps(std::abs(portable_log10(x)), std::abs(std::log10(x))), 4) << x;
    const double power = (random.unit() - 0.5) * 2'000.0;
    ASSERT_LE(ulps(portable_exp2(power), std::exp2(power)), 4) << power;
  }
}

// Shares of blocks and passes to powers of 0 to 1, as costs have them: |y log x| is below 14.
TEST(PortableMathTest, PowersOfSharesAreWithinOneInTenToTheFourteenthOfTheLibrarys) {
  RandomStream random{1, "pow"};
  for (int i = 0; i < 200'000; ++i) {
    const double x = std::ldexp(1.0 + random.unit(), static_cast<int>(random.between(-20, -1)));
    const double y = random.unit();
    ASSERT_NEAR(portable_pow(x, y) / std::pow(x, y), 1.0, 1e-14) << x << " ^ " << y;
  }
}

TEST(PortableMathTest, IsExactWhereTheResultIs) {
  for (int n = -1'074; n < 1'024; ++n) {
    EXPECT_EQ(portable_exp2(n), std::ldexp(1.0, n));
    EXPECT_EQ(portable_log2(std::ldexp(1.0, n)), n);
  }
  EXPECT_EQ(portable_exp10(0), 1.0);
  EXPECT_EQ(portable_exp10(3), 1'000.0);
  EXPECT_EQ(portable_exp10(22), 1e22);
  EXPECT_EQ(portable_exp10(-3), 1e-3);
  EXPECT_EQ(portable_exp10(-22), 1e-22);
  for (int n = -300; n <= 300; ++n) EXPECT_EQ(portable_log10(portable_exp10(n)), n);
  EXPECT_EQ(portable_pow(0.0, 0.5), 0.0);
  EXPECT_EQ(portable_log(1.0), 0.0);
  EXPECT_EQ(portable_exp(0.0), 1.0);
  EXPECT_EQ(portable_pow(7.5, 0.0), 1.0);
}

TEST(PortableMathTest, KeepsToItsRange) {
  EXPECT_EQ(portable_exp(1'000.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(portable_exp(-1'000.0), 0.0);
  EXPECT_NEAR(portable_log(std::numeric_limits<double>::max()), 709.782712893384, 1e-12);
  EXPECT_NEAR(portable_log(std::numeric_limits<double>::denorm_min()), -744.440071921381, 1e-12);
  EXPECT_EQ(portable_exp2(1'024.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(portable_exp2(-1'075.0), 0.0);
  EXPECT_THROW((void)portable_log(0.0), InternalError);
  EXPECT_THROW((void)portable_log2(0.0), InternalError);
  EXPECT_THROW((void)portable_pow(0.0, 0.0), InternalError);
  EXPECT_THROW((void)portable_log(-1.0), InternalError);
  EXPECT_THROW((void)portable_exp(std::numeric_limits<double>::quiet_NaN()), InternalError);
}

TEST(PortableMathTest, GivesTheSameBitsEverywhere) {
  // To the last bit, as this code defines them. Correctly rounded, ln 3 ends in 30b and e in 769: one unit away each.
  EXPECT_EQ(portable_log(3.0), 0x1.193ea7aad030ap+0);
  EXPECT_EQ(portable_exp(1.0), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(portable_pow(3.0, 0.5), 0x1.bb67ae8584caap+0);
}

}  // namespace
}  // namespace weft
