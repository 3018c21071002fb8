// The file that a user means where an option asks for one: a file by its path, or a shipped configuration by its name.
#pragma once

#include <filesystem>
#include <string>

namespace weft {

// `kind` is a folder of the shipped configurations, such as "clusters". A file comes before a shipped one of its name.
// ConfigError where there is neither, with the shipped name nearest to it.
[[nodiscard]] std::filesystem::path file_or_shipped(const std::filesystem::path& named, const std::string& kind);

}  // namespace weft
