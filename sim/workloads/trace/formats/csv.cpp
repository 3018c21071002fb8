// Lists of what ranks do, in CSV: the simple door for messages and collectives of any origin (docs/trace_formats.md).
//
//   rank,op,bytes,peer,duration_us
//   0,compute,,,12.5
//   0,send,1048576,1,
//   1,recv,1048576,0,
//
// Rows of one rank and stream run one after another, in the order of the file; streams run side by side, but a row with `after`
// waits for the streams it names. The first line names the columns, in any order; only rank and op must be there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/words.h"
#include "sim/workloads/trace/line_reader.h"
#include "sim/workloads/trace/task_graph.h"
#include "sim/workloads/trace/trace_format.h"

namespace weft::work {
namespace {

enum class Column : std::uint8_t {
  kRank,
  kOp,
  kBytes,
  kPeer,
  kTag,
  kGroup,
  kDurationUs,
  kDurationNs,
  kStream,
  kAfter,
  kName,
  kElementSize
};
constexpr std::size_t kColumns = 12;
const std::array<std::string, kColumns> kColumnNames = {
    "rank", "op", "bytes", "peer", "tag", "group", "duration_us", "duration_ns", "stream", "after", "name", "element_size"};
constexpr std::size_t kMostMembers = 1'048'576;  // of groups written out, all together
constexpr Bytes kBarrierBytes{4};

struct Kind {
  std::string_view name;
  OpKind kind;
  coll::Collective collective = coll::Collective::kAllReduce;
};
constexpr auto kCollectiveKind = OpKind::kCollective;
constexpr std::array kCsvKinds = {
    Kind{"compute", OpKind::kKernel},
    Kind{"send", OpKind::kSend},
    Kind{"recv", OpKind::kReceive},
    Kind{"all_reduce", kCollectiveKind, coll::Collective::kAllReduce},
    Kind{"all_gather", kCollectiveKind, coll::Collective::kAllGather},
    Kind{"reduce_scatter", kCollectiveKind, coll::Collective::kReduceScatter},
    Kind{"broadcast", kCollectiveKind, coll::Collective::kBroadcast},
    Kind{"reduce", kCollectiveKind, coll::Collective::kReduce},
    Kind{"alltoall", kCollectiveKind, coll::Collective::kAllToAll},
    Kind{"gather", kCollectiveKind, coll::Collective::kGather},
    Kind{"scatter", kCollectiveKind, coll::Collective::kScatter},
    Kind{"barrier", kCollectiveKind, coll::Collective::kAllReduce},
};

struct Row {
  Task task;
  Word group;
  std::string group_text;
};

class CsvReader {
 public:
  CsvReader(const std::filesystem::path& file, const TraceReadOptions& options)
      : lines_{file, options.max_bytes}, options_{options} {}

  Trace read() {
    while (lines_.next()) {
      const std::string_view line = lines_.line();
      const std::size_t first = line.find_first_not_of(" \t");
      if (first == std::string_view::npos || line[first] == '#') continue;
      fields_ = fields_of(line);
      if (!has_header_) {
        header();
      } else {
        row();
      }
    }
    if (!has_header_) lines_.error_at_end("expected a line with the names of the columns, such as 'rank,op,bytes,peer'");
    lines_.throw_if_any();
    if (ranks_.empty()) {
      lines_.error_at_end("no rows");
      lines_.throw_if_any();
    }
    const Rank last = ranks_.rbegin()->first;
    for (Rank r = 0; r <= last && !lines_.failed(); ++r) {
      if (!ranks_.contains(r)) lines_.error_at_end(fmt::format("ranks go from 0 to {}, but rank {} has no rows", last, r));
    }
    lines_.throw_if_any();
    std::vector<Group> groups = resolve_groups(last);
    std::vector<RankTasks> ranks;
    for (auto& [number, rank] : ranks_) ranks.push_back(std::move(rank));
    TaskProgram made = make_program(std::move(ranks), std::move(groups));
    Trace trace;
    trace.program = std::move(made.program);
    trace.findings = std::move(made.findings);
    return trace;
  }

 private:
  void header() {
    has_header_ = true;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::string name = lower_case(fields_[i].text);
      const auto known = std::ranges::find(kColumnNames, name);
      if (known == kColumnNames.end()) {
        lines_.error(fields_[i], fmt::format("unknown column '{}'", fields_[i].text),
                     did_you_mean(name, kColumnNames, "columns"));
        continue;
      }
      const auto column = static_cast<std::size_t>(known - kColumnNames.begin());
      if (column_at_[column]) lines_.error(fields_[i], fmt::format("column '{}' stands twice", name));
      column_at_[column] = i;
    }
    for (const Column each : {Column::kRank, Column::kOp}) {
      if (!column_at_[static_cast<std::size_t>(each)]) {
        lines_.error({}, fmt::format("there is no column '{}'", kColumnNames[static_cast<std::size_t>(each)]));
      }
    }
    width_ = fields_.size();
    lines_.throw_if_any();
  }

