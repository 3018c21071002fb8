#include "sim/measured/readers/nccl_debug_line.h"

#include <algorithm>
#include <array>
#include <string>

#include "sim/core/words.h"

namespace weft::measured {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"INFO", "WARN", "TRACE", "ABORT"};

bool is_name_character(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Length of the number or "N/A" that a row may end with before a glued host name; 0: there is none.
std::size_t row_end_before_host(std::string_view glued) {
  if (glued.starts_with("N/A")) return 3;
  if (glued.starts_with("-1")) return 2;  // the root column; no host name begins with '-'
  std::size_t end = 0;
  while (end < glued.size() && (is_digit(glued[end]) || glued[end] == '.')) ++end;
  if (end == 0) return 0;
  // "010-4-3-3" is the root 0 and a host named by its address: numbers have no leading zeros.
  if (glued[0] == '0' && glued.size() > 1 && is_digit(glued[1])) return 1;
  return end < glued.size() && is_name_character(glued[end]) ? end : 0;
}

bool is_row_text(std::string_view text) { return text == "N/A" || number_from<double>(text).has_value() || text == "-"; }

// Where the host begins in `glued`, which is the text before ":pid:tid".
std::size_t host_begin(std::string_view glued, const std::set<std::string, std::less<>>& hosts) {
  if (hosts.contains(glued)) return 0;
  for (std::size_t i = 1; i < glued.size(); ++i) {  // the longest known name comes first
    if (is_row_text(glued.substr(0, i)) && hosts.contains(glued.substr(i))) return i;
  }
  if (const std::size_t end = row_end_before_host(glued); end > 0) return end;
  for (std::size_t i = 1; i < glued.size(); ++i) {  // cut within a word
    if (hosts.contains(glued.substr(i))) return i;
  }
  return 0;
}

// The word that ends at `end` (exclusive, blanks skipped); empty at the beginning of the line.
Word word_before(std::string_view line, std::size_t end) {
  while (end > 0 && is_blank(line[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && !is_blank(line[begin - 1])) --begin;
  return {line.substr(begin, end - begin), begin};
}

// NCCL may put "[2026-11-21 08:36:02] " before the host (NCCL_DEBUG_TIMESTAMP_LEVELS): where it begins, or `begin`.
std::size_t time_stamp_begin(std::string_view line, std::size_t begin) {
  const std::string_view before = trim(line.substr(0, begin));
  if (!before.ends_with(']')) return begin;
  const std::size_t open = line.rfind('[', begin);
  return open + 5 < line.size() && all_digits(line.substr(open + 1, 4)) && line[open + 5] == '-' ? open : begin;
}

bool is_bracketed_number(std::string_view word) {
  return word.size() > 2 && word.front() == '[' && word.back() == ']' && all_digits(word.substr(1, word.size() - 2));
}

}  // namespace

std::optional<NcclMessage> find_nccl_message(std::string_view line, const std::set<std::string, std::less<>>& hosts) {
  for (std::size_t at = line.find("NCCL "); at != std::string_view::npos; at = line.find("NCCL ", at + 1)) {
    const std::string_view rest = line.substr(at + 5);
    const auto* const level = std::find_if(kLevels.begin(), kLevels.end(), [rest](std::string_view name) {
      return rest.starts_with(name) && (rest.size() == name.size() || is_blank(rest[name.size()]));
    });
    if (level == kLevels.end()) continue;
    NcclMessage message{.begin = at, .host = {}, .level = *level, .text = trim(rest.substr(level->size()))};

    Word word = word_before(line, at);
    if (!is_bracketed_number(word.text) && word.text.find(':') != std::string_view::npos) {
      word = word_before(line, word.at);  // "graph/search.cc:890", which warnings name
    }
    if (!is_bracketed_number(word.text)) return message;
    const Word process = word_before(line, word.at);
    const std::size_t thread_colon = process.text.rfind(':');
    if (thread_colon == std::string_view::npos || thread_colon == 0) return message;
    const std::size_t process_colon = process.text.rfind(':', thread_colon - 1);
    if (process_colon == std::string_view::npos || process_colon == 0) return message;
    const std::string_view glued = process.text.substr(0, process_colon);
    // A head at the very beginning of a line is a whole message: no row begins there.
    const std::size_t skip = process.at == 0 ? 0 : host_begin(glued, hosts);
    message.host = glued.substr(skip);
    message.begin = skip > 0 ? process.at + skip : time_stamp_begin(line, process.at);
    return message;
  }
  return std::nullopt;
}

std::optional<EnvSetting> parse_env_message(std::string_view message) {
  constexpr std::string_view kPhrase = " set by environment to ";
  const std::size_t at = message.find(kPhrase);
  if (at == std::string_view::npos) return std::nullopt;
  EnvSetting setting{.name = trim(message.substr(0, at)), .value = trim(message.substr(at + kPhrase.size()))};
  if (!setting.name.starts_with("NCCL_") || setting.name.find(' ') != std::string_view::npos) return std::nullopt;
  if (setting.value.ends_with('.')) {
    const std::string_view shorter = setting.value.substr(0, setting.value.size() - 1);
    if (number_from<std::int64_t>(shorter)) setting.value = shorter;
  }
  return setting;
}

namespace {

// NCCL prints names in capitals; settings and people write them as in its documentation.
std::string documented_name(std::string_view printed) {
  static constexpr std::array<std::string_view, 10> kNames{"Ring", "Tree", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree",
                                                           "PAT",  "LL",   "LL128",         "Simple"};
  for (const std::string_view name : kNames) {
    if (folded_name(name) == folded_name(printed)) return std::string{name};
  }
  return std::string{printed};
}

}  // namespace

std::optional<TuningChoice> parse_tuning_message(std::string_view message) {
  // AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}
  const std::vector<Word> words = words_of(message);
  if (words.size() < 9 || !words[0].text.ends_with(':') || words[2].text != "Bytes" || words[3].text != "->" ||
      words[4].text != "Algo" || words[6].text != "proto") {
    return std::nullopt;
  }
  constexpr std::string_view kChannels = "channel{Lo..Hi}={";
  const std::string_view channels = words[8].text;
  const auto bytes = number_from<std::int64_t>(words[1].text);
  if (!bytes || *bytes < 0 || !channels.starts_with(kChannels) || !channels.ends_with('}')) return std::nullopt;
  const std::string_view range = channels.substr(kChannels.size(), channels.size() - kChannels.size() - 1);
  const std::size_t dots = range.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto first = number_from<int>(range.substr(0, dots));
  const auto last = number_from<int>(range.substr(dots + 2));
  if (!first || !last || *first < 0 || *last < *first || *last >= 1'024) return std::nullopt;
  return TuningChoice{.function = words[0].text.substr(0, words[0].text.size() - 1),
                      .bytes = Bytes{*bytes},
                      .algorithm = documented_name(words[5].text),
                      .protocol = documented_name(words[7].text),
                      .first_channel = *first,
                      .last_channel = *last};
}

}  // namespace weft::measured
