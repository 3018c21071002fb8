// GOAL text, LogGOPSim's and ATLAHS' schedules (models/workloads §5.6): calc, send and recv of each rank, and what requires
// what.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/workloads/trace/line_reader.h"
#include "sim/workloads/trace/task_graph.h"
#include "sim/workloads/trace/trace_format.h"

namespace weft::work {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

bool is_label(std::string_view text) { return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, is_word); }

// Blanks out `/* */` (which may span lines: `open`) and what follows `//`.
std::string without_comments(std::string_view line, bool& open) {
  std::string text{line};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pair = i + 1 < text.size();
    if (open) {
      open = !(pair && text[i] == '*' && text[i + 1] == '/');
      text[i] = ' ';
      if (!open) text[++i] = ' ';
    } else if (pair && text[i] == '/' && text[i + 1] == '/') {
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), ' ');
    } else if (pair && text[i] == '/' && text[i + 1] == '*') {
      open = true;
      text[i] = text[i + 1] = ' ';
      ++i;
    }
  }
  return text;
}

// Words, numbers with their sign, and each other character by itself.
std::vector<Word> tokens_of(std::string_view line) {
  std::vector<Word> tokens;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == ' ' || line[i] == '\t') {
      ++i;
      continue;
    }
    const std::size_t start = i++;
    if (is_word(line[start]) || (line[start] == '-' && i < line.size() && is_digit(line[i]))) {
      while (i < line.size() && is_word(line[i])) ++i;
    }
    tokens.push_back({line.substr(start, i - start), start});
  }
  return tokens;
}

class GoalReader {
 public:
  GoalReader(const std::filesystem::path& file, const TraceReadOptions& options)
      : lines_{file, options.max_bytes}, options_{options} {}

  Trace read() {
    bool in_comment = false;
    while (lines_.next()) {
      text_ = without_comments(lines_.line(), in_comment);
      tokens_ = tokens_of(text_);
      at_ = 0;
      if (!tokens_.empty()) statement();
    }
    if (in_comment) lines_.error_at_end("a comment begun with '/*' does not end");
    if (rank_ != nullptr) lines_.error_at_end(fmt::format("the block of rank {} does not end with '}}'", rank_number_));
    if (rank_count_ == 0 && !lines_.failed()) lines_.error_at_end("expected 'num_ranks N', found nothing");
    for (std::int64_t r = 0; r < rank_count_ && !lines_.failed(); ++r) {
      if (!ranks_.contains(r)) lines_.error_at_end(fmt::format("num_ranks is {}, but rank {} has no block", rank_count_, r));
    }
    lines_.throw_if_any();
    std::vector<RankTasks> ranks;
    for (auto& [number, rank] : ranks_) ranks.push_back(std::move(rank));
    TaskProgram made = make_program(std::move(ranks), {});
    Trace trace;
    trace.program = std::move(made.program);
    trace.findings = std::move(made.findings);
    if (nic_line_ > 0) {
      Diagnostic finding;
      finding.where = {.file = lines_.file(), .line = nic_line_, .column = 1};
      finding.message = "'nic' numbers are left out: the cluster says which NIC a rank uses";
      trace.findings.push_back(std::move(finding));
    }
    return trace;
  }

 private:
  [[nodiscard]] Word here() const { return at_ < tokens_.size() ? tokens_[at_] : Word{{}, text_.find_last_not_of(" \t") + 1}; }
  [[nodiscard]] std::string found() const {
    return at_ < tokens_.size() ? fmt::format("found '{}'", tokens_[at_].text.substr(0, 40)) : "found the end of the line";
  }
  [[nodiscard]] bool is(std::string_view word) const { return at_ < tokens_.size() && tokens_[at_].text == word; }
  bool take(std::string_view word) {
    if (!is(word)) return false;
    ++at_;
    return true;
  }
  bool expect(std::string_view word) {
    if (take(word)) return true;
    lines_.error(here(), fmt::format("expected '{}', {}", word, found()));
    return false;
  }
  // A whole number from `least` to `most`; nothing, with an error, where there is none.
  std::optional<std::int64_t> number(std::string_view what, std::int64_t least, std::int64_t most) {
    const auto value = at_ < tokens_.size() ? parse_integer(tokens_[at_].text) : std::nullopt;
    if (!value || *value < least || *value > most) {
      lines_.error(here(), fmt::format("expected {} from {} to {}, {}", what, least, most, found()));
      return std::nullopt;
    }
    ++at_;
    return value;
  }
  void end_of_line() {
    if (at_ < tokens_.size()) lines_.error(here(), fmt::format("expected the end of the line, {}", found()));
  }

  void statement() {
    if (rank_count_ == 0) {
      if (!expect("num_ranks")) lines_.throw_if_any();
      const auto count = number("a number of ranks", 1, options_.max_ranks);
      if (!count) lines_.throw_if_any();
      rank_count_ = *count;
      end_of_line();
    } else if (rank_ == nullptr) {
      open_rank();
    } else if (take("}")) {
      rank_ = nullptr;
      labels_.clear();
      end_of_line();
    } else {
      in_rank();
    }
  }

  void open_rank() {
    if (!expect("rank")) return;
    const Word word = here();
    const auto rank = number("a rank", 0, rank_count_ - 1);
    if (!rank || !expect("{")) return;
    end_of_line();
    const auto [place, is_new] = ranks_.try_emplace(*rank);
    if (!is_new) lines_.error(word, fmt::format("rank {} has a block already", *rank));
    rank_ = &place->second;
    rank_number_ = *rank;
    rank_->file = lines_.file();
  }

