#include "sim/workloads/connection_matrix.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/config/quantity.h"
#include "sim/core/used_files.h"

namespace weft::work {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr int kMostWrongMatrixLines = 20;
constexpr double kLatestStart = 1e18;  // ps

struct MatrixWord {
  std::string_view text;
  int column = 1;
};

std::vector<MatrixWord> matrix_words(std::string_view line) {
  std::vector<MatrixWord> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back({line.substr(at, end - at), static_cast<int>(at) + 1});
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

// A mistake, and where in the line it is.
struct MatrixMistake {
  std::string message;
  int column = 1;
};

class MatrixLines {
 public:
  MatrixLines(const net::Topology& topology, Workload& out) : topology_{topology}, out_{out} {}

  std::optional<MatrixMistake> take(const std::vector<MatrixWord>& words, int line) {
    const std::string_view first = words[0].text;
    if (first == "Nodes") return count(words, nodes_);
    if (first == "Connections") return count(words, connections_);
    if (first == "Triggers") return count(words, triggers_);
    if (first == "Failures") return no_failures(words);
    if (first == "failure")
      return MatrixMistake{"a failure is not read: state it under 'faults' of the scenario", words[0].column};
    if (first == "trigger") return trigger(words, line);
    if (first.find("->") != std::string_view::npos) return connection(words, line);
    return MatrixMistake{
        fmt::format("expected a connection 'source->destination', 'trigger', 'Nodes', 'Connections' or 'Triggers', got "
                    "'{}'",
                    first),
        words[0].column};
  }

  // After the last line: what does not fit together, and the line it is on.
  [[nodiscard]] std::vector<std::pair<int, std::string>> finish() {
    std::vector<std::pair<int, std::string>> wrong;
    if (connections_ && *connections_ != taken_)
      wrong.emplace_back(1, fmt::format("'Connections' announces {} connections, and {} follow", *connections_, taken_));
    if (triggers_ && *triggers_ != defined_)
      wrong.emplace_back(1, fmt::format("'Triggers' announces {} triggers, and {} follow", *triggers_, defined_));
    for (const auto& [id, seen] : known_) {
      if (!seen.is_defined) {
        wrong.emplace_back(seen.line, fmt::format("no line 'trigger id {}' says what this trigger is", id));
      } else if (!seen.is_fired && !out_.chains.triggers[seen.number - 1].flows.empty()) {
        wrong.emplace_back(seen.line, fmt::format("nothing activates trigger {}, which connections wait for", id));
      }
    }
    return wrong;
  }

 private:
  struct Known {
    std::uint32_t number = 0;  // in out.chains.triggers, from 1 on
    int line = 0;              // where it was met first
    bool is_defined = false;
    bool is_fired = false;
  };

  [[nodiscard]] static std::optional<std::int64_t> number_after(const std::vector<MatrixWord>& words, std::size_t key) {
    return key + 1 < words.size() ? parse_integer(words[key + 1].text) : std::nullopt;
  }
  [[nodiscard]] static MatrixMistake expected_number(const MatrixWord& key) {
    return {fmt::format("expected a whole number of 0 or more after '{}'", key.text), key.column};
  }

  std::optional<MatrixMistake> count(const std::vector<MatrixWord>& words, std::optional<std::int64_t>& into) {
    const auto value = number_after(words, 0);
    if (!value || *value < 0) return expected_number(words[0]);
    into = value;
    const auto endpoints = static_cast<std::int64_t>(topology_.endpoints().size());
    if (nodes_ && *nodes_ > endpoints)
      return MatrixMistake{fmt::format("{} nodes are more than this cluster has: {}", *nodes_, endpoints), words[1].column};
    return std::nullopt;
  }

  static std::optional<MatrixMistake> no_failures(const std::vector<MatrixWord>& words) {
    if (number_after(words, 0) == 0) return std::nullopt;
    return MatrixMistake{"failures are not read: state them under 'faults' of the scenario", words[0].column};
  }

  Known& known(std::int64_t id, int line) {
    Known& seen = known_[id];
    if (seen.number == 0) {
      out_.chains.triggers.emplace_back();
      seen = {.number = static_cast<std::uint32_t>(out_.chains.triggers.size()), .line = line};
    }
    return seen;
  }

  std::optional<MatrixMistake> connection(const std::vector<MatrixWord>& words, int line) {
    if (static_cast<std::int64_t>(out_.flows.size()) >= kMaxFlows)
      return MatrixMistake{fmt::format("more than {} flows", kMaxFlows), words[0].column};
    const std::string_view ends = words[0].text;
    const std::size_t arrow = ends.find("->");
    const auto hosts = static_cast<std::int64_t>(topology_.endpoints().size());
    FlowItem flow;
    for (const bool is_source : {true, false}) {
      const auto host = parse_integer(is_source ? ends.substr(0, arrow) : ends.substr(arrow + 2));
      if (!host) return MatrixMistake{"expected whole numbers in 'source->destination'", words[0].column};
      if (*host < 0 || *host >= std::min(hosts, nodes_.value_or(hosts))) {
        return MatrixMistake{fmt::format("host {} is not one of {} (0 to {})", *host, std::min(hosts, nodes_.value_or(hosts)),
                                         std::min(hosts, nodes_.value_or(hosts)) - 1),
                             words[0].column};
      }
      (is_source ? flow.from : flow.to) = topology_.endpoints()[static_cast<std::size_t>(*host)];
    }
    FlowChain chain;
    bool has_start = false;
    bool has_size = false;
    for (std::size_t i = 1; i < words.size(); i += 2) {
      const std::string_view key = words[i].text;
      if (key == "start") {
        const auto start = i + 1 < words.size() ? parse_number(words[i + 1].text) : std::nullopt;
        if (!start || *start < 0 || *start > kLatestStart)
          return MatrixMistake{"expected a start of 0 to 1e18 picoseconds", words[i].column};
        flow.start = Time::from_ps(std::llround(*start));
        has_start = true;
        continue;
      }
      const auto value = number_after(words, i);
      constexpr std::array<std::string_view, 7> kKeys{
          "size", "id", "msg", "prio", "trigger", "send_done_trigger", "recv_done_trigger"};
      if (std::ranges::find(kKeys, key) == kKeys.end())
        return MatrixMistake{fmt::format("unknown word '{}'; choices: start, {}", key, fmt::join(kKeys, ", ")),
                             words[i].column};
      if (!value || *value < 0) return expected_number(words[i]);
      if (key == "size") {
        flow.bytes = Bytes{*value};
        has_size = true;
      } else if (key == "trigger") {
        chain.starts_by = known(*value, line).number;
      } else if (key == "send_done_trigger" || key == "recv_done_trigger") {
        Known& seen = known(*value, line);
        seen.is_fired = true;
        (key == "send_done_trigger" ? chain.on_sent : chain.on_delivered) = seen.number;
      }
    }
    if (!has_size) return MatrixMistake{"a connection needs a 'size', in bytes", words[0].column};
    if (has_start == (chain.starts_by != 0)) {
      return MatrixMistake{has_start ? "a connection has a 'start' or a 'trigger', not both"
                                     : "a connection needs a 'start', in picoseconds, or a 'trigger'",
                           words[0].column};
    }
    const auto number = static_cast<std::uint32_t>(out_.flows.size());
    if (chain.starts_by != 0) out_.chains.triggers[chain.starts_by - 1].flows.push_back(number);
    if (chain.starts_by != 0 || chain.on_sent != 0 || chain.on_delivered != 0) {
      out_.chains.of_flow.resize(number + std::size_t{1});
      out_.chains.of_flow.back() = chain;
    }
    out_.flows.push_back(flow);
    ++taken_;
    return std::nullopt;
  }

  std::optional<MatrixMistake> trigger(const std::vector<MatrixWord>& words, int line) {
    std::optional<std::int64_t> id;
    std::optional<TriggerKind> kind;
    std::int64_t activations = 1;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view key = words[i].text;
      if (key == "id" || key == "count") {
        const auto value = number_after(words, i);
        if (!value || *value < 1)
          return MatrixMistake{fmt::format("expected a whole number above 0 after '{}'", key), words[i].column};
        if (key == "id") {
          id = value;
        } else {
          activations = *value;
        }
        ++i;
      } else if (key == "oneshot" || key == "multishot" || key == "barrier") {
        kind = key == "oneshot" ? TriggerKind::kOneshot : key == "multishot" ? TriggerKind::kMultishot : TriggerKind::kBarrier;
      } else {
        return MatrixMistake{fmt::format("unknown word '{}'; choices: id, oneshot, multishot, barrier, count", key),
                             words[i].column};
      }
    }
    if (!id) return MatrixMistake{"a trigger needs an 'id'", words[0].column};
    if (!kind) return MatrixMistake{"a trigger is 'oneshot', 'multishot' or 'barrier'", words[0].column};
    Known& seen = known(*id, line);
    if (seen.is_defined) return MatrixMistake{fmt::format("trigger {} is there twice", *id), words[0].column};
    seen.is_defined = true;
    FlowTrigger& made = out_.chains.triggers[seen.number - 1];
    made.kind = *kind;
    made.activations = activations;
    ++defined_;
    return std::nullopt;
  }

  const net::Topology& topology_;
  Workload& out_;
  std::optional<std::int64_t> nodes_;
  std::optional<std::int64_t> connections_;
  std::optional<std::int64_t> triggers_;
  std::int64_t taken_ = 0;
  std::int64_t defined_ = 0;
  std::map<std::int64_t, Known> known_;  // triggers by id
};

}  // namespace

bool begins_connection_matrix(std::string_view line) {
  const std::vector<MatrixWord> words = matrix_words(line);
  return !words.empty() && (words[0].text == "Nodes" || words[0].text == "Connections");
}

void read_connection_matrix(const std::filesystem::path& path, const net::Topology& topology, Diagnostics& diagnostics,
                            Workload& out) {
  std::ifstream file = open_input(path);
  MatrixLines matrix{topology, out};
  std::string line;
  int errors = 0;
  const auto report = [&](int number, const MatrixMistake& wrong, const std::string& text) {
    ++errors;
    diagnostics.error({.where = {path.string(), number, wrong.column},
                       .message = wrong.message,
                       .source_line = text,
                       .length = 1,
                       .note = {}});
  };
  for (int number = 1; errors < kMostWrongMatrixLines && std::getline(file, line); ++number) {
    const std::vector<MatrixWord> words = matrix_words(line);
    if (words.empty() || words[0].text.starts_with('#')) continue;
    if (const auto wrong = matrix.take(words, number)) report(number, *wrong, line);
  }
  if (errors > 0) return;
  for (const auto& [number, problem] : matrix.finish()) report(number, {problem, 1}, {});
}

}  // namespace weft::work
