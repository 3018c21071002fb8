#include "sim/core/parameter_scale.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

namespace weft {

double number_of(const ParamValue& value) {
  struct Visitor {
    double operator()(Duration v) const { return static_cast<double>(v.ps()); }
    double operator()(Bytes v) const { return static_cast<double>(v.count()); }
    double operator()(Bandwidth v) const { return static_cast<double>(v.bits_per_second()); }
    double operator()(double v) const { return v; }
    double operator()(std::int64_t v) const { return static_cast<double>(v); }
  };
  return std::visit(Visitor{}, value);
}

ParamValue value_of(const ParamValue& like, double number) {
  struct Visitor {
    double number;
    [[nodiscard]] std::int64_t whole() const { return std::llround(std::clamp(number, -9.2e18, 9.2e18)); }
    ParamValue operator()(Duration) const { return Duration::from_ps(whole()); }
    ParamValue operator()(Bytes) const { return Bytes{whole()}; }
    ParamValue operator()(Bandwidth) const { return Bandwidth::from_bits_per_second(whole()); }
    ParamValue operator()(double) const { return number; }
    ParamValue operator()(std::int64_t) const { return whole(); }
  };
  return std::visit(Visitor{number}, like);
}

ParamValue value_within(const ParamInfo& info, double number) {
  const ParamValue value = value_of(info.default_value, number);
  if (info.min && value < *info.min) return *info.min;
  if (info.max && value > *info.max) return *info.max;
  return value;
}

double typical_number(const ParamValue& like) {
  struct Visitor {
    double operator()(Duration) const { return 1e6; }
    double operator()(Bytes) const { return 1024; }
    double operator()(Bandwidth) const { return 8e9; }
    double operator()(double) const { return 1; }
    double operator()(std::int64_t) const { return 1; }
  };
  return std::visit(Visitor{}, like);
}

double rounded_number(double number) {
  if (!(number > 0)) return number;
  double unit = 1;
  while (number / unit >= 1e6) unit *= 10;
  if (unit > 1) return std::round(number / unit) * unit;
  double parts = 1;
  while (number * parts < 1e5 && parts < 1e15) parts *= 10;
  return std::round(number * parts) / parts;
}

}  // namespace weft
