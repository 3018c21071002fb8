// JSON as a ConfigNode, so that values keep their lines and columns and errors read as those of YAML do. Linear in the text.
//
// JSON as RFC 8259 has it, and the words Infinity, -Infinity and NaN, which Python's json writes: they are text here, and
// whoever reads such a value as a number refuses it with its place. Nesting over 64 levels and a key twice are errors.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/config/node.h"

namespace weft {

// `file_name` is what errors print, `root` what they call the top. ConfigError: not JSON.
[[nodiscard]] ConfigNode parse_json(std::string_view text, const std::string& file_name, std::string root = {});

}  // namespace weft
