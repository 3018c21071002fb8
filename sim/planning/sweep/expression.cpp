#include "sim/planning/sweep/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/portable_math.h"
#include "sim/core/words.h"

namespace weft::plan {

// A node of the syntax tree; operands are indices of earlier terms.
struct Expression::Term {
  std::string what = {};                // "value", "name", an operator or a function
  std::vector<std::size_t> terms = {};  // operands
  SweepValue value = {};
  std::size_t name = 0;
};

namespace {

using Type = SweepValue::Type;

constexpr std::size_t kMaxDepth = 100;
constexpr double kExactLimit = 9007199254740992.0;  // 2^53
constexpr std::array<std::string_view, 5> kFunctions{"min", "max", "floor", "ceil", "log2"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

SweepValue truth(bool value) { return {.type = Type::kTruth, .number = value ? 1.0 : 0.0}; }

std::optional<SweepValue> quantity(std::string_view text) {
  if (const auto bytes = parse_bytes(text)) return SweepValue{.number = static_cast<double>(bytes->count()), .bytes = 1};
  if (const auto time = parse_duration(text)) return SweepValue{.number = static_cast<double>(time->ps()), .time = 1};
  if (const auto rate = parse_bandwidth(text)) {
    // Bytes per picosecond.
    return SweepValue{.number = static_cast<double>(rate->bits_per_second()) / 8e12, .bytes = 1, .time = -1};
  }
  return std::nullopt;
}

}  // namespace

std::string SweepValue::what() const {
  if (type == Type::kText) return fmt::format("the text '{}'", text);
  if (type == Type::kTruth) return number != 0 ? "true" : "false";
  if (bytes == 0 && time == 0) return "a number";
  if (bytes == 1 && time == 0) return "a size";
  if (bytes == 0 && time == 1) return "a time";
  if (bytes == 1 && time == -1) return "a rate";
  return fmt::format("bytes^{} x time^{}", bytes, time);
}

SweepValue sweep_value(std::string_view scalar) {
  if (const auto number = parse_ratio(scalar)) return {.number = *number};
  if (const auto known = quantity(scalar)) return *known;
  if (const auto is_true = parse_bool(scalar)) return truth(*is_true);
  return {.type = Type::kText, .text = std::string{scalar}};
}

std::optional<std::string> yaml_text(const SweepValue& value) {
  if (value.type == Type::kText) return value.text;
  if (value.type == Type::kTruth) return value.number != 0 ? "true" : "false";
  if (!std::isfinite(value.number) || std::abs(value.number) > kExactLimit) return std::nullopt;
  const bool is_whole = std::floor(value.number) == value.number;
  if (value.bytes == 0 && value.time == 0) {
    return is_whole ? std::to_string(static_cast<std::int64_t>(value.number)) : number_text(value.number);
  }
  if (value.bytes == 1 && value.time == 0 && is_whole) return to_string(Bytes{static_cast<std::int64_t>(value.number)});
  if (value.bytes == 0 && value.time == 1) return to_string(Duration::nearest_ps(value.number));
  if (value.bytes == 1 && value.time == -1 && value.number < 1e6) {
    return to_string(Bandwidth::from_bits_per_second(std::llround(value.number * 8e12)));
  }
  return std::nullopt;
}

// Recursive descent, one function per level of binding.
class ExpressionParser {
 public:
  ExpressionParser(const ConfigNode& node, Expression& into) : node_{node}, text_{node.scalar()}, into_{into} {}

  void parse() {
    static_cast<void>(any());
    skip_blanks();
    if (at_ < text_.size()) fail(fmt::format("expected an operator, got '{}'", rest()));
  }

 private:
  using Level = std::size_t (ExpressionParser::*)();

