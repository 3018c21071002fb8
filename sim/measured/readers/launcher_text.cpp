#include "sim/measured/readers/launcher_text.h"

#include <algorithm>
#include <array>

#include "sim/core/words.h"

namespace weft::measured::detail {
namespace {

constexpr std::size_t kLongestPrefix = 200;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

using InClass = bool (*)(char);

// The class whose members may stand for each other; null: `c` stands for itself.
InClass class_of(char c) {
  if (is_digit(c)) return is_digit;
  if (is_letter(c)) return is_letter;
  if (is_blank(c)) return is_blank;
  return nullptr;
}

std::size_t run_length(std::string_view text, std::size_t at, InClass in_class) {
  std::size_t end = at;
  while (end < text.size() && in_class(text[end])) ++end;
  return end - at;
}

// Length of the text at the beginning of `line` that has the form of `example`; 0: there is none. Runs of digits, letters and
// blanks may be longer or shorter than the example's.
std::size_t length_like(std::string_view line, std::string_view example) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < example.size();) {
    const InClass in_class = class_of(example[i]);
    if (in_class == nullptr) {
      if (at == line.size() || line[at] != example[i]) return 0;
      ++at;
      ++i;
      continue;
    }
    const std::size_t run = run_length(line, at, in_class);
    if (run == 0) return 0;
    i += run_length(example, i, in_class);
    // A row may begin with blanks of its own: the last blank of the prefix is one, whatever follows.
    at += i == example.size() && in_class == is_blank ? std::min(run, run_length(example, i - 1, in_class)) : run;
  }
  return at;
}

// Whether `text` begins with what differs from `example` in digits and letters only, each in its place.
bool has_form(std::string_view text, std::string_view example) {
  if (text.size() < example.size()) return false;
  return std::equal(example.begin(), example.end(), text.begin(), [](char wanted, char found) {
    const InClass in_class = class_of(wanted);
    return in_class == nullptr || in_class == is_blank ? wanted == found : in_class(found);
  });
}

// Numbers of a row consist of these: a prefix that has nothing else cannot be told from them.
bool tells_itself(std::string_view prefix) {
  return std::ranges::any_of(prefix, [](char c) { return !is_digit(c) && !is_blank(c) && c != '.' && c != '-' && c != '+'; });
}

// The text that mpirun, srun and log collectors are known to write, where no line has shown it yet.
std::size_t known_prefix(std::string_view line) {
  std::size_t at = 0;
  if (line.starts_with('[')) {
    const std::size_t close = line.find(']');
    if (close < 100) {
      at = close + 1;
      for (const std::string_view stream : {"<stdout>", "<stderr>"}) {
        if (line.substr(at).starts_with(stream)) at += stream.size();
      }
      if (at < line.size() && line[at] == ':') ++at;
    }
  } else {
    std::size_t end = 0;
    while (end < line.size() && line[end] == ' ') ++end;
    const std::size_t digits = end;
    while (end < line.size() && is_digit(line[end])) ++end;
    if (end > digits && line.substr(end).starts_with(": ")) at = end + 2;  // srun -l
  }
  const std::string_view rest = line.substr(at);
  if (rest.size() >= 19 && rest[4] == '-' && rest[7] == '-' && (rest[10] == 'T' || rest[10] == ' ') && rest[13] == ':' &&
      rest[16] == ':' && all_digits(rest.substr(0, 4))) {
    at += 19;
    while (at < line.size() && !is_blank(line[at])) ++at;
  }
  return at;
}

}  // namespace

void LauncherText::learn(std::string_view line) {
  static constexpr std::array<std::string_view, 5> kOnlyNcclTests{"nThread ", "nccl-tests version", "rccl-tests version",
                                                                  "Collective test starting:", "Using devices"};
  const std::size_t hash = line.find('#');
  if (hash == 0 || hash == std::string_view::npos || hash > kLongestPrefix) return;
  const std::string_view content = trim(line.substr(hash + 1));
  const bool is_known = std::ranges::any_of(kOnlyNcclTests, [&](std::string_view text) { return content.starts_with(text); });
  if (is_known && tells_itself(line.substr(0, hash))) example_ = line.substr(0, hash);
}

std::vector<LauncherText::Piece> LauncherText::pieces(std::string_view line, bool continues) {
  if (continues) return {{0, line}};
  learn(line);
  std::size_t skip = example_.empty() ? 0 : length_like(line, example_);
  const std::string_view own = line.substr(0, skip);
  if (skip == 0) skip = known_prefix(line);
  std::vector<Piece> pieces{{skip, line.substr(skip)}};
  // Only rows are printed in several flushes.
  const std::string_view row = trim(pieces.front().text);
  if (own.empty() || row.empty() || !is_digit(row.front()) || row.find("NCCL ") != std::string_view::npos) return pieces;
  for (std::size_t at = skip; at < line.size();) {
    if (!has_form(line.substr(at), own)) {
      ++at;
      continue;
    }
    Piece& before = pieces.back();
    before.text = line.substr(before.at, at - before.at);
    at += own.size();
    pieces.push_back({at, line.substr(at)});
  }
  return pieces;
}

}  // namespace weft::measured::detail
