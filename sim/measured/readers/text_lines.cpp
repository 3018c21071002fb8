#include "sim/measured/readers/text_lines.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/used_files.h"

namespace weft::measured {
namespace {

[[noreturn]] void refuse(const std::string& file, int line, std::size_t column, std::string message, std::string note) {
  throw ConfigError({Diagnostic{.where = {file, line, static_cast<int>(column)},
                                .message = std::move(message),
                                .source_line = {},
                                .length = 1,
                                .note = std::move(note)}});
}

// Terminal colours and form feeds get into logs by way of launchers; other control bytes do not.
bool may_stand_in_text(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 || c == '\t' || c == '\r' || c == '\x1b' || c == '\f' || c == '\b' || c == '\a';
}

}  // namespace

LineReader::LineReader(std::istream& input, std::string file) : input_{input}, file_{std::move(file)}, chunk_(kMaxLineBytes) {}

bool LineReader::refill() {
  if (!input_) return false;
  input_.read(chunk_.data(), static_cast<std::streamsize>(chunk_.size()));
  chunk_at_ = 0;
  chunk_size_ = static_cast<std::size_t>(input_.gcount());
  return chunk_size_ > 0;
}

bool LineReader::next() {
  text_.clear();
  terminated_ = false;
  if (chunk_at_ == chunk_size_ && !refill()) return false;
  if (number_ == std::numeric_limits<int>::max()) refuse(file_, number_, 1, "more lines than can be counted", {});
  ++number_;
  do {
    const char* begin = chunk_.data() + chunk_at_;
    const std::size_t left = chunk_size_ - chunk_at_;
    const void* end = std::memchr(begin, '\n', left);
    const std::size_t taken = end == nullptr ? left : static_cast<std::size_t>(static_cast<const char*>(end) - begin);
    if (text_.size() + taken > kMaxLineBytes) {
      refuse(file_, number_, kMaxLineBytes + 1, fmt::format("line is longer than {} bytes", kMaxLineBytes),
             "no line of an nccl-tests log comes near that length");
    }
    text_.append(begin, taken);
    chunk_at_ += taken;
    if (end != nullptr) {
      ++chunk_at_;
      terminated_ = true;
    }
  } while (!terminated_ && refill());
  if (number_ == 1) check_text();
  for (const char c : text_) {
    if (!may_stand_in_text(c)) {
      check_text();
      break;
    }
  }
  if (!text_.empty() && text_.back() == '\r') text_.pop_back();
  if (number_ == 1 && text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);  // a byte order mark says nothing in UTF-8
  return true;
}

void LineReader::check_text() const {
  if (number_ == 1) {
    if (text_.starts_with("\x1f\x8b")) refuse(file_, 1, 1, "file is compressed by gzip", "unpack it first");
    if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) {
      refuse(file_, 1, 1, "file is UTF-16, expected UTF-8 or ASCII", {});
    }
  }
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (!may_stand_in_text(text_[i])) {
      refuse(file_, number_, i + 1, fmt::format("byte 0x{:02x} is not text", static_cast<unsigned char>(text_[i])),
             "expected the text or the JSON that nccl-tests writes");
    }
  }
}

std::ifstream open_text(const std::string& path, std::string_view expected) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw ConfigError(fmt::format("'{}' is a folder, expected {}", path, expected));
  std::ifstream input = open_input(path);
  if (!input) throw ConfigError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
  return input;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string shown;
  for (const char c : text.substr(0, limit)) {
    if (c == '\t') {
      shown += ' ';
    } else {
      shown += c < 0x20 || c > 0x7e ? '?' : c;
    }
  }
  if (text.size() > limit) shown += "...";
  return shown;
}

}  // namespace weft::measured
