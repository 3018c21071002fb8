#include "sim/planning/sweep/axis_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "sim/core/config/quantity.h"
#include "sim/core/portable_math.h"
#include "sim/core/units.h"

namespace weft::plan {
namespace {

std::string too_many(const ConfigNode& node, std::string_view count) {
  return fmt::format("{}: the range has {} values, more than {}", node.path(), count, AxisRange::kMaxValues);
}

}  // namespace

AxisRange::End AxisRange::end_of(const ConfigNode& node) {
  const std::string& text = node.scalar();
  if (node.is_scalar()) {
    if (const auto whole = parse_integer(text)) return {Kind::kInteger, *whole, static_cast<double>(*whole)};
    const auto exact = [](Kind kind, std::int64_t whole) { return End{kind, whole, static_cast<double>(whole)}; };
    if (const auto bytes = parse_bytes(text)) return exact(Kind::kBytes, bytes->count());
    if (const auto time = parse_duration(text)) return exact(Kind::kTime, time->ps());
    if (const auto rate = parse_bandwidth(text)) return exact(Kind::kRate, rate->bits_per_second());
    if (const auto number = parse_ratio(text)) return {Kind::kNumber, 0, *number};
  }
  node.fail(fmt::format("{}: expected a number or a quantity with its unit, got {}", node.path(), found_text(node)));
}

AxisRange::AxisRange(const ConfigNode& node, Use use, Diagnostics& diagnostics) : node_{node} {
  ParamReader reader{node, diagnostics};
  const ConfigNode from = reader.raw("from");
  const ConfigNode to = reader.raw("to");
  base_ = reader.choice<std::int64_t>("scale", {{"linear", 0}, {"log2", 2}, {"log10", 10}}, 0);
  std::optional<ConfigNode> step;
  if (use == Use::kStepped) {
    step = reader.optional_raw("step");
    count_ = reader.optional<std::int64_t>("count", 0, weft::between<std::int64_t>(2, kMaxValues));
  }
  reader.finish();
  diagnostics.throw_if_any();
  from_ = end_of(from);
  to_ = end_of(to);
  if (step) step_ = end_of(*step);
  has_step_ = step.has_value();
  // "from: 1, to: 2.5" is a range of numbers, and so is one with such a step.
  const auto as_numbers = [&] {
    for (End* end : {&from_, &to_, &step_}) {
      if (end->kind == Kind::kInteger) end->kind = Kind::kNumber;
    }
  };
  if (from_.kind == Kind::kNumber || to_.kind == Kind::kNumber || (has_step_ && step_.kind == Kind::kNumber)) as_numbers();
  if (use == Use::kStepped && has_step_ == (count_ > 0) && (has_step_ || base_ == 0)) {
    diagnostics.error(node.diagnostic(fmt::format("{}: a range takes either a step or a count", node.path()),
                                      "or scale: log2 or log10, and each value is 2 or 10 times the one before"));
  } else if (has_step_ && base_ != 0) {
    diagnostics.error(step->diagnostic(fmt::format("{}: a step belongs to a linear scale", step->path())));
  }
  check_ends(diagnostics);
  diagnostics.throw_if_any();
}

void AxisRange::check_ends(Diagnostics& diagnostics) const {
  if (from_.kind != to_.kind || (has_step_ && step_.kind != from_.kind)) {
    diagnostics.error(node_.diagnostic(fmt::format("{}: the ends of a range are of one kind", node_.path())));
  } else if (from_.number > to_.number) {
    diagnostics.error(node_.diagnostic(fmt::format("{}: the range is empty: 'from' is above 'to'", node_.path())));
  } else if (base_ != 0 && from_.number <= 0) {
    diagnostics.error(node_.diagnostic(fmt::format("{}: a logarithmic range begins above 0", node_.path())));
  } else if (has_step_ && step_.number <= 0) {
    diagnostics.error(node_.diagnostic(fmt::format("{}: a step is more than 0", node_.path())));
  }
}

std::string AxisRange::text(const End& end) const {
  switch (from_.kind) {
    case Kind::kInteger:
      return std::to_string(end.whole);
    case Kind::kBytes:
      return to_string(Bytes{end.whole});
    case Kind::kTime:
      return to_string(Duration::from_ps(end.whole));
    case Kind::kRate:
      return to_string(Bandwidth::from_bits_per_second(end.whole));
    case Kind::kNumber:
      break;
  }
  return number_text(end.number);
}

std::vector<std::string> AxisRange::values() const {
  if (has_step_) return stepped();
  return count_ > 0 ? counted() : multiplied();
}

std::vector<std::string> AxisRange::stepped() const {
  // Half a millionth of a step forgives what 0.1 + 0.2 leaves out.
  const double steps = std::floor((to_.number - from_.number) / step_.number + 5e-7);
  if (steps >= static_cast<double>(kMaxValues)) node_.fail(too_many(node_, fmt::format("{:.0f}", steps + 1)));
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i <= static_cast<std::int64_t>(steps); ++i) {
    texts.push_back(text({from_.kind, from_.whole + i * step_.whole, from_.number + static_cast<double>(i) * step_.number}));
  }
  return texts;
}

std::vector<std::string> AxisRange::multiplied() const {
  std::vector<std::string> texts;
  for (End end = from_; end.number <= to_.number * (1 + 1e-12);) {
    texts.push_back(text(end));
    end.number *= static_cast<double>(base_);
    if (end.number > 9.2e18) break;  // the largest of 64 bits
    end.whole *= base_;
  }
  return texts;
}

std::vector<std::string> AxisRange::counted() const {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < count_; ++i) texts.push_back(evenly(i, count_ - 1));
  if (std::set<std::string>{texts.begin(), texts.end()}.size() != texts.size()) {
    const std::string message =
        fmt::format("{}: {} values from {} to {} are not all different", node_.path(), count_, text(from_), text(to_));
    node_.fail(message, from_.kind == Kind::kInteger ? fmt::format("from: {}.0 takes numbers between", text(from_)) : "");
  }
  return texts;
}

std::string AxisRange::evenly(std::int64_t index, std::int64_t last) const {
  if (index == 0) return text(from_);
  if (index == last) return text(to_);
  if (base_ != 0 || from_.kind == Kind::kNumber) return between(static_cast<double>(index) / static_cast<double>(last));
  const Int128 span = static_cast<Int128>(to_.whole) - from_.whole;
  const Int128 part = (2 * span * index + last) / (2 * last);  // to the nearest
  return text({from_.kind, static_cast<std::int64_t>(from_.whole + part), 0});
}

std::string AxisRange::between(double share) const {
  double number = from_.number + share * (to_.number - from_.number);
  if (base_ != 0) {
    const double low = portable_log(from_.number);
    number = portable_exp(low + share * (portable_log(to_.number) - low));
  }
  number = std::clamp(number, from_.number, to_.number);
  return text({from_.kind, from_.kind == Kind::kNumber ? 0 : std::llround(number), number});
}

std::string AxisRange::drawn(double share) const {
  if (base_ != 0 || from_.kind == Kind::kNumber) return between(share);
  const double values = to_.number - from_.number + 1;
  const auto offset = static_cast<std::int64_t>(share * values);
  return text({from_.kind, std::min(from_.whole + offset, to_.whole), 0});
}

}  // namespace weft::plan
