// A JSON file as a ConfigNode, so that values keep their lines and columns and errors read as those of YAML do.
#pragma once

#include <filesystem>
#include <string>

#include "sim/core/config/node.h"

namespace weft::work {

// `path` is what errors call the top. ConfigError: unreadable, over 16 MiB, not JSON, or with a key twice.
[[nodiscard]] ConfigNode load_json_config(const std::filesystem::path& file, const std::string& path);

}  // namespace weft::work
