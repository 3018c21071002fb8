// A text as a field of a CSV file (RFC 4180), on one line: control characters are escapes (core/printable.h).
#pragma once

#include <string>
#include <string_view>

namespace weft {

[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace weft