  [[nodiscard]] Word field(Column column) const {
    const auto at = column_at_[static_cast<std::size_t>(column)];
    return at && *at < fields_.size() ? fields_[*at] : Word{};
  }

  std::optional<std::int64_t> number(Column column, std::string_view what, std::int64_t least, std::int64_t most) {
    const Word word = field(column);
    const auto value = parse_integer(word.text);
    if (value && *value >= least && *value <= most) return value;
    lines_.error(word, fmt::format("{}: expected {} from {} to {}, found '{}'", kColumnNames[static_cast<std::size_t>(column)],
                                   what, least, most, word.text));
    return std::nullopt;
  }

  void row() {
    if (fields_.size() > width_) {
      lines_.error(fields_[width_], fmt::format("{} fields, but {} columns", fields_.size(), width_));
      return;
    }
    const auto rank = number(Column::kRank, "a rank", 0, options_.max_ranks - 1);
    const Word op = field(Column::kOp);
    const std::string name = lower_case(op.text);
    const auto kind = std::ranges::find(kCsvKinds, name, &Kind::name);
    if (kind == kCsvKinds.end()) {
      std::vector<std::string> names;
      for (const Kind& each : kCsvKinds) names.emplace_back(each.name);
      lines_.error(op, fmt::format("unknown op '{}'", op.text), did_you_mean(name, names, "ops"));
      return;
    }
    if (!rank) return;
    RankTasks& tasks = ranks_[static_cast<Rank>(*rank)];
    if (tasks.file.empty()) tasks.file = lines_.file();
    Task task;
    task.place = static_cast<std::uint64_t>(lines_.number());
    task.op.kind = kind->kind;
    task.op.collective = kind->collective;
    task.op.launched = false;
    if (!(kind->kind == OpKind::kKernel ? duration(task) : communication(task, *kind))) return;
    const Word label = field(Column::kName);
    task.name = tasks.name(label.text.empty() ? std::string_view{name} : label.text);
    const Word stream = field(Column::kStream);
    task.lane = tasks.lane(stream.text.empty() ? "0" : stream.text);
    if (++operations_ > options_.max_operations) {
      lines_.error(op, fmt::format("more than {} operations", options_.max_operations));
      lines_.throw_if_any();
    }
    place(static_cast<Rank>(*rank), tasks, task);
  }

