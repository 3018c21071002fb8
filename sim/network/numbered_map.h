// Reads maps of small whole numbers to values, such as {0: 1, 3: 2}: weights by priority, virtual lanes by service level.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/core/config/quantity.h"

namespace weft::net {

// As errors name them.
struct NumberedMap {
  std::string_view what;     // "priorities to weights"
  std::string_view example;  // "{3: 3, 4: 1}"
  std::string_view number;   // "a priority of 0 to 7"
  std::string_view value;    // "a number above 0"
  std::int64_t numbers = 0;  // there are, from 0 on
};

// take(number, value) answers whether the value is one that is expected. False where nothing that could be a map was written.
template <class Take>
bool read_numbered_map(ParamReader& section, std::string_view key, const NumberedMap& expected, Take take) {
  const std::optional<ConfigNode> written = section.optional_raw(key);
  if (!written) return false;
  if (!written->is_map()) {
    section.error(key, fmt::format("expected a map of {}, got {}", expected.what, found_text(*written)),
                  fmt::format("for example {}", expected.example));
    return false;
  }
  const std::vector<std::string> keys = written->keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ConfigNode value = (*written)[i];
    const auto number = parse_integer(keys[i]);
    if (!number || *number < 0 || *number >= expected.numbers) {
      section.diagnostics().error(
          value.key_diagnostic(fmt::format("{}: expected {}, got '{}'", written->path(), expected.number, keys[i])));
    } else if (!value.is_scalar() || !take(static_cast<std::size_t>(*number), value.scalar())) {
      section.diagnostics().error(
          value.diagnostic(fmt::format("{}: expected {}, got {}", value.path(), expected.value, found_text(value))));
    }
  }
  return true;
}

}  // namespace weft::net
