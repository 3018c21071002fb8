#include "sim/network/import/source_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/used_files.h"

namespace weft::net {
namespace {

constexpr std::size_t kLongestLineShown = 160;

// Offset of the first byte that is no UTF-8 (RFC 3629: shortest forms, no surrogates, up to U+10FFFF).
std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const std::uint8_t first = byte(i);
    if (first < 0x80) {
      if (first == 0) return i;
      ++i;
      continue;
    }
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || i + length > text.size()) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return i;
    }
    const std::uint8_t second = byte(i + 1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second > 0x8F)) {
      return i;
    }
    i += length;
  }
  return std::nullopt;
}

// The file that a missing one was probably meant to be, as a note; empty: none comes near.
std::string nearest_beside(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return fmt::format("there is no folder '{}'", folder.string());
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator entry{folder, error}, end; !error && entry != end; entry.increment(error)) {
    files.push_back(entry->path().filename().string());
  }
  const std::string near = nearest(path.filename().string(), files);
  return near.empty() ? std::string{} : fmt::format("did you mean '{}'?", near);
}

}  // namespace

SourceText::SourceText(std::string file, std::string_view text) : file_{std::move(file)} {
  if (text.size() > kMaxBytes) {
    throw ConfigError({Diagnostic{.where = {.file = file_, .line = 0, .column = 0},
                                  .message = fmt::format("too large: {} bytes, at most {}", text.size(), kMaxBytes),
                                  .source_line = {},
                                  .length = 1,
                                  .note = {}}});
  }
  text_ = text;
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
  if (const auto bad = first_invalid_utf8(text_)) throw ConfigError({at(*bad, "not UTF-8 text")});
}

Diagnostic SourceText::at(std::size_t offset, std::string message, int length, std::string note) const {
  offset = std::min(offset, text_.size());
  const auto next = std::ranges::upper_bound(line_starts_, offset);
  const std::size_t line = static_cast<std::size_t>(next - line_starts_.begin());
  const std::size_t start = line_starts_[line - 1];
  const std::size_t end = std::min(text_.find('\n', start), text_.size());
  std::string shown = text_.substr(start, end - start);
  // A tab counts as one column, so the caret stays under what it means.
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  if (shown.size() > kLongestLineShown || first_invalid_utf8(shown)) shown.clear();
  return {.where = {.file = file_, .line = static_cast<int>(line), .column = static_cast<int>(offset - start + 1)},
          .message = std::move(message),
          .source_line = std::move(shown),
          .length = length,
          .note = std::move(note)};
}

std::string read_text_file(const std::string& path) {
  const auto refuse = [&path](std::string_view why, std::string note = {}) {
    throw ConfigError({Diagnostic{.where = {.file = path},
                                  .message = fmt::format("cannot read this file: {}", why),
                                  .source_line = {},
                                  .length = 1,
                                  .note = std::move(note)}});
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) refuse("no such file", nearest_beside(path));
  if (status.type() == std::filesystem::file_type::directory) refuse("it is a folder");
  std::ifstream in = open_input(path);
  if (!in) refuse("it cannot be opened");
  // Read piece by piece up to the limit: what the file system says of a size need not be so (pipes, /proc).
  std::string text;
  std::string piece(std::size_t{64} << 10, '\0');
  while (in && text.size() <= SourceText::kMaxBytes) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) refuse("reading failed");
  if (text.size() > SourceText::kMaxBytes) refuse(fmt::format("it has over {} bytes", SourceText::kMaxBytes));
  return text;
}

}  // namespace weft::net
