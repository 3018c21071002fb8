#include "sim/core/config/find_config.h"

#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>

namespace weft {
namespace {

// Set by the build; folders separated by ':'.
#ifndef WEFT_CONFIG_FOLDERS
#define WEFT_CONFIG_FOLDERS ""
#endif

}  // namespace

std::vector<std::filesystem::path> config_folders() {
  std::vector<std::filesystem::path> folders;
  if (const char* chosen = std::getenv("WEFT_CONFIG_DIR"); chosen != nullptr && *chosen != '\0') folders.emplace_back(chosen);
  std::string_view rest = WEFT_CONFIG_FOLDERS;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    if (end != 0) folders.emplace_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) folders.push_back(program.parent_path().parent_path() / "share/weft/configs");
  return folders;
}

std::optional<std::filesystem::path> find_config(const std::filesystem::path& relative) {
  std::error_code ignored;
  for (const std::filesystem::path& folder : config_folders()) {
    if (std::filesystem::is_regular_file(folder / relative, ignored)) return folder / relative;
  }
  return std::nullopt;
}

std::vector<std::string> yaml_stems(const std::vector<std::filesystem::path>& folders) {
  std::set<std::string> stems;
  std::error_code ignored;
  for (const std::filesystem::path& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".yaml") stems.insert(entry.path().stem().string());
    }
  }
  return {stems.begin(), stems.end()};
}

std::vector<std::string> config_names(const std::filesystem::path& kind) {
  std::vector<std::filesystem::path> folders = config_folders();
  for (std::filesystem::path& folder : folders) folder /= kind;
  return yaml_stems(folders);
}

}  // namespace weft
