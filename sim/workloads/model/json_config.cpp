#include "sim/workloads/model/json_config.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <system_error>

#include "sim/core/config/json.h"
#include "sim/core/error.h"
#include "sim/core/used_files.h"

namespace weft::work {
namespace {

constexpr std::uintmax_t kMaxBytes = 16U << 20;  // large ones hold some megabytes of what is said of each quantised layer

}  // namespace

ConfigNode load_json_config(const std::filesystem::path& file, const std::string& path) {
  const std::string name = file.lexically_normal().generic_string();
  std::error_code ignored;
  std::ifstream stream = open_input(file);
  if (!stream || !std::filesystem::is_regular_file(file, ignored)) throw ConfigError(fmt::format("cannot read '{}'", name));
  if (std::filesystem::file_size(file, ignored) > kMaxBytes) {
    throw ConfigError(fmt::format("'{}' has more than {} MiB: not a configuration", name, kMaxBytes >> 20U));
  }
  return parse_json(std::string{std::istreambuf_iterator<char>{stream}, {}}, name, path);
}

}  // namespace weft::work
