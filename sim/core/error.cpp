#include "sim/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += format(diagnostic);
  return text;
}

}  // namespace

std::string format(const Diagnostic& d, std::string_view severity) {
  std::string text;
  if (!d.where.file.empty()) {
    text += d.where.line > 0 ? fmt::format("{}:{}:{}: ", d.where.file, d.where.line, d.where.column)
                             : fmt::format("{}: ", d.where.file);
  }
  text += fmt::format("{}: {}\n", severity, d.message);
  if (!d.source_line.empty() && d.where.column > 0) {
    text += fmt::format("{:>4} | {}\n", d.where.line, d.source_line);
    text += fmt::format("     | {}^{}\n", std::string(static_cast<std::size_t>(d.where.column - 1), ' '),
                        std::string(static_cast<std::size_t>(std::max(d.length, 1) - 1), '~'));
  }
  if (!d.note.empty()) text += fmt::format("note: {}\n", d.note);
  return text;
}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(join(diagnostics)), diagnostics_(std::move(diagnostics)) {}

ConfigError::ConfigError(const std::string& message)
    : ConfigError(
          std::vector<Diagnostic>{Diagnostic{.where = {}, .message = message, .source_line = {}, .length = 1, .note = {}}}) {}

void detail::check_failed(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: check failed: {}", file, line, condition));
}

}  // namespace weft
