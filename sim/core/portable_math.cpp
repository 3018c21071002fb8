#include "sim/core/portable_math.h"

#include <cfloat>
#include <cmath>
#include <limits>

#include "sim/core/error.h"

namespace weft {
namespace {

static_assert(FLT_EVAL_METHOD == 0, "intermediate results must not carry more bits than double");
static_assert(std::numeric_limits<double>::is_iec559);

// ln 2 in two parts: the first has its lowest 21 bits zero, so that n times it is exact for every exponent n.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLn10 = 0x1.26bb1bbb55516p+1;

// x = 2^n m with m in [sqrt(1/2), sqrt(2)), exactly.
struct Scaled {
  int n = 0;
  double m = 1.0;
};

Scaled scaled(double x) {
  WEFT_CHECK(x > 0.0 && x <= std::numeric_limits<double>::max());
  Scaled result;
  result.m = std::frexp(x, &result.n);  // in [1/2, 1)
  if (result.m < 0x1.6a09e667f3bcdp-1) {
    result.m *= 2.0;
    --result.n;
  }
  return result;
}

}  // namespace

// log x = n ln 2 + log m, and log m = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...) with s = (m-1)/(m+1).
// |s| < 0.1716, so the first term left out, s^23/23 * 2, is below 1e-17 of the result.
double portable_log(double x) {
  const auto [n, m] = scaled(x);
  const double f = m - 1.0;  // exact
  const double s = f / (2.0 + f);
  const double s2 = s * s;
  double tail = 0.0;  // s2/3 + s2^2/5 + ... + s2^10/21
  for (int k = 10; k >= 1; --k) tail = (tail + 1.0 / (2 * k + 1)) * s2;
  // 2s + 2s tail = f - s (f - 2 tail), which keeps the leading term f exact.
  return n * kLn2High + (f - (s * (f - 2.0 * tail) - n * kLn2Low));
}

// x = n ln 2 + r with |r| <= ln(2)/2 = 0.347, and exp r by its series: the first term left out, r^15/15!, is below 1e-19.
double portable_exp(double x) {
  WEFT_CHECK(!std::isnan(x));
  if (x > 709.78) return std::numeric_limits<double>::infinity();
  if (x < -708.0) return 0.0;
  const double n = std::floor(x / kLn2 + 0.5);
  const double high = x - n * kLn2High;
  const double low = n * kLn2Low;
  const double r = high - low;
  double series = 1.0;  // of (exp r - 1) / r, by Horner's rule
  for (int k = 14; k >= 2; --k) series = 1.0 + r / k * series;
  const double correction = (high - r) - low;  // what r lost by rounding
  return std::ldexp(1.0 + (r * series + correction), static_cast<int>(n));
}

double portable_pow(double x, double y) {
  if (x == 0.0 && y > 0.0) return 0.0;
  return portable_exp(y * portable_log(x));
}

double portable_log2(double x) {
  const auto [n, m] = scaled(x);
  return n + portable_log(m) / kLn2;
}

double portable_exp2(double x) {
  WEFT_CHECK(!std::isnan(x));
  if (x >= 1'024.0) return std::numeric_limits<double>::infinity();
  if (x < -1'074.0) return 0.0;
  const double n = std::floor(x + 0.5);
  return std::ldexp(portable_exp((x - n) * kLn2), static_cast<int>(n));
}

double portable_log10(double x) {
  const double power = portable_log(x) / kLn10;
  const double whole = std::floor(power + 0.5);
  return portable_exp10(static_cast<int>(whole)) == x ? whole : power;
}

double portable_exp10(int x) {
  double power = 1.0;  // exact up to 10^22
  for (int i = 0; i < x || i < -x; ++i) power *= 10.0;
  return x < 0 ? 1.0 / power : power;
}

}  // namespace weft
