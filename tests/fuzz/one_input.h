// One input of a fuzzer given to a reader of traces, as files in a folder of this process. Parts that a line "%%%%" separates
// are files of ranks 0, 1, ...
#pragma once

#include <string_view>

namespace weft::fuzz {

enum class Outcome { kRead, kRefused };

// Anything but a ConfigError comes through: it is a bug of the reader.
Outcome read_input(std::string_view format, std::string_view input);

}  // namespace weft::fuzz