  bool duration(Task& task) {
    const bool in_ns = !field(Column::kDurationNs).text.empty();
    const Column column = in_ns ? Column::kDurationNs : Column::kDurationUs;
    const Word word = field(column);
    const auto value = parse_number(word.text);
    const double ps = value ? *value * (in_ns ? 1e3 : 1e6) : -1;
    if (ps < 0 || ps > static_cast<double>(kLongestTask.ps())) {
      lines_.error(
          word, fmt::format("{}: expected a time from 0 to {} {}, found '{}'", kColumnNames[static_cast<std::size_t>(column)],
                            kLongestTask.ps() / (in_ns ? 1'000 : 1'000'000), in_ns ? "ns" : "us", word.text));
      return false;
    }
    task.op.duration = Duration::nearest_ps(ps);
    return true;
  }

  bool communication(Task& task, const Kind& kind) {
    task.op.category = Category::kCommOther;
    if (kind.name == "barrier" && field(Column::kBytes).text.empty()) {
      task.op.bytes = kBarrierBytes;
    } else {
      const auto bytes = number(Column::kBytes, "a number of bytes", 0, kLargestTask.count());
      if (!bytes) return false;
      task.op.bytes = Bytes{*bytes};
    }
    task.op.element_size = 1;
    if (!field(Column::kElementSize).text.empty()) {
      const auto size = number(Column::kElementSize, "bytes of an element", 1, 8);
      if (!size) return false;
      task.op.element_size = static_cast<std::uint8_t>(*size);
    }
    if (kind.kind == OpKind::kCollective) {
      const Word group = field(Column::kGroup);
      task.peer = group_of(group.text.empty() ? Word{"all", group.offset} : group);
      return task.peer >= 0;
    }
    const bool sends = kind.kind == OpKind::kSend;
    const auto peer = number(Column::kPeer, "a rank", sends ? 0 : -1, options_.max_ranks - 1);
    if (!peer) return false;
    task.peer = static_cast<Rank>(*peer);
    if (!field(Column::kTag).text.empty()) {
      const auto tag = number(Column::kTag, "a tag", sends ? 0 : -1, std::numeric_limits<std::int64_t>::max());
      if (!tag) return false;
      task.tag = *tag;
    }
    return true;
  }

  // Behind the row before it on its stream, and behind what `after` names.
  void place(Rank rank, RankTasks& tasks, const Task& task) {
    std::vector<std::uint32_t>& tails = tails_[rank];
    const std::uint32_t index = tasks.add(task);
    tails.resize(tasks.lanes.size(), kNoTask);
    std::uint32_t& tail = tails[static_cast<std::size_t>(task.lane)];
    if (tail != kNoTask) tasks.wait(index, tail);
    for (const Word& word : words_of(field(Column::kAfter).text)) {
      const auto lane = std::ranges::find(tasks.lanes, word.text);
      if (lane == tasks.lanes.end()) {
        lines_.error({word.text, field(Column::kAfter).offset + word.offset},
                     fmt::format("after: rank {} has no stream '{}' above this line", rank, word.text),
                     did_you_mean(word.text, tasks.lanes, "streams"));
        continue;
      }
      const std::uint32_t on = tails[static_cast<std::size_t>(lane - tasks.lanes.begin())];
      if (on != kNoTask && on != tail) tasks.wait(index, on);
    }
    tail = index;
  }

  // "all", "0-7", "0 2 4-6": an index into groups_; -1, with an error, where it is none.
  std::int32_t group_of(const Word& word) {
    const auto known = group_index_.find(word.text);
    if (known != group_index_.end()) return known->second;
    Group group{.name = std::string{word.text}, .ranks = {}};
    std::string text{word.text};
    std::ranges::replace(text, ';', ' ');
    for (const Word& part : word.text == "all" ? std::vector<Word>{} : words_of(text)) {
      const std::size_t dash = part.text.find('-');
      const auto first = parse_integer(part.text.substr(0, dash));
      const auto last = dash == std::string_view::npos ? first : parse_integer(part.text.substr(dash + 1));
      const auto most = static_cast<std::int64_t>(options_.max_ranks) - 1;
      if (!first || !last || *first < 0 || *last < *first || *last > most) {
        lines_.error({part.text, word.offset + part.offset},
                     fmt::format("group: expected 'all' or ranks such as '0-7' or '0 2 4', found '{}'", part.text));
        return -1;
      }
      members_ += static_cast<std::size_t>(*last - *first) + 1;
      if (members_ > kMostMembers) {
        lines_.error(word, fmt::format("groups of more than {} members in all", kMostMembers));
        lines_.throw_if_any();
      }
      for (std::int64_t r = *first; r <= *last; ++r) group.ranks.push_back(static_cast<Rank>(r));
    }
    std::vector<Rank> sorted = group.ranks;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
      lines_.error(word, fmt::format("group: rank {} stands twice", *twice));
      return -1;
    }
    if (word.text != "all" && group.ranks.size() < 2) {
      lines_.error(word, "group: a collective needs two ranks or more");
      return -1;
    }
    groups_.push_back(std::move(group));
    group_lines_.push_back(lines_.at(word, {}));
    return group_index_[std::string{word.text}] = static_cast<std::int32_t>(groups_.size() - 1);
  }

  std::vector<Group> resolve_groups(Rank last) {
    std::vector<Diagnostic> errors;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      std::vector<Rank>& ranks = groups_[g].ranks;
      if (groups_[g].name == "all") {
        for (Rank r = 0; r <= last; ++r) ranks.push_back(r);
      }
      const Rank most = *std::ranges::max_element(ranks);
      Diagnostic problem = group_lines_[g];
      if (most > last) {
        problem.message = fmt::format("group: rank {} has no rows; ranks go from 0 to {}", most, last);
      } else if (ranks.size() < 2) {
        problem.message = "group: a collective needs two ranks or more";
      }
      if (!problem.message.empty()) errors.push_back(std::move(problem));
    }
    if (!errors.empty()) throw ConfigError(std::move(errors));
    return std::move(groups_);
  }

  LineReader lines_;
  const TraceReadOptions& options_;
  std::vector<Word> fields_;
  bool has_header_ = false;
  std::size_t width_ = 0;
  std::array<std::optional<std::size_t>, kColumns> column_at_;
  std::map<Rank, RankTasks> ranks_;
  std::map<Rank, std::vector<std::uint32_t>> tails_;  // by lane
  std::vector<Group> groups_;
  std::vector<Diagnostic> group_lines_;
  std::map<std::string, std::int32_t, std::less<>> group_index_;
  std::size_t members_ = 0;
  std::uint64_t operations_ = 0;
};

bool recognises_csv(const std::filesystem::path&, std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = head.substr(0, end);
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') {
      std::vector<std::string> names;
      for (const Word& each : fields_of(line.substr(0, line.find('\r')))) names.push_back(lower_case(each.text));
      return std::ranges::count(names, "rank") > 0 && std::ranges::count(names, "op") > 0;
    }
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

Trace read_csv(std::span<const std::filesystem::path> files, const TraceReadOptions& options) {
  if (files.size() != 1) throw ConfigError(fmt::format("a list in CSV is one file for all ranks; {} were given", files.size()));
  return CsvReader{files.front(), options}.read();
}

}  // namespace

namespace trace_builtin {
const TraceFormat csv{
    .name = "csv",
    .summary = "lists of computation, messages and collectives: rank, op, bytes, peer, ...",
    .recognises = recognises_csv,
    .read = read_csv,
    .model = kScheduleText,
};
}  // namespace trace_builtin

}  // namespace weft::work
