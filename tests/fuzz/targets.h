// Lists by name every reader of files that others may have written, for the fuzzers. A format of traces is one by itself.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

namespace weft::fuzz {

struct Target {
  std::string_view name;                             // of its folder of seeds
  std::string_view file;                             // what an input is called: readers look at names
  void (*read)(const std::filesystem::path& input);  // ConfigError: refused; any other exception is a fault
};

[[nodiscard]] std::span<const Target> targets();

}  // namespace weft::fuzz
