#include "sim/core/csv_field.h"

#include "sim/core/printable.h"

namespace weft {

std::string csv_field(std::string_view text) {
  const std::string line = printable(text);
  if (line.find_first_of(",\"") == std::string::npos) return line;
  std::string quoted = "\"";
  for (const char c : line) quoted += c == '"' ? std::string{"\"\""} : std::string{c};
  return quoted + '"';
}

}  // namespace weft
