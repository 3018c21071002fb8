// Words of the field that `weft explain` has a line on: figures of the output and what networks do. No model of its own stands
// behind them.
#pragma once

#include <span>
#include <string_view>

namespace weft::output {

struct Term {
  std::string_view name;  // lower case
  std::string_view meaning;
  std::string_view more;  // something else that can be explained; empty: nothing
};
[[nodiscard]] std::span<const Term> glossary();

}  // namespace weft::output
