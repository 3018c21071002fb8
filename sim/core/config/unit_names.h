// The units that quantity.h reads, as they are written: for what describes its texts, such as a schema.
#pragma once

#include <string_view>
#include <vector>

namespace weft {

[[nodiscard]] std::vector<std::string_view> duration_units();   // "ps", "ns", ...
[[nodiscard]] std::vector<std::string_view> byte_units();       // "B", "kB", ..., "PiB"
[[nodiscard]] std::vector<std::string_view> bandwidth_units();  // "b/s", ..., "TiB/s"

}  // namespace weft
