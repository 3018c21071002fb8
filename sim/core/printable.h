// Text that others wrote, on its way to a terminal, a table or a message: names in files, lines of logs, paths.
//
//   printable("red \x1b[31m")  == "red \\x1b[31m"        // a terminal shows it and does not obey it
//   printable("a\nb")          == "a\\nb"                // one line stays one line
//
// Control characters of ASCII and of Unicode (C1, line and paragraph separators, directions of writing) become escapes as C and
// YAML know them; so do bytes that are no UTF-8. All else stays, so that text without such characters comes out as it is.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// For names: of one line.
[[nodiscard]] std::string printable(std::string_view text);
// For texts of several lines: newlines and tabs stay.
[[nodiscard]] std::string printable_lines(std::string_view text);
// For a line under which a place is marked: each such character becomes one that is as wide, and tabs stay.
[[nodiscard]] std::string printable_columns(std::string_view text);

}  // namespace weft
