// Checks of options that say what is expected; those of CLI11 print the largest double as the end of their range.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>
#include <string_view>

namespace weft::apps {
namespace detail {

inline std::string problem_of(const std::string& text, bool zero_too, std::string_view expected) {
  using CLI::detail::lexical_cast;
  double number = 0;
  const bool fits = lexical_cast(text, number) && std::isfinite(number) && (number > 0 || (zero_too && number == 0));
  return fits ? std::string{} : fmt::format("expected {}, got '{}'", expected, text);
}

}  // namespace detail

inline CLI::Validator positive_number() {
  return {[](const std::string& text) { return detail::problem_of(text, false, "a number above 0, such as 8 or 15e12"); },
          "POSITIVE"};
}

inline CLI::Validator number_from_zero() {
  return {[](const std::string& text) { return detail::problem_of(text, true, "a number such as 0, 8 or 15e12"); },
          "NONNEGATIVE"};
}

}  // namespace weft::apps
