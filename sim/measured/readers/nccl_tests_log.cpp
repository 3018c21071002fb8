#include "sim/measured/readers/nccl_tests_log.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>
#include <set>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/words.h"
#include "sim/measured/readers/nccl_tests_parser.h"
#include "sim/measured/readers/text_lines.h"

namespace weft::measured {
namespace detail {
namespace {

// NCCL prints the count passed by the caller, which for these is what one rank holds (models/nccl §5.8); nccl-tests' size
// column is what all ranks hold together.
bool printed_per_rank(std::string_view collective) { return collective == "all_gather" || collective == "reduce_scatter"; }

// Levels of NCCL_DEBUG that print while the collectives run.
bool is_verbose_level(std::string_view level) {
  std::string folded;
  for (const char c : level) folded += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return folded == "INFO" || folded == "TRACE" || folded == "ABORT";
}

void count_ranks(NcclTestsLog& log, bool processes_listed, int header_line, LogErrors& errors) {
  std::map<int, int> members;
  std::map<int, std::set<std::string>> hosts;
  for (const NcclTestsDevice& device : log.devices) {
    ++members[device.group];
    hosts[device.group].insert(device.host);
  }
  const int per_process = log.threads * log.gpus_per_thread;
  const int scale = processes_listed ? per_process : 1;
  if (log.devices.size() > static_cast<std::size_t>(kMaxRanks / scale)) {
    errors.add(at_line(log.file, header_line, fmt::format("{} processes of {} GPUs are too many", log.devices.size(), scale)));
    return;
  }
  log.groups = static_cast<int>(members.size());
  log.ranks = members.begin()->second * scale;
  for (const auto& [group, count] : members) {
    if (count * scale != log.ranks) {
      errors.add(at_line(log.file, header_line,
                         fmt::format("groups differ in size: {} ranks in group {}, {} in group {}", log.ranks,
                                     members.begin()->first, count * scale, group),
                         "the rows of groups of different sizes cannot be told apart"));
      return;
    }
  }
  log.nodes = static_cast<int>(hosts.begin()->second.size());
  const int listed = static_cast<int>(log.devices.size()) * scale;
  log.processes = listed / per_process;
  if (listed % per_process != 0) {
    errors.add(at_line(log.file, header_line,
                       fmt::format("the list of devices has {}, which is no multiple of {} x {} (threads x GPUs per thread)",
                                   listed, log.threads, log.gpus_per_thread),
                       "the list of devices is incomplete"));
  }
}

}  // namespace

void LogErrors::throw_if_any() {
  if (diagnostics_.empty()) return;
  if (hidden_ > 0) {
    Diagnostic& last = diagnostics_.back();
    last.note += fmt::format("{}{} more errors in this file are not shown", last.note.empty() ? "" : "; ", hidden_);
  }
  throw ConfigError(std::move(diagnostics_));
}

Diagnostic at_line(const std::string& file, int line, std::string message, std::string note) {
  return {.where = {file, line, line > 0 ? 1 : 0},
          .message = std::move(message),
          .source_line = {},
          .length = 1,
          .note = std::move(note)};
}

void add_env(NcclTestsLog& log, std::string_view name, std::string_view value, const Location& where, bool from_nccl) {
  const auto [found, is_new] = log.env.try_emplace(std::string{name}, value);
  if (is_new || found->second == value) return;
  // A person wrote the `# env` line, perhaps to correct what the run's own environment says.
  const bool keeps = from_nccl;
  log.warnings.push_back({.where = where,
                          .message = fmt::format("{} is '{}' here, but '{}' before; '{}' is taken", name, value, found->second,
                                                 keeps ? std::string_view{found->second} : value),
                          .source_line = {},
                          .length = 1,
                          .note = {}});
  if (!keeps) found->second = value;
}

void finish_log(NcclTestsLog& log, bool processes_listed, int header_line, LogErrors& errors) {
  if (const auto level = log.env.find("NCCL_DEBUG"); level != log.env.end() && is_verbose_level(level->second)) {
    log.has_debug_output = true;
  }
  if (errors.any()) {
    // A second error says nothing new where the first one already explains what is missing.
  } else if (!log.devices.empty()) {
    count_ranks(log, processes_listed, header_line, errors);
  } else if (!log.rows.empty()) {
    errors.add(at_line(log.file, log.rows.front().line, "rows, but no devices before them: the number of ranks is not known",
                       "expected lines such as '#  Rank  0 Group  0 Pid 1234 on node7 device  0 [0000:07:00] NVIDIA H200'"));
  }
  if (log.groups > 1) {
    log.warnings.push_back(
        at_line(log.file, header_line, fmt::format("{} groups of {} ranks were measured at once", log.groups, log.ranks)));
  }
  for (NcclTestsChoice& choice : log.choices) {
    if (printed_per_rank(choice.collective) && log.ranks > 0 && choice.printed_bytes <= Bytes::max() / log.ranks) {
      choice.bytes = log.ranks * choice.printed_bytes;
    }
  }
  if (log.is_cpu_time) {
    log.warnings.push_back(at_line(log.file, header_line, "the times are those of the host's calls (nccl-tests -C)"));
  }
  std::size_t wrong = 0;
  for (const NcclTestsRow& row : log.rows) {
    for (const auto* half : {&row.out_of_place, &row.in_place}) {
      // The old `error` column holds the largest relative error: up to 1e-1 in half precision where nothing is wrong.
      if (half->has_value() && (*half)->wrong.value_or(0) >= 1) ++wrong;
    }
  }
  if (wrong > 0) log.warnings.push_back(at_line(log.file, 0, fmt::format("{} measurements had wrong results", wrong)));
}

}  // namespace detail

std::uint64_t NcclTestsLog::digest() const {
  Digest digest;
  digest.add(collective).add(ranks).add(rows.size());
  for (const NcclTestsRow& row : rows) {
    digest.add(row.bytes).add(row.count).add(row.type).add(row.redop).add(row.root);
    for (const auto* half : {&row.out_of_place, &row.in_place}) {
      // In picoseconds, which times printed in microseconds with two digits are exact in; bandwidths follow from the times.
      digest.add(half->has_value() ? std::llround((*half)->time_us * 1e6) : -1LL);
    }
  }
  return digest.value();
}

NcclTestsLog read_nccl_tests_log(std::istream& input, const std::string& file) {
  // nccl-tests' JSON is one object that begins the file; no line of its text begins with a brace.
  return input.peek() == '{' ? detail::read_nccl_tests_json(input, file) : detail::read_nccl_tests_text(input, file);
}

NcclTestsLog read_nccl_tests_log(const std::string& path) {
  std::ifstream input = open_text(path, "a log file");
  return read_nccl_tests_log(input, path);
}

}  // namespace weft::measured
