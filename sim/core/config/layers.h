// A file and the files it extends as they stand, for who lays them over each other by a rule of its own.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "sim/core/config/node.h"

namespace weft {

// Returns the layers that ConfigNode::load_file lays over each other, base first, without their `extends`.
[[nodiscard]] std::vector<ConfigNode> load_layers(const std::filesystem::path& file);
// The same of what load_reference reads: a map, or the file that `node` names.
[[nodiscard]] std::vector<ConfigNode> load_layers(const ConfigNode& node);

// Whether a value names a file of YAML: by a path that ends in .yaml or .yml, or by the name of a shipped configuration.
[[nodiscard]] bool names_yaml_file(const ConfigNode& node);

// Maps merge, in the order of `base` and then of new keys; null drops a key of the base; everything else is replaced.
[[nodiscard]] ConfigNode laid_over(const ConfigNode& base, const ConfigNode& over);

[[nodiscard]] ConfigNode without_key(const ConfigNode& map, std::string_view key);

}  // namespace weft
