// Whose mistake it is decides the type: ConfigError is the user's (exit 2), InternalError is ours (exit 70).
//
// A ConfigError carries every error found, each located, so that a file is reported at once. It is thrown while things are
// built; once events run, only InternalError is left to throw.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Where in a file something stands; line and column count from 1, 0 means unknown.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
};

// One error as the user reads it: "file:line:column: error: message", the source line with a caret, then "note: ...".
struct Diagnostic {
  Location where;
  std::string message;      // lower case, no full stop, begins with the key path where there is one
  std::string source_line;  // the text of the line; empty: none is shown
  int length = 1;           // characters to underline
  std::string note;         // empty: none
  std::string key = {};     // path of the value that it is about; empty: of none
};

// The text of one diagnostic, ending in a newline; control characters are shown as escapes (printable.h). `severity` is "error"
// or "warning".
std::string format(const Diagnostic& diagnostic, std::string_view severity = "error");

class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Diagnostic> diagnostics);
  // An error that belongs to no file: a command-line option, a missing file.
  explicit ConfigError(const std::string& message);

  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

// A time past the end of the clock (units.h) would be simulated, which a value that the user gave asks for. It is located at
// the longest time that this program has read (note_time_given), and says so.
class ClockError : public ConfigError {
 public:
  ClockError();
  // `message` says what would take so long.
  explicit ClockError(const std::string& message);
};

// A time that stands in a file or an option, as an error there would tell it. The longest is kept, and of equal ones the first.
// `ps`: picoseconds. Any thread.
[[nodiscard]] bool is_longest_time(std::int64_t ps);
void note_time_given(std::int64_t ps, Diagnostic where);
// None has been read: another command begins.
void forget_times_given();

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

}  // namespace weft

// States what only a bug of ours can break. Stays on in release builds: a silently wrong number is worse than a crash.
#define WEFT_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::weft::detail::check_failed(#condition, __FILE__, __LINE__))
