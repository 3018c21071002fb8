#include "sim/workloads/flow_file.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/config/quantity.h"
#include "sim/core/used_files.h"
#include "sim/workloads/connection_matrix.h"

namespace weft::work {
namespace {

constexpr std::string_view kSeparators = " \t\r,";
constexpr int kMostWrongLines = 20;  // of a file that are told

// The words of a line, into `words`.
void split(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  for (std::size_t at = line.find_first_not_of(kSeparators); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kSeparators, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kSeparators, end);
  }
}

class FlowLines {
 public:
  FlowLines(const net::Topology& topology, Workload& out) : topology_{topology}, out_{out} {}

  // Reads the next line, and returns what is wrong with it; empty: nothing.
  std::string take(const std::vector<std::string_view>& words) {
    if (first_) {
      first_ = false;
      has_count_ = words.size() == 1;
      if (has_count_) {
        const auto count = parse_integer(words[0]);
        if (!count || *count < 0) return "expected the number of flows, or three numbers: source host, destination host, bytes";
        has_form_ = true;
        stated_ = *count;
        return {};
      }
      has_form_ = words.size() == 3;
    }
    if (static_cast<std::int64_t>(out_.flows.size()) >= kMaxFlows) {
      has_form_ = false;  // no further line is looked at
      return fmt::format("more than {} flows", kMaxFlows);
    }
    return has_count_ ? take_timed(words) : take_plain(words);
  }

  // The first line announced a number of flows, and they are there.
  [[nodiscard]] bool complete() const { return taken_ > 0 && taken_ == stated_; }
  // The first line has said what the lines hold.
  [[nodiscard]] bool has_form() const { return has_form_; }

  // After the last line.
  [[nodiscard]] std::string missing() const {
    if (!has_count_ || taken_ == stated_) return {};
    return fmt::format("the first line announces {} flows, and {} follow", stated_, taken_);
  }

 private:
  std::string take_plain(const std::vector<std::string_view>& words) {
    if (words.size() != 3) return "expected three numbers: source host, destination host, bytes";
    return add(words[0], words[1], words[2], Time{}, 0);
  }

  std::string take_timed(const std::vector<std::string_view>& words) {
    constexpr const char* kExpected = "expected six numbers: source host, destination host, priority, port, bytes, start in s";
    if (words.size() != 6) return kExpected;
    const auto priority = parse_integer(words[2]);
    const auto start = parse_duration(std::string{words[5]} + " s");
    if (!priority || !parse_integer(words[3]) || !start) return kExpected;
    if (*priority < 0 || *priority > 7) return fmt::format("expected a priority of 0 to 7, got {}", *priority);
    if (*start < Duration{}) return fmt::format("a flow cannot start before 0, got {} s", words[5]);
    return add(words[0], words[1], words[4], Time{} + *start, static_cast<int>(*priority));
  }

  std::string add(std::string_view from, std::string_view to, std::string_view size, Time start, int priority) {
    const auto endpoints = static_cast<std::int64_t>(topology_.endpoints().size());
    const auto source = parse_integer(from);
    const auto destination = parse_integer(to);
    const bool unlimited = size == "unlimited";
    const auto bytes = unlimited ? std::optional{kUnlimited.count()} : parse_integer(size);
    if (!source || !destination || !bytes) return "expected whole numbers for hosts and bytes, or unlimited bytes";
    for (const std::int64_t host : {*source, *destination}) {
      if (host < 0 || host >= endpoints) {
        return fmt::format("host {} is not in this cluster, which has {} (0 to {})", host, endpoints, endpoints - 1);
      }
    }
    if (*bytes < 0) return fmt::format("expected a size of 0 bytes or more, got {}", *bytes);
    out_.flows.push_back({.from = topology_.endpoints()[static_cast<std::size_t>(*source)],
                          .to = topology_.endpoints()[static_cast<std::size_t>(*destination)],
                          .bytes = Bytes{*bytes},
                          .start = start,
                          .rate_cap = {},
                          .priority = priority,
                          .options = unlimited ? static_cast<std::uint32_t>(out_.options.size()) : 0});
    if (unlimited) {
      FlowOptions options;
      options.unlimited = true;
      out_.options.push_back(std::move(options));
    }
    ++taken_;
    return {};
  }

  const net::Topology& topology_;
  Workload& out_;
  bool first_ = true;
  bool has_form_ = false;
  bool has_count_ = false;
  std::int64_t stated_ = 0;
  std::int64_t taken_ = 0;
};

}  // namespace

void read_flow_file(const std::filesystem::path& path, const net::Topology& topology, Diagnostics& diagnostics, Workload& out) {
  std::ifstream file = open_input(path);
  std::string line;
  std::vector<std::string_view> words;
  FlowLines lines{topology, out};
  int number = 1;
  int first_surplus = 0;  // line; 0: none
  std::int64_t surplus = 0;
  int errors = 0;
  const auto report = [&](const std::string& problem, int column) {
    ++errors;
    diagnostics.error(
        {.where = {path.string(), number, column}, .message = problem, .source_line = line, .length = 1, .note = {}});
  };
  bool is_first = true;
  for (; errors < kMostWrongLines && std::getline(file, line); ++number) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    if (is_first && begins_connection_matrix(line)) {
      read_connection_matrix(path, topology, diagnostics, out);
      return;
    }
    is_first = false;
    // Simulators that read this format stop after the flows announced.
    if (lines.complete()) {
      if (surplus++ == 0) first_surplus = number;
      continue;
    }
    split(line, words);
    const std::string problem = lines.take(words);
    if (problem.empty()) continue;
    report(problem, static_cast<int>(first) + 1);
    if (!lines.has_form()) return;
  }
  if (errors > 0) return;
  if (surplus > 0) {
    diagnostics.warning(
        {.where = {path.string(), first_surplus, 1},
         .message = fmt::format("the first line announces fewer flows: {} lines from here on are left out", surplus),
         .source_line = {},
         .length = 1,
         .note = {}});
  }
  number = 1;
  line.clear();
  if (const std::string problem = lines.missing(); !problem.empty()) report(problem, 1);
}

}  // namespace weft::work
