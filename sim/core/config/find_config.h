// Where shipped configurations lie: the folder named by the environment variable WEFT_CONFIG_DIR, then `configs/` of the source
// tree that this library was built from, then `share/weft/configs` of the installation, then `../share/weft/configs` seen from
// the running program, for an installation that was moved.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weft {

[[nodiscard]] std::vector<std::filesystem::path> config_folders();

// "nodes/dgx_h100.yaml" in the first folder that has it.
[[nodiscard]] std::optional<std::filesystem::path> find_config(const std::filesystem::path& relative);

// Stems of the .yaml files in these folders, in byte order, each once.
[[nodiscard]] std::vector<std::string> yaml_stems(const std::vector<std::filesystem::path>& folders);

// Names of the shipped configurations of one kind, such as "profiles".
[[nodiscard]] std::vector<std::string> config_names(const std::filesystem::path& kind);

}  // namespace weft
