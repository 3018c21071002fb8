#include "sim/core/config/shipped_file.h"

#include <fmt/format.h>

#include <system_error>

#include "sim/core/config/find_config.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/core/used_files.h"

namespace weft {

namespace fs = std::filesystem;

fs::path file_or_shipped(const fs::path& named, const std::string& kind) {
  std::error_code ignored;
  if (given_text(named) || fs::exists(named, ignored)) return named;
  const std::string extension = named.extension().string();
  const std::string name = (extension == ".yaml" || extension == ".yml" ? named.stem() : named.filename()).string();
  if (!named.has_parent_path() && !name.empty()) {
    if (const auto shipped = find_config(fs::path{kind} / (name + ".yaml"))) return *shipped;
  }
  throw ConfigError(
      {Diagnostic{.where = {.file = named.lexically_normal().generic_string()},
                  .message = fmt::format("cannot read this file: no such file, and none of the shipped {} by this name", kind),
                  .source_line = {},
                  .length = 1,
                  .note = did_you_mean(name, config_names(kind), fmt::format("shipped {}", kind))}});
}

}  // namespace weft
