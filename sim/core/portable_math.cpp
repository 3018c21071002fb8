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

}  // namespace

// x = 2^n m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...) with s = (m-1)/(m+1).
// |s| < 0.1716, so the first term left out, s^23/23 * 2, is below 1e-17 of the result.
double portable_log(double x) {
  WEFT_CHECK(x > 0.0 && x <= std::numeric_limits<double>::max());
  int n = 0;
  double m = std::frexp(x, &n);  // exact, in [1/2, 1)
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2.0;
    --n;
  }
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
  const double n = std::floor(x / 0x1.62e42fefa39efp-1 + 0.5);
  const double high = x - n * kLn2High;
  const double low = n * kLn2Low;
  const double r = high - low;
  double series = 1.0;  // of (exp r - 1) / r, by Horner's rule
  for (int k = 14; k >= 2; --k) series = 1.0 + r / k * series;
  const double correction = (high - r) - low;  // what r lost by rounding
  return std::ldexp(1.0 + (r * series + correction), static_cast<int>(n));
}

double portable_pow(double x, double y) { return portable_exp(y * portable_log(x)); }

}  // namespace weft
