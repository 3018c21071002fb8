// A text being imported, and where in it things stand: turns byte offsets into "file:line:column" diagnostics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"

namespace weft::net {

class SourceText {
 public:
  // Throws ConfigError if the text is larger than `kMaxBytes` or not UTF-8.
  SourceText(std::string file, std::string_view text);

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] const std::string& file() const { return file_; }

  // A diagnostic at the `offset`-th byte. The source line is shown where it is short enough to read.
  [[nodiscard]] Diagnostic at(std::size_t offset, std::string message, int length = 1, std::string note = {}) const;

  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

 private:
  std::string file_;
  std::string text_;
  std::vector<std::size_t> line_starts_;
};

// The text of a file; ConfigError if it cannot be read or is larger than SourceText::kMaxBytes.
[[nodiscard]] std::string read_text_file(const std::string& path);

}  // namespace weft::net