  [[noreturn]] void fail(const std::string& problem, std::string note = {}) const {
    node_.fail(fmt::format("{}: {} at character {} of '{}'", node_.path(), problem, at_ + 1, text_), std::move(note));
  }
  [[nodiscard]] std::string rest() const {
    constexpr std::size_t kShown = 12;
    return text_.substr(at_, kShown) + (text_.size() > at_ + kShown ? "..." : "");
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  [[nodiscard]] bool take(std::string_view symbol) {
    skip_blanks();
    if (!std::string_view{text_}.substr(at_).starts_with(symbol)) return false;
    const std::size_t end = at_ + symbol.size();
    if (is_letter(symbol.front()) && end < text_.size() &&
        (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.')) {
      return false;  // "order" does not begin with "or"
    }
    at_ = end;
    return true;
  }

  std::size_t add(Expression::Term term) {
    into_.terms_.push_back(std::move(term));
    return into_.terms_.size() - 1;
  }

  // One level of operators that bind alike, from left to right.
  std::size_t chain(Level operand, std::initializer_list<std::string_view> operators, bool only_one = false) {
    std::size_t left = (this->*operand)();
    for (bool more = true; more;) {
      more = false;
      for (const std::string_view symbol : operators) {
        if (!take(symbol)) continue;
        const std::size_t right = (this->*operand)();
        left = add({.what = std::string{symbol}, .terms = {left, right}});
        more = !only_one;
        break;
      }
    }
    return left;
  }

  std::size_t any() {
    if (++depth_ > kMaxDepth) fail("nested deeper than 100 levels");
    const std::size_t term = chain(&ExpressionParser::all, {"or"});
    --depth_;
    return term;
  }
  std::size_t all() { return chain(&ExpressionParser::negation, {"and"}); }
  std::size_t negation() {
    if (!take("not")) return comparison();
    if (++depth_ > kMaxDepth) fail("nested deeper than 100 levels");
    const std::size_t term = add({.what = "not", .terms = {negation()}});
    --depth_;
    return term;
  }
  std::size_t comparison() { return chain(&ExpressionParser::sum, {"==", "!=", "<=", ">=", "<", ">"}, true); }
  std::size_t sum() { return chain(&ExpressionParser::product, {"+", "-"}); }
  std::size_t product() { return chain(&ExpressionParser::unary, {"*", "/", "%"}); }
  std::size_t unary() {
    if (!take("-")) return primary();
    if (++depth_ > kMaxDepth) fail("nested deeper than 100 levels");
    const std::size_t term = add({.what = "negative", .terms = {unary()}});
    --depth_;
    return term;
  }

  std::size_t primary() {
    skip_blanks();
    if (at_ >= text_.size()) fail("expected a value");
    if (take("(")) {
      const std::size_t inside = any();
      if (!take(")")) fail("expected ')'");
      return inside;
    }
    const char first = text_[at_];
    if (is_digit(first)) return number();
    if (first == '\'' || first == '"') return quoted(first);
    if (is_letter(first)) return named();
    if (first == '=') fail("expected a value, got '='", "equality is '=='");
    fail(fmt::format("expected a value, got '{}'", rest()));
  }

  std::size_t quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) fail("a quoted text does not end");
    const std::size_t begin = std::exchange(at_, end + 1) + 1;
    return add({.what = "value", .value = {.type = Type::kText, .text = text_.substr(begin, end - begin)}});
  }

  // "64", "1.5e3", "64 KiB", "400 Gb/s": the longest of number and unit that means something.
  std::size_t number() {
    std::size_t end = at_;
    while (end < text_.size() && (is_digit(text_[end]) || text_[end] == '.')) ++end;
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t power = end + 1;
      if (power < text_.size() && (text_[power] == '+' || text_[power] == '-')) ++power;
      if (power < text_.size() && is_digit(text_[power])) {
        end = power;
        while (end < text_.size() && is_digit(text_[end])) ++end;
      }
    }
    const std::string digits = text_.substr(at_, end - at_);
    std::size_t unit = end;
    while (unit < text_.size() && text_[unit] == ' ') ++unit;
    std::size_t unit_end = unit;
    while (unit_end < text_.size() && is_letter(text_[unit_end])) ++unit_end;
    const std::string name = text_.substr(unit, unit_end - unit);
    if (!name.empty() && name != "and" && name != "or") {
      std::optional<SweepValue> found;
      if (std::string_view{text_}.substr(unit_end).starts_with("/s")) found = quantity(fmt::format("{} {}/s", digits, name));
      if (found) {
        unit_end += 2;
      } else {
        found = quantity(fmt::format("{} {}", digits, name));
      }
      if (!found) fail(fmt::format("unknown unit '{}'", name), "units are those of the files: B, KiB, us, Gb/s, ...");
      at_ = unit_end;
      return add({.what = "value", .value = *found});
    }
    const auto plain = parse_number(digits);
    if (!plain) fail(fmt::format("expected a number, got '{}'", digits));
    at_ = end;
    return add({.what = "value", .value = {.number = *plain}});
  }

