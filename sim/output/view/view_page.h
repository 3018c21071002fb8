// The page of `weft view`: results and timelines in one HTML file that shows them in a browser, by itself and without a
// network.
//
// Results are what commands write with --json, timelines what they write with --timeline, of any trace viewer's format
// (Chrome's). A result's cluster is built again from the configuration it holds, for its topology; nothing is simulated.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::output {

// ConfigError where a file is neither.
[[nodiscard]] std::string view_page(const std::vector<std::filesystem::path>& files, const std::string& title);

}  // namespace weft::output
