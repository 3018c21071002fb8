#include "sim/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>

#include "sim/core/config/time_bounds.h"
#include "sim/core/printable.h"

namespace weft {
namespace {

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += format(diagnostic);
  return text;
}

// A message of several lines, whose others stand apart: no text in it, say a name of two lines, passes for a message of its
// own.
std::string indented(const std::string& message) {
  std::string text;
  for (std::size_t i = 0; i < message.size(); ++i) {
    text += message[i];
    if (message[i] == '\n' && i + 1 < message.size() && message[i + 1] != ' ') text += "  ";
  }
  return text;
}

struct LongestTime {
  std::mutex mutex;
  std::int64_t ps = 0;
  Diagnostic where;
};

thread_local int bounds_read = 0;

// A time below that cannot fill the clock: nothing is repeated more often.
constexpr std::int64_t kMostRepetitions = 1'000'000;
constexpr std::int64_t kShortTime = std::numeric_limits<std::int64_t>::max() / kMostRepetitions;

LongestTime& longest_time() {
  static LongestTime longest;
  return longest;
}

std::vector<Diagnostic> at_longest_time(const std::string& message) {
  LongestTime& longest = longest_time();
  const std::lock_guard lock{longest.mutex};
  Diagnostic told = longest.where;
  if (longest.ps < kShortTime) {
    told = {.where = {}, .message = message, .source_line = {}, .length = 1, .note = {}};
    told.note = "no time given is long: small rates, large sizes and many repetitions are";
  } else {
    told.message += ": " + message;
    told.note = "this is the longest time given; small rates, large sizes and many repetitions take long as well";
  }
  return {std::move(told)};
}

}  // namespace

std::string format(const Diagnostic& d, std::string_view severity) {
  std::string text;
  if (!d.where.file.empty()) {
    const std::string file = printable(d.where.file);
    text += d.where.line > 0 ? fmt::format("{}:{}:{}: ", file, d.where.line, d.where.column) : fmt::format("{}: ", file);
  }
  text += fmt::format("{}: {}\n", severity, printable_lines(indented(d.message)));
  if (!d.source_line.empty() && d.where.column > 0) {
    text += fmt::format("{:>4} | {}\n", d.where.line, printable_columns(d.source_line));
    text += fmt::format("     | {}^{}\n", std::string(static_cast<std::size_t>(d.where.column - 1), ' '),
                        std::string(static_cast<std::size_t>(std::max(d.length, 1) - 1), '~'));
  }
  if (!d.note.empty()) text += fmt::format("note: {}\n", printable_lines(indented(d.note)));
  return text;
}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(join(diagnostics)), diagnostics_(std::move(diagnostics)) {}

ConfigError::ConfigError(const std::string& message)
    : ConfigError(
          std::vector<Diagnostic>{Diagnostic{.where = {}, .message = message, .source_line = {}, .length = 1, .note = {}}}) {}

ClockError::ClockError() : ClockError("simulated time would pass 106 days, where its clock ends") {}
ClockError::ClockError(const std::string& message) : ConfigError(at_longest_time(message)) {}

bool is_longest_time(std::int64_t ps) {
  LongestTime& longest = longest_time();
  const std::lock_guard lock{longest.mutex};
  return bounds_read == 0 && ps > longest.ps;
}

TimeBounds::TimeBounds() { ++bounds_read; }
TimeBounds::~TimeBounds() { --bounds_read; }

void note_time_given(std::int64_t ps, Diagnostic where) {
  LongestTime& longest = longest_time();
  const std::lock_guard lock{longest.mutex};
  if (ps <= longest.ps) return;
  longest.ps = ps;
  longest.where = std::move(where);
}

void forget_times_given() {
  LongestTime& longest = longest_time();
  const std::lock_guard lock{longest.mutex};
  longest.ps = 0;
  longest.where = {};
}

void detail::check_failed(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: check failed: {}", file, line, condition));
}

}  // namespace weft
