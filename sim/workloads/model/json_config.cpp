#include "sim/workloads/model/json_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/used_files.h"

namespace weft::work {
namespace {

constexpr std::uintmax_t kMaxBytes = 16U << 20;  // large ones hold some hundred kilobytes of label names
constexpr int kMaxDepth = 64;                    // each level takes memory before the text is known to be complete
constexpr std::size_t kMaxShown = 120;           // bytes of a line in an error

[[noreturn]] void refuse(const std::string& text, std::size_t offset, const std::string& name) {
  const bool ends = offset >= text.size();
  offset = std::min(offset, text.size());
  const std::size_t begin = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;  // npos + 1 is 0
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  Diagnostic diagnostic;
  diagnostic.where = {name,
                      static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n')) + 1,
                      static_cast<int>(std::min<std::size_t>(offset - begin, std::numeric_limits<int>::max() - 1)) + 1};
  diagnostic.message = ends ? "the JSON ends before it is complete" : "not well-formed JSON";
  const bool printable = std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
  if (printable && line.size() <= kMaxShown) diagnostic.source_line = line;
  throw ConfigError({std::move(diagnostic)});
}

void check_well_formed(const std::string& text, const std::string& name) {
  try {
    const auto within_depth = [&name](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
      if (depth > kMaxDepth) throw ConfigError(fmt::format("'{}': nested deeper than {} levels", name, kMaxDepth));
      return true;
    };
    [[maybe_unused]] const nlohmann::json parsed = nlohmann::json::parse(text, within_depth);
  } catch (const nlohmann::json::parse_error& error) {
    // Bytes count from 1, and the count stands behind the byte that is refused.
    refuse(text, error.byte == 0 ? 0 : error.byte - 1, name);
  } catch (const nlohmann::json::out_of_range&) {
    // Ignored: a number too large for its type; whoever reads that key refuses it with its place.
  }
}

}  // namespace

ConfigNode load_json_config(const std::filesystem::path& file, const std::string& path) {
  const std::string name = file.lexically_normal().generic_string();
  std::error_code ignored;
  std::ifstream stream = open_input(file);
  if (!stream || !std::filesystem::is_regular_file(file, ignored)) throw ConfigError(fmt::format("cannot read '{}'", name));
  if (std::filesystem::file_size(file, ignored) > kMaxBytes) {
    throw ConfigError(fmt::format("'{}' has more than {} MiB: not a configuration", name, kMaxBytes >> 20U));
  }
  std::string text{std::istreambuf_iterator<char>{stream}, {}};
  check_well_formed(text, name);
  // JSON is YAML but for tabs, which may stand between values and nowhere else.
  std::replace(text.begin(), text.end(), '\t', ' ');
  return ConfigNode::parse(text, name, path);
}

}  // namespace weft::work