  // A key path, a function or one of the two truths.
  std::size_t named() {
    std::size_t end = at_;
    while (end < text_.size() &&
           (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.' || text_[end] == '[' || text_[end] == ']')) {
      ++end;
    }
    const std::string name = text_.substr(at_, end - at_);
    if (end < text_.size() && text_[end] == '(') return call(name, end);
    at_ = end;
    if (const auto known = parse_bool(name)) return add({.what = "value", .value = truth(*known)});
    if (name == "and" || name == "or" || name == "not") fail(fmt::format("expected a value before '{}'", name));
    const auto place = std::ranges::find(into_.names_, name);
    const auto index = static_cast<std::size_t>(place - into_.names_.begin());
    if (place == into_.names_.end()) into_.names_.push_back(name);
    return add({.what = "name", .name = index});
  }

  std::size_t call(const std::string& name, std::size_t end) {
    if (std::ranges::find(kFunctions, name) == kFunctions.end()) {
      const std::vector<std::string> functions{kFunctions.begin(), kFunctions.end()};
      fail(fmt::format("unknown function '{}'", name), did_you_mean(name, functions, "functions"));
    }
    at_ = end + 1;
    Expression::Term term{.what = name};
    do {
      term.terms.push_back(any());
    } while (take(","));
    if (!take(")")) fail("expected ',' or ')'");
    if (name != "min" && name != "max" && term.terms.size() != 1) fail(fmt::format("{} takes one argument", name));
    return add(std::move(term));
  }

  const ConfigNode& node_;
  const std::string& text_;
  Expression& into_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

// Operands come before what uses them, so one pass over the terms would do; `and` and `or` look no further than they must, so
// that `b != 0 and a / b > 2` can be written.
class ExpressionEvaluator {
 public:
  ExpressionEvaluator(const ConfigNode& node, const std::vector<Expression::Term>& terms, std::span<const SweepValue> values)
      : node_{node}, terms_{terms}, values_{values} {}

  [[nodiscard]] SweepValue value(std::size_t index) const {
    const Expression::Term& term = terms_[index];
    if (term.what == "value") return term.value;
    if (term.what == "name") return values_[term.name];
    if (term.what == "not") return truth(!is_true(term.terms[0]));
    if (term.what == "and") return truth(is_true(term.terms[0]) && is_true(term.terms[1]));
    if (term.what == "or") return truth(is_true(term.terms[0]) || is_true(term.terms[1]));
    if (term.what == "negative") {
      SweepValue negated = number(term.terms[0], "-");
      negated.number = -negated.number;
      return negated;
    }
    if (std::ranges::find(kFunctions, term.what) != kFunctions.end()) return function(term);
    if (term.what == "*" || term.what == "/" || term.what == "%") return product(term);
    if (term.what == "+" || term.what == "-") return sum(term);
    return comparison(term);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    node_.fail(fmt::format("{}: {} in '{}'", node_.path(), problem, node_.scalar()));
  }

  [[nodiscard]] bool is_true(std::size_t index) const {
    const SweepValue found = value(index);
    if (found.type != Type::kTruth) fail(fmt::format("expected true or false, got {},", found.what()));
    return found.number != 0;
  }
  [[nodiscard]] SweepValue number(std::size_t index, std::string_view what) const {
    SweepValue found = value(index);
    if (found.type != Type::kNumber) fail(fmt::format("'{}' takes numbers, got {},", what, found.what()));
    return found;
  }
  void same_dimension(const SweepValue& a, const SweepValue& b, std::string_view what) const {
    if (a.bytes != b.bytes || a.time != b.time) fail(fmt::format("'{}' of {} and {}", what, a.what(), b.what()));
  }

  [[nodiscard]] SweepValue sum(const Expression::Term& term) const {
    SweepValue left = number(term.terms[0], term.what);
    const SweepValue right = number(term.terms[1], term.what);
    same_dimension(left, right, term.what);
    left.number += term.what == "+" ? right.number : -right.number;
    return left;
  }

  [[nodiscard]] SweepValue product(const Expression::Term& term) const {
    SweepValue left = number(term.terms[0], term.what);
    const SweepValue right = number(term.terms[1], term.what);
    if (term.what == "*") {
      left.number *= right.number;
      left.bytes += right.bytes;
      left.time += right.time;
      return left;
    }
    if (right.number == 0) fail("a division by 0");
    if (term.what == "/") {
      left.number /= right.number;
      left.bytes -= right.bytes;
      left.time -= right.time;
      return left;
    }
    same_dimension(left, right, "%");
    if (std::floor(left.number) != left.number || std::floor(right.number) != right.number) {
      fail("'%' of what is not whole");
    }
    left.number = std::fmod(left.number, right.number);
    return left;
  }

  [[nodiscard]] SweepValue comparison(const Expression::Term& term) const {
    const SweepValue left = value(term.terms[0]);
    const SweepValue right = value(term.terms[1]);
    const bool is_equality = term.what == "==" || term.what == "!=";
    if (left.type != right.type || (left.type != Type::kNumber && !is_equality)) {
      fail(fmt::format("'{}' of {} and {}", term.what, left.what(), right.what()));
    }
    if (is_equality) {
      same_dimension(left, right, term.what);
      return truth((left.number == right.number && left.text == right.text) == (term.what == "=="));
    }
    same_dimension(left, right, term.what);
    if (term.what == "<") return truth(left.number < right.number);
    if (term.what == "<=") return truth(left.number <= right.number);
    if (term.what == ">") return truth(left.number > right.number);
    return truth(left.number >= right.number);
  }

  [[nodiscard]] SweepValue function(const Expression::Term& term) const {
    SweepValue result = number(term.terms[0], term.what);
    for (std::size_t i = 1; i < term.terms.size(); ++i) {
      const SweepValue next = number(term.terms[i], term.what);
      same_dimension(result, next, term.what);
      result.number = term.what == "min" ? std::min(result.number, next.number) : std::max(result.number, next.number);
    }
    if (term.what == "min" || term.what == "max") return result;
    if (!result.is_plain_number()) fail(fmt::format("'{}' of {}", term.what, result.what()));
    if (term.what == "log2" && result.number <= 0) fail("log2 of what is not positive");
    result.number = term.what == "floor"  ? std::floor(result.number)
                    : term.what == "ceil" ? std::ceil(result.number)
                                          : portable_log2(result.number);
    return result;
  }

  const ConfigNode& node_;
  const std::vector<Expression::Term>& terms_;
  std::span<const SweepValue> values_;
};

Expression::Expression(const ConfigNode& node) : node_{node} {
  if (!node.is_scalar() || node.scalar().empty()) {
    node.fail(fmt::format("{}: expected an expression, got {}", node.path(), found_text(node)));
  }
  ExpressionParser{node_, *this}.parse();
}
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

SweepValue Expression::evaluate(std::span<const SweepValue> values) const {
  WEFT_CHECK(values.size() == names_.size());
  return ExpressionEvaluator{node_, terms_, values}.value(terms_.size() - 1);
}

bool Expression::holds(std::span<const SweepValue> values) const {
  const SweepValue result = evaluate(values);
  if (result.type != Type::kTruth) {
    node_.fail(fmt::format("{}: expected a condition, '{}' is {}", node_.path(), node_.scalar(), result.what()));
  }
  return result.number != 0;
}

}  // namespace weft::plan
