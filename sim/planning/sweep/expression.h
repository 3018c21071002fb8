// Expressions over the axes of a sweep: constraints that points must meet, and values that follow from others.
//
//   tensor * pipeline <= 8 and bytes / rate < 2 ms
//   cluster.nodes % 2 == 0 or not (workload.collectives[0].algorithm == 'ring')
//   min(a, b) >= 64 KiB
//
// In order of binding, weakest first: or; and; not; == != < <= > >=; + -; * / %; unary -. Functions: min and max of one
// argument or more, floor, ceil and log2. Values are numbers, quantities with a unit (64 KiB, 2 us, 400 Gb/s), texts ('ring')
// and true or false. Quantities keep their dimension: bytes over a rate are a time, and adding or comparing what differs in
// dimension is an error. `%` is the remainder of whole numbers, never a percentage.
//
// Names are key paths, or the end of one where that is enough to tell it from the others; what they stand for is the caller's.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/node.h"

namespace weft::plan {

// The value of a name or an expression. Quantities are doubles in bytes and picoseconds: exact up to 2^53 of them.
struct SweepValue {
  enum class Type { kNumber, kText, kTruth };
  Type type = Type::kNumber;
  double number = 0;  // kTruth: 0 or 1
  int bytes = 0;      // dimension: powers of bytes and of picoseconds
  int time = 0;
  std::string text = {};

  [[nodiscard]] bool is_plain_number() const { return type == Type::kNumber && bytes == 0 && time == 0; }
  // "a number", "a size", "a rate", ...
  [[nodiscard]] std::string what() const;
};

// A scalar of YAML: a number, a quantity, true or false, otherwise a text.
[[nodiscard]] SweepValue sweep_value(std::string_view scalar);
// Text of YAML that reads back as the value: "64 KiB". nullopt where there is none: a fraction of a byte, an odd dimension.
[[nodiscard]] std::optional<std::string> yaml_text(const SweepValue& value);

class Expression {
 public:
  // ConfigError, located at `node`, for what is no expression.
  explicit Expression(const ConfigNode& node);
  ~Expression();
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }  // each once, in order of appearance
  // `values[i]` stands for names()[i]. ConfigError where dimensions do not go together, a divisor is 0, and the like.
  [[nodiscard]] SweepValue evaluate(std::span<const SweepValue> values) const;
  // The same, for a constraint: ConfigError unless it is true or false.
  [[nodiscard]] bool holds(std::span<const SweepValue> values) const;

 private:
  struct Term;
  friend class ExpressionParser;
  friend class ExpressionEvaluator;

  ConfigNode node_;
  std::vector<std::string> names_;
  std::vector<Term> terms_;  // the last one is the whole
};

}  // namespace weft::plan
