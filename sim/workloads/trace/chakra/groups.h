// Process groups of Chakra traces: ASTRA-sim's comm-group file, and the METADATA nodes that come from PyTorch.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/ids.h"

namespace weft::work::chakra {

using GroupRanks = std::map<std::string, std::vector<Rank>, std::less<>>;  // empty: all ranks

// {"1": [0, 1, 2, 3], ...}. ConfigError, with the byte, for anything else.
[[nodiscard]] GroupRanks read_comm_groups(const std::filesystem::path& file);
[[nodiscard]] bool looks_like_comm_groups(std::string_view head);
// Adds what `inputs.values` of a METADATA node says of process groups; other text is let pass.
void add_process_groups(std::string_view input_values, GroupRanks& groups);

}  // namespace weft::work::chakra
