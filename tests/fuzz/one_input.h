// One input of a fuzzer given to a reader, as a file in a folder of this process. Of a format of traces, parts that a line
// "%%%%" separates are files of ranks 0, 1, ...
#pragma once

#include <string_view>
#include <vector>

namespace weft::fuzz {

enum class Outcome { kRead, kRefused };

// Names everything that is fuzzed: targets (targets.h), and formats of traces.
[[nodiscard]] std::vector<std::string_view> target_names();

// Anything but a ConfigError comes through: it is a bug of the reader.
Outcome read_input(std::string_view target, std::string_view input);

}  // namespace weft::fuzz