  void in_rank() {
    if (tokens_.size() >= 2 && (tokens_[1].text == "requires" || tokens_[1].text == "irequires")) {
      dependency();
      return;
    }
    std::optional<Word> label;
    if (tokens_.size() >= 2 && tokens_[1].text == ":") {
      label = tokens_[0];
      at_ = 2;
      if (!is_label(label->text)) lines_.error(*label, "a label is a letter, then letters, digits and '_'");
    }
    const std::optional<Task> task = operation();
    if (!task) return;
    if (++operations_ > options_.max_operations) {
      lines_.error(tokens_[0], fmt::format("more than {} operations", options_.max_operations));
      lines_.throw_if_any();
    }
    const std::uint32_t index = rank_->add(*task);
    if (label && !labels_.emplace(std::string{label->text}, index).second) {
      lines_.error(*label, fmt::format("label '{}' stands twice in rank {}", label->text, rank_number_));
    }
  }

  std::optional<Task> operation() {
    static const std::array<std::string, 3> kKinds = {"calc", "send", "recv"};
    Task task;
    task.place = static_cast<std::uint64_t>(lines_.number());
    task.op.launched = false;
    const Word kind = here();
    if (take("calc")) {
      const auto ns = number("nanoseconds", 0, kLongestTask.ps() / 1'000);
      if (!ns) return std::nullopt;
      task.op.duration = Duration::from_ns(*ns);
    } else if (is("send") || is("recv")) {
      ++at_;
      if (!message(task, kind.text == "send")) return std::nullopt;
    } else {
      const std::string near = at_ < tokens_.size() ? nearest(kind.text, kKinds) : std::string{};
      lines_.error(kind, fmt::format("expected 'calc', 'send', 'recv' or 'LABEL requires LABEL', {}", found()),
                   near.empty() ? std::string{} : fmt::format("did you mean '{}'?", near));
      return std::nullopt;
    }
    std::int64_t cpu = 0;
    if (take("cpu")) {
      const auto given = number("a cpu", 0, 1'000'000);
      if (!given) return std::nullopt;
      cpu = *given;
    }
    if (kind.text != "calc" && take("nic")) {
      if (!number("a nic", 0, 1'000'000)) return std::nullopt;
      if (nic_line_ == 0) nic_line_ = lines_.number();
    }
    end_of_line();
    task.lane = rank_->lane(fmt::format("cpu {}", cpu));
    task.name = rank_->name(kind.text);
    return task;
  }

  // `4096b to 1 tag 7`, after send or recv.
  bool message(Task& task, bool sends) {
    task.op.kind = sends ? OpKind::kSend : OpKind::kReceive;
    task.op.category = Category::kCommOther;
    const Word size = here();
    std::string_view digits = size.text;
    const bool has_unit = digits.ends_with('b');
    if (has_unit) digits.remove_suffix(1);
    const auto bytes = parse_integer(digits);
    if (!bytes || *bytes < 0 || *bytes > kLargestTask.count()) {
      lines_.error(size, fmt::format("expected a size such as '4096b', at most {}b, {}", kLargestTask.count(), found()));
      return false;
    }
    ++at_;
    if (!has_unit && !expect("b")) return false;
    task.op.bytes = Bytes{*bytes};
    if (!expect(sends ? "to" : "from")) return false;
    const Word peer = here();
    const auto rank = number("a rank", sends ? 0 : -1, rank_count_ - 1);
    if (!rank) return false;
    if (*rank == rank_number_) {
      lines_.error(peer, "a rank cannot send to itself");
      return false;
    }
    task.peer = static_cast<std::int32_t>(*rank);
    if (take("tag")) {
      const auto tag = number("a tag", sends ? 0 : -1, std::numeric_limits<std::int64_t>::max());
      if (!tag) return false;
      task.tag = *tag;
    }
    return true;
  }

  void dependency() {
    const auto task = labelled(tokens_[0]);
    const bool on_start = tokens_[1].text == "irequires";
    at_ = 2;
    if (tokens_.size() < 3) {
      lines_.error(here(), "expected a label, found the end of the line");
      return;
    }
    const auto on = labelled(tokens_[2]);
    at_ = 3;
    end_of_line();
    if (task && on) rank_->wait(*task, *on, on_start);
  }

  std::optional<std::uint32_t> labelled(const Word& word) {
    const auto known = labels_.find(std::string{word.text});
    if (known != labels_.end()) return known->second;
    lines_.error(word, fmt::format("no label '{}' stands above this line in rank {}", word.text.substr(0, 40), rank_number_),
                 "labels are those of this rank's block, before their use");
    return std::nullopt;
  }

  LineReader lines_;
  const TraceReadOptions& options_;
  std::string text_;
  std::vector<Word> tokens_;
  std::size_t at_ = 0;
  std::int64_t rank_count_ = 0;
  std::map<std::int64_t, RankTasks> ranks_;
  RankTasks* rank_ = nullptr;
  std::int64_t rank_number_ = 0;
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::uint64_t operations_ = 0;
  int nic_line_ = 0;
};

bool recognises_goal(const std::filesystem::path&, std::string_view head) {
  bool in_comment = false;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    const std::string text = without_comments(head.substr(0, end), in_comment);
    const std::vector<Word> tokens = tokens_of(text);
    if (!tokens.empty()) return tokens[0].text == "num_ranks";
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

Trace read_goal(std::span<const std::filesystem::path> files, const TraceReadOptions& options) {
  if (files.size() != 1)
    throw ConfigError(fmt::format("a GOAL schedule is one file for all ranks; {} were given", files.size()));
  return GoalReader{files.front(), options}.read();
}

}  // namespace

namespace trace_builtin {
const TraceFormat goal{
    .name = "goal",
    .summary = "GOAL text of LogGOPSim and ATLAHS: calc, send, recv",
    .recognises = recognises_goal,
    .read = read_goal,
    .model = kScheduleText,
};
}  // namespace trace_builtin

}  // namespace weft::work
