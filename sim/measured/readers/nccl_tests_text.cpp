// The text of nccl-tests (models/nccl §8.4). Each line is first freed of what launchers put before it and of NCCL's own
// messages; the pieces between these messages are joined again, because they are what the program printed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/words.h"
#include "sim/measured/readers/launcher_text.h"
#include "sim/measured/readers/nccl_debug_line.h"
#include "sim/measured/readers/nccl_tests_log.h"
#include "sim/measured/readers/nccl_tests_parser.h"
#include "sim/measured/readers/nccl_tests_row.h"
#include "sim/measured/readers/printed_line.h"
#include "sim/measured/readers/text_lines.h"
#include "sim/scenario/collective_sweep.h"

namespace weft::measured::detail {
namespace {

constexpr std::size_t kMaxEnv = 10'000;
constexpr std::size_t kMaxHosts = 1'000'000;

bool is_program_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class TextParser {
 public:
  TextParser(std::istream& input, const std::string& file) : reader_{input, file} { log_.file = file; }

  NcclTestsLog parse();

 private:
  void take_message(const NcclMessage& message);
  void take_line(const PrintedLine& line, bool is_cut);
  bool take_comment(const PrintedLine& line, const std::vector<Word>& words, bool is_cut);
  void take_row(const PrintedLine& line, RowReading reading);
  void flush_torn_row();

  void take_env(const PrintedLine& line, const std::vector<Word>& words);
  void take_settings(const PrintedLine& line, const std::vector<Word>& words);
  void take_device(const PrintedLine& line, const std::vector<Word>& words);
  void take_column_header(const PrintedLine& line, const std::vector<Word>& words);
  void note_program(std::string_view text);
  void finish();

  void error(const PrintedLine& line, const Word& word, std::string message, std::string note = {}) {
    errors_.add(line.diagnostic(log_.file, word.at, word.text.size(), std::move(message), std::move(note)));
  }
  template <class Number>
  bool take_number(const PrintedLine& line, const std::vector<Word>& words, std::size_t key, Number min, Number max,
                   Number& value);

  LineReader reader_;
  LauncherText launcher_;
  NcclTestsLog log_;
  LogErrors errors_;
  std::set<std::string, std::less<>> hosts_;
  std::set<std::tuple<std::string, std::int64_t, std::string, std::string, int, int>> seen_choices_;
  std::set<Rank> seen_ranks_;

  Layout layout_;
  PrintedLine torn_row_;  // the beginning of a row whose rest was not seen yet
  std::string first_line_;
  std::string settings_text_;
  int settings_line_ = 0;
  std::string program_;  // collective of a command line in the log; empty: none or several
  bool programs_differ_ = false;
  std::string chosen_for_;  // collective of NCCL's TUNING lines; empty: none or several
  bool chosen_for_several_ = false;
  bool named_collective_ = false;
  bool is_nccl_tests_ = false;
  bool has_footer_ = false;
  bool has_second_test_ = false;  // an error; nothing after it is read
  int cut_at_ = 0;                // line in which the file ends; 0: it ends with a whole line
};

NcclTestsLog TextParser::parse() {
  PrintedLine open;  // pieces of a line whose end was not seen yet
  bool has_prefix = false;
  while (!has_second_test_ && reader_.next()) {
    const std::string_view raw = reader_.text();
    if (first_line_.empty() && !trim(raw).empty()) first_line_ = printable(trim(raw), 60);
    // The rest of a torn line has a prefix only if its beginning had one: "[0000:07:00]" is a bus id there.
    const std::vector<LauncherText::Piece> pieces = launcher_.pieces(raw, !open.empty() && !has_prefix);
    const std::size_t skip = pieces.front().at;
    has_prefix = skip > 0;
    const std::string_view text = pieces.front().text;
    const auto message = find_nccl_message(text, hosts_);
    if (message) {
      take_message(*message);
      // Without a recognisable host name it is unknown where the program's own text ends.
      if (message->begin > 0 && !message->host.empty()) {
        open.append(text.substr(0, message->begin), reader_.number(), skip, raw);
        if (open.text().size() > kMaxLineBytes) open.clear();  // no line of nccl-tests: pieces of something else
      }
      continue;
    }
    // A piece that was never continued: the program's next line begins anew.
    if (!open.empty() && trim(text).starts_with('#') && !trim(open.text()).starts_with('#')) {
      take_line(open, false);
      open.clear();
    }
    for (const LauncherText::Piece& piece : pieces) open.append(piece.text, reader_.number(), piece.at, raw);
    take_line(open, !reader_.terminated());
    open.clear();
  }
  if (!open.empty()) take_line(open, true);
  finish();
  return std::move(log_);
}

void TextParser::take_message(const NcclMessage& message) {
  if (!message.host.empty() && message.begin == 0 && hosts_.size() < kMaxHosts) hosts_.emplace(message.host);
  if (message.level != "INFO" && message.level != "TRACE") return;
  log_.has_debug_output = true;
  if (const auto setting = parse_env_message(message.text)) {
    if (log_.env.size() < kMaxEnv) add_env(log_, setting->name, setting->value, {log_.file, reader_.number(), 1}, true);
  } else if (const auto tuning = parse_tuning_message(message.text)) {
    NcclTestsChoice choice{.collective = scenario::nccl_tests_collective_name(tuning->function),
                           .bytes = tuning->bytes,
                           .printed_bytes = tuning->bytes,
                           .algorithm = tuning->algorithm,
                           .protocol = tuning->protocol,
                           .first_channel = tuning->first_channel,
                           .last_channel = tuning->last_channel,
                           .line = reader_.number()};
    if (!choice.collective.empty()) {
      if (!chosen_for_.empty() && chosen_for_ != choice.collective) chosen_for_several_ = true;
      chosen_for_ = choice.collective;
    }
    const bool is_new = seen_choices_
                            .emplace(choice.collective, choice.bytes.count(), choice.algorithm, choice.protocol,
                                     choice.first_channel, choice.last_channel)
                            .second;
    if (is_new && log_.choices.size() < kMaxChoices) log_.choices.push_back(std::move(choice));
  } else if (message.text.starts_with("NCCL version ")) {
    log_.library_version = printable(trim(message.text.substr(13)), 40);
  }
}

void TextParser::take_line(const PrintedLine& line, bool is_cut) {
  const std::string_view text = trim(line.text());
  if (text.empty()) return;
  std::string_view content = text;
  while (content.starts_with('#')) content.remove_prefix(1);
  std::vector<Word> words = words_of(content);
  const auto shift = static_cast<std::size_t>(content.data() - line.text().data());
  for (Word& word : words) word.at += shift;

  if (text.starts_with('#') || layout_.empty() || has_footer_) {
    if (take_comment(line, words, is_cut) || text.starts_with('#')) {
      flush_torn_row();
      return;
    }
  }

  if (!torn_row_.empty()) {
    PrintedLine joined = torn_row_;
    joined.append(line);
    RowReading reading = read_row(joined.text(), layout_, true);
    if (reading.state == RowState::kComplete) {
      torn_row_.clear();
      take_row(joined, std::move(reading));
      return;
    }
    if ((reading.state == RowState::kIncomplete || reading.state == RowState::kHalf) && continues_row(words)) {
      torn_row_ = std::move(joined);
      if (is_cut) cut_at_ = line.line();
      return;
    }
    flush_torn_row();
  }

  RowReading reading = read_row(line.text(), layout_, !layout_.empty() && !has_footer_);
  if (reading.state == RowState::kNotARow) {
    if (is_cut && !has_footer_) cut_at_ = line.line();
    note_program(text);
    return;
  }
  is_nccl_tests_ = true;
  if (is_cut && (reading.state != RowState::kComplete) && (reading.state != RowState::kGarbled || reading.is_last_word)) {
    cut_at_ = line.line();
    return;
  }
  if (reading.state == RowState::kIncomplete || reading.state == RowState::kHalf) {
    torn_row_ = line;
    return;
  }
  take_row(line, std::move(reading));
}

void TextParser::flush_torn_row() {
  if (torn_row_.empty()) return;
  const PrintedLine line = std::exchange(torn_row_, {});
  RowReading reading = read_row(line.text(), layout_, true);
  if (reading.state == RowState::kIncomplete) {
    const std::vector<Word> words = words_of(line.text());
    reading.state = RowState::kGarbled;
    reading.message = fmt::format("row has {} columns, expected {}", words.size(), layout_.size());
    reading.at = words.back().at;
    reading.length = words.back().text.size();
  }
  take_row(line, std::move(reading));
}

void TextParser::take_row(const PrintedLine& line, RowReading reading) {
  if (reading.state == RowState::kGarbled) {
    errors_.add(line.diagnostic(log_.file, reading.at, reading.length, std::move(reading.message)));
    return;
  }
  if (log_.rows.size() >= kMaxRows) {
    errors_.add(line.diagnostic(log_.file, 0, 1, fmt::format("more than {} rows", kMaxRows)));
    return;
  }
  reading.row.line = line.line();
  log_.rows.push_back(std::move(reading.row));
}

// Lines that describe the run. True if it was one of them.
bool TextParser::take_comment(const PrintedLine& line, const std::vector<Word>& words, bool is_cut) {
  if (words.empty()) return false;
  const auto is = [&words](std::size_t i, std::string_view text) { return i < words.size() && words[i].text == text; };
  // The last line of a file cut short may have lost its end; a complete log may be followed by a setting without a line end.
  const bool is_doubtful = is_cut && !has_footer_;
  const auto cut_or = [&](auto&& take) {
    if (is_doubtful) {
      cut_at_ = line.line();
    } else {
      take();
    }
    return true;
  };

  if (is(0, "env") && words.size() >= 2 && trim(line.text()).starts_with('#')) return cut_or([&] { take_env(line, words); });
  if (is(0, "nThread")) {
    is_nccl_tests_ = true;
    return cut_or([&] { take_settings(line, words); });
  }
  if (is(0, "Rank") && words.size() >= 2 && all_digits(words[1].text)) return cut_or([&] { take_device(line, words); });
  if (is(0, "size") && is(1, "count") && is(2, "type")) {
    is_nccl_tests_ = true;
    return cut_or([&] { take_column_header(line, words); });
  }
  if (words.size() >= 3 && (is(0, "nccl-tests") || is(0, "rccl-tests")) && is(1, "version")) {
    is_nccl_tests_ = true;
    return cut_or([&] {
      log_.nccl_tests_version = printable(words[2].text, 40);
      for (const Word& word : words) {
        if (word.text.starts_with("nccl-headers=")) log_.headers_version = printable(word.text.substr(13), 40);
        if (word.text.starts_with("nccl-library=") && log_.library_version.empty()) {
          log_.library_version = printable(word.text.substr(13), 40);
        }
      }
    });
  }
  if (is(0, "Collective") && is(1, "test") && is(2, "starting:") && words.size() >= 4) {
    is_nccl_tests_ = true;
    return cut_or([&] {
      const std::string name = scenario::nccl_tests_collective_name(words[3].text);
      if (name.empty()) {
        error(
            line, words[3], fmt::format("unknown test '{}'", printable(words[3].text, 40)),
            "known: all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, sendrecv, gather, scatter, hypercube");
      } else if (named_collective_ && (name != log_.collective || !log_.rows.empty())) {
        has_second_test_ = true;
        error(line, words[3], fmt::format("a second test begins here ('{}' after '{}')", name, log_.collective),
              "a log holds one test: split the file");
      }
      log_.collective = name;
      named_collective_ = true;
    });
  }
  if (is(0, "Out") && is(1, "of") && is(2, "bounds")) has_footer_ = true;
  if (is(0, "Avg") && is(1, "bus")) has_footer_ = true;
  if (is(0, "NCCL") && is(1, "version") && words.size() >= 3) {
    log_.library_version = printable(words[2].text, 40);
    return true;
  }
  return has_footer_ && (is(0, "Out") || is(0, "Avg"));
}

void TextParser::take_env(const PrintedLine& line, const std::vector<Word>& words) {
  // The value may hold blanks: it goes to the end of the line.
  const std::string_view rest = trim(std::string_view{line.text()}.substr(words[1].at));
  const std::size_t equals = rest.find('=');
  if (equals == std::string_view::npos || equals == 0 || words[1].text.find('=') == std::string_view::npos) {
    if (words[1].text.starts_with("NCCL_")) {
      error(line, words[1], fmt::format("expected '# env NAME=VALUE', got '# env {}'", printable(rest, 60)));
    }
    return;
  }
  if (log_.env.size() >= kMaxEnv) return;
  add_env(log_, rest.substr(0, equals), trim(rest.substr(equals + 1)), {log_.file, line.line(), 1}, false);
}

template <class Number>
bool TextParser::take_number(const PrintedLine& line, const std::vector<Word>& words, std::size_t key, Number min, Number max,
                             Number& value) {
  if (key + 1 >= words.size()) {
    error(line, words[key], fmt::format("expected a number after '{}'", words[key].text));
    return false;
  }
  const Word& word = words[key + 1];
  const auto number = number_from<Number>(word.text);
  if (!number || *number < min || *number > max) {
    error(line, word,
          fmt::format("expected a whole number from {} to {} after '{}', got '{}'", min, max, words[key].text,
                      printable(word.text, 40)));
    return false;
  }
  value = *number;
  return true;
}

void TextParser::take_settings(const PrintedLine& line, const std::vector<Word>& words) {
  if (settings_line_ > 0) {
    if (!log_.rows.empty()) {
      has_second_test_ = true;
      error(line, words[0], "a second test begins here", "a log holds one test: split the file");
    } else if (settings_text_ != trim(line.text())) {
      error(line, words[0], fmt::format("other settings than in line {}", settings_line_),
            "a log holds one test: split the file");
    }
    return;
  }
  settings_line_ = line.line();
  settings_text_ = trim(line.text());
  constexpr int kMaxCount = 1'000'000'000;
  constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view key = words[i].text;
    if (key == "nThread") {
      take_number(line, words, i, 1, kMaxPerProcess, log_.threads);
    } else if (key == "nGpus") {
      take_number(line, words, i, 1, kMaxPerProcess, log_.gpus_per_thread);
    } else if (key == "minBytes") {
      if (take_number<std::int64_t>(line, words, i, 0, kMaxBytes, bytes)) log_.min_bytes = Bytes{bytes};
    } else if (key == "maxBytes") {
      if (take_number<std::int64_t>(line, words, i, 0, kMaxBytes, bytes)) log_.max_bytes = Bytes{bytes};
    } else if (key == "step:" && i + 1 < words.size()) {
      const std::string_view value = words[i + 1].text;  // "2(factor)" or "1048576(bytes)"
      const std::size_t open = value.find('(');
      log_.step.value = number_from<std::int64_t>(value.substr(0, open)).value_or(0);
      log_.step.is_factor = open != std::string_view::npos && value.substr(open) == "(factor)";
    } else if (key == "iters:") {
      const std::string_view of = i > 0 ? words[i - 1].text : std::string_view{};
      if (of == "warmup") {
        take_number(line, words, i, 0, kMaxCount, log_.warmup_iterations);
      } else if (of == "agg") {
        take_number(line, words, i, 1, kMaxCount, log_.aggregated_iterations);
      } else {
        take_number(line, words, i, 1, kMaxCount, log_.iterations);
      }
    } else if (key == "graph:") {
      take_number(line, words, i, 0, kMaxCount, log_.graph_launches);
    }
  }
}

void TextParser::take_device(const PrintedLine& line, const std::vector<Word>& words) {
  // Rank 0 Group 0 Pid 1234 on node7 device 0 [0000:07:00] NVIDIA H200; before 2.13 without the group
  NcclTestsDevice device;
  std::size_t i = 1;
  const auto number_after = [&](std::string_view key, int& value) {
    if (i >= words.size() || words[i].text != key) return false;
    i += 2;
    if (i > words.size()) return false;
    const auto number = number_from<int>(words[i - 1].text);
    value = number.value_or(-1);
    return number && *number >= 0;
  };
  const auto rank = number_from<Rank>(words[1].text);
  bool is_sound = rank && *rank >= 0;
  device.rank = rank.value_or(0);
  i = 2;
  if (i < words.size() && words[i].text == "Group") is_sound = number_after("Group", device.group) && is_sound;
  if (i + 1 < words.size() && words[i].text == "Pid") {
    i += 2;
  } else {
    is_sound = false;
  }
  if (is_sound && i + 1 < words.size() && words[i].text == "on") {
    device.host = printable(words[i + 1].text, 100);
    i += 2;
  } else {
    is_sound = false;
  }
  is_sound = is_sound && number_after("device", device.device) && i < words.size() && words[i].text.starts_with('[') &&
             words[i].text.ends_with(']');
  if (!is_sound) {
    error(line, words[0], "expected 'Rank N Group N Pid N on HOST device N [BUS ID] NAME'");
    return;
  }
  device.bus_id = printable(words[i].text.substr(1, words[i].text.size() - 2), 40);
  if (i + 1 < words.size()) device.name = printable(trim(std::string_view{line.text()}.substr(words[i + 1].at)), 100);
  if (!seen_ranks_.insert(device.rank).second) {
    error(line, words[1], fmt::format("rank {} is listed twice", device.rank),
          "processes that do not know of each other: was nccl-tests built without MPI?");
    return;
  }
  if (log_.devices.size() >= static_cast<std::size_t>(kMaxRanks)) return;
  if (hosts_.size() < kMaxHosts) hosts_.insert(device.host);
  log_.devices.push_back(std::move(device));
}

void TextParser::take_column_header(const PrintedLine& line, const std::vector<Word>& words) {
  Layout layout = layout_of_header(words);
  if (std::find(layout.begin(), layout.end(), Column::kTime) == layout.end()) {
    error(line, words.back(), "expected a column 'time'");
    return;
  }
  layout_ = std::move(layout);
  has_footer_ = false;
  log_.is_cpu_time = std::any_of(words.begin(), words.end(), [](const Word& word) { return word.text == "cputime"; });
}

// A command line in the log ("mpirun ... ./build/all_reduce_perf -b 8") names the collective where the test itself does not.
// Builds with MPI and packages add to the program's name: all_reduce_perf_mpi.
void TextParser::note_program(std::string_view text) {
  if (named_collective_) return;
  constexpr std::string_view kPerf = "_perf";
  for (std::size_t at = text.find(kPerf); at != std::string_view::npos; at = text.find(kPerf, at + 1)) {
    const std::size_t end = at + kPerf.size();
    if (end < text.size() && is_program_letter(text[end]) && text[end] != '_') continue;
    std::size_t begin = at;
    while (begin > 0 && is_program_letter(text[begin - 1])) --begin;
    const std::string name = scenario::nccl_tests_collective_name(text.substr(begin, at - begin));
    if (name.empty()) continue;
    if (!program_.empty() && program_ != name) programs_differ_ = true;
    program_ = name;
  }
}

void TextParser::finish() {
  if (has_footer_) flush_torn_row();
  if (!torn_row_.empty()) cut_at_ = torn_row_.line();
  if (!is_nccl_tests_) {
    const std::string found =
        first_line_.empty() ? std::string{"it is empty"} : fmt::format("it begins with '{}'", first_line_);
    throw ConfigError({at_line(log_.file, first_line_.empty() ? 0 : 1, fmt::format("not an nccl-tests log: {}", found),
                               "expected lines such as '# nThread 1 nGpus 8 ...' and '#  size  count  type  redop ...', or the "
                               "JSON of nccl-tests -J")});
  }
  if (!named_collective_) {
    if (!programs_differ_ && !program_.empty()) {
      log_.collective = program_;
    } else if (!chosen_for_several_ && !chosen_for_.empty()) {
      log_.collective = chosen_for_;
    }
  }
  finish_log(log_, false, settings_line_, errors_);
  errors_.throw_if_any();
  const std::string read = fmt::format("{} whole row{} read", log_.rows.size(), log_.rows.size() == 1 ? "" : "s");
  if (cut_at_ > 0) {
    log_.warnings.push_back(at_line(log_.file, cut_at_, fmt::format("the log ends in the middle of this line: {}", read)));
  } else if (!has_footer_) {
    log_.warnings.push_back(at_line(log_.file, reader_.number(), fmt::format("the log ends without its summary: {}", read)));
  } else if (log_.rows.empty()) {
    log_.warnings.push_back(at_line(log_.file, reader_.number(), "the log holds no rows"));
  }
}

}  // namespace

NcclTestsLog read_nccl_tests_text(std::istream& input, const std::string& file) { return TextParser(input, file).parse(); }

}  // namespace weft::measured::detail
