#include "sim/workloads/trace/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::work {
namespace {

constexpr std::size_t kReadPiece = std::size_t{1} << 16;
constexpr std::size_t kLongestShown = 160;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// For terminals: what is no printable ASCII becomes a blank, one for one, so that the caret stays in place.
std::string shown(std::string_view line) {
  if (line.size() > kLongestShown) return {};
  std::string text{line};
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E; }, ' ');
  return text;
}

}  // namespace

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < line.size();) {
    if (is_blank(line[i])) {
      ++i;
      continue;
    }
    const std::size_t start = i;
    while (i < line.size() && !is_blank(line[i])) ++i;
    words.push_back({line.substr(start, i - start), start});
  }
  return words;
}

std::vector<Word> fields_of(std::string_view line) {
  std::vector<Word> fields;
  std::size_t start = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (line[i] != ',' || quoted)) continue;
    std::size_t first = start;
    std::size_t last = i;
    while (first < last && is_blank(line[first])) ++first;
    while (last > first && is_blank(line[last - 1])) --last;
    if (last - first >= 2 && line[first] == '"' && line[last - 1] == '"') {
      ++first;
      --last;
    }
    fields.push_back({line.substr(first, last - first), first});
    start = i + 1;
  }
  return fields;
}

LineReader::LineReader(const std::filesystem::path& file, std::uint64_t max_bytes)
    : stream_{file, max_bytes}, file_{file.string()} {}

bool LineReader::next() {
  line_.clear();
  bool any = false;
  for (;;) {
    if (at_ == buffer_.size()) {
      if (!ended_) {
        buffer_.resize(kReadPiece);
        buffer_.resize(stream_.read(buffer_));
        at_ = 0;
        ended_ = buffer_.empty();
      }
      if (ended_) break;
    }
    any = true;
    const std::size_t end = buffer_.find('\n', at_);
    const std::size_t stop = std::min(end, buffer_.size());
    line_.append(buffer_, at_, stop - at_);
    at_ = std::min(stop + 1, buffer_.size());
    if (line_.size() > kLongestLine) {
      ++number_;
      throw ConfigError({at({}, fmt::format("a line of more than {} bytes", kLongestLine))});
    }
    if (end != std::string::npos) break;
  }
  if (!any) return false;
  if (line_.ends_with('\r')) line_.pop_back();
  ++number_;
  return true;
}

Diagnostic LineReader::at(const Word& word, std::string message, std::string note) const {
  return {.where = {.file = file_, .line = number_, .column = static_cast<int>(word.offset) + 1},
          .message = std::move(message),
          .source_line = shown(line_),
          .length = std::max(1, static_cast<int>(word.text.size())),
          .note = std::move(note)};
}

void LineReader::error(const Word& word, std::string message, std::string note) {
  errors_.push_back(at(word, std::move(message), std::move(note)));
  if (errors_.size() >= kMostErrors) throw_if_any();
}

void LineReader::error_at_end(std::string message, std::string note) {
  Diagnostic problem;
  problem.where = {.file = file_, .line = number_, .column = 0};
  problem.message = std::move(message);
  problem.note = std::move(note);
  errors_.push_back(std::move(problem));
}

void LineReader::throw_if_any() {
  if (!errors_.empty()) throw ConfigError(std::exchange(errors_, {}));
}

}  // namespace weft::work
