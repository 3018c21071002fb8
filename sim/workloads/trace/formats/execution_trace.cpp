// PyTorch's execution traces (ExecutionTraceObserver), each merged with the Kineto profile of the same rank and step
// (models/workloads §5.3).
//
// Times and kernels are the profile's; the execution trace adds what profiles may lack: process groups and their ranks, calls
// of communication with their sizes, and from the tensors that operators wrote and read which kernels of other streams a kernel
// had to wait for.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/core/error.h"
#include "sim/workloads/trace/execution/nodes.h"
#include "sim/workloads/trace/input_stream.h"
#include "sim/workloads/trace/kineto/assemble.h"
#include "sim/workloads/trace/kineto/kineto_events.h"
#include "sim/workloads/trace/trace_format.h"

namespace weft::work {
namespace {

using execution::Nodes;

constexpr std::size_t kExecutionHeadBytes = std::size_t{1} << 16;

Diagnostic said_of(const std::filesystem::path& file, std::string message, std::string advice = {}) {
  return {.where = {.file = file.string()}, .message = std::move(message), .source_line = {}, .note = std::move(advice)};
}

// One execution trace and the profile of the same process.
class ExecutionMerge {
 public:
  ExecutionMerge(const Nodes& nodes, kineto::RankEvents& events, std::vector<Diagnostic>& findings)
      : nodes_{nodes}, events_{events}, findings_{findings} {
    for (std::uint32_t i = 0; i < nodes.nodes.size(); ++i) {
      if (nodes.nodes[i].record_function > 0) node_of_.try_emplace(nodes.nodes[i].record_function, i);
    }
    // Older profiles give the number as the operator's external id.
    by_function_ = std::ranges::any_of(events.operators, [](const kineto::HostOperator& op) { return op.record_function > 0; });
  }

  void run() {
    check_agreement();
    add_groups();
    add_calls();
    add_data_waits();
  }

 private:
  [[nodiscard]] std::uint32_t node_of(const kineto::HostOperator& op) const {
    const auto at = node_of_.find(by_function_ ? op.record_function : op.external);
    return at == node_of_.end() ? kineto::kNone : at->second;
  }

  void check_agreement() {
    std::unordered_map<std::uint32_t, std::uint64_t> hashes;
    for (const kineto::HostOperator& op : events_.operators) {
      const std::uint32_t node = node_of(op);
      if (node == kineto::kNone) continue;
      const auto [hash, is_new] = hashes.try_emplace(op.name, 0);
      if (is_new) hash->second = execution::name_hash(events_.names[op.name]);
      ++(hash->second == nodes_.nodes[node].name ? agree_ : differ_);
    }
    if (agree_ > differ_ && agree_ > 0) return;
    throw ConfigError(std::vector{
        said_of(nodes_.file,
                fmt::format("of the {} operators of '{}' {} are in it by record function id and name, and {} by the id alone",
                            events_.operators.size(), events_.file.string(), agree_, differ_),
                "give the execution trace and the profile of the same step of the same process")});
  }

  void add_groups() {
    for (const kineto::ProcessGroup& group : nodes_.groups) {
      kineto::ProcessGroup own = group;
      if (own.ranks.empty() && events_.world > 0) {
        own.ranks.resize(static_cast<std::size_t>(events_.world));
        std::iota(own.ranks.begin(), own.ranks.end(), 0);
      }
      const auto known = std::ranges::find(events_.groups, group.name, &kineto::ProcessGroup::name);
      if (known == events_.groups.end()) {
        events_.groups.push_back(std::move(own));
      } else if (known->ranks.empty()) {
        known->ranks = std::move(own.ranks);
      }
    }
  }

  static void fill(kineto::CommCall& call, const kineto::CommCall& from) {
    const auto text = [](std::string& into, const std::string& value) {
      if (into.empty()) into = value;
    };
    const auto number = [](std::int64_t& into, std::int64_t value) {
      if (into < 0) into = value;
    };
    text(call.group, from.group);
    text(call.group_description, from.group_description);
    text(call.in_split, from.in_split);
    text(call.out_split, from.out_split);
    text(call.dtype, from.dtype);
    number(call.in_elements, from.in_elements);
    number(call.out_elements, from.out_elements);
    number(call.group_size, from.group_size);
    number(call.rank_start, from.rank_start);
    number(call.rank_stride, from.rank_stride);
  }

  void add_calls() {
    std::unordered_map<std::int64_t, std::uint32_t> known;  // by external id
    for (const kineto::HostComm& host : events_.host_comms) known.try_emplace(host.external, host.comm);
    std::size_t added = 0;
    std::size_t differ = 0;
    for (const kineto::HostOperator& op : events_.operators) {
      const std::uint32_t node = node_of(op);
      if (node == kineto::kNone || nodes_.nodes[node].comm == kineto::kNone) continue;
      const kineto::CommCall& said = nodes_.comms[nodes_.nodes[node].comm];
      const auto at = op.external >= 0 ? known.find(op.external) : known.end();
      if (at == known.end()) {
        events_.host_comms.push_back({op.start, op.thread, op.external, static_cast<std::uint32_t>(events_.comms.size())});
        events_.comms.push_back(said);
        ++added;
        continue;
      }
      kineto::CommCall& call = events_.comms[at->second];
      if (call.in_elements >= 0 && said.in_elements >= 0 && call.in_elements != said.in_elements) ++differ;
      fill(call, said);
    }
    if (added > 0)
      findings_.push_back(
          said_of(events_.file, fmt::format("{} calls of communication are described by the execution trace alone", added)));
    if (differ > 0) {
      findings_.push_back(
          said_of(nodes_.file, fmt::format("{} calls have other sizes here than in the profile, whose sizes count", differ)));
    }
  }

  // The kernels of nodes; of each the one that began first and the one that ended last.
  struct Extent {
    std::uint32_t first = kineto::kNone;
    std::uint32_t last = kineto::kNone;
  };

  void add_data_waits() {
    std::unordered_map<std::int64_t, std::uint32_t> node_of_external;
    for (const kineto::HostOperator& op : events_.operators) {
      const std::uint32_t node = node_of(op);
      if (node != kineto::kNone && op.external >= 0) node_of_external.try_emplace(op.external, node);
    }
    std::vector<Extent> extents(nodes_.nodes.size());
    const std::vector<kineto::DeviceActivity>& activities = events_.activities;
    const auto end_of = [&](std::uint32_t i) { return activities[i].start + activities[i].duration; };
    for (std::uint32_t i = 0; i < activities.size(); ++i) {
      const auto at = activities[i].external < 0 ? node_of_external.end() : node_of_external.find(activities[i].external);
      if (at == node_of_external.end()) continue;
      Extent& extent = extents[at->second];
      if (extent.first == kineto::kNone || activities[i].start < activities[extent.first].start) extent.first = i;
      if (extent.last == kineto::kNone || end_of(i) > end_of(extent.last)) extent.last = i;
    }
    std::unordered_map<std::int64_t, std::uint32_t> written_by;  // storage: activity
    for (std::size_t n = 0; n < extents.size(); ++n) {
      if (extents[n].first == kineto::kNone) continue;
      for (const std::int64_t storage : nodes_.nodes[n].reads) {
        const auto writer = written_by.find(storage);
        if (writer == written_by.end() || activities[writer->second].stream == activities[extents[n].first].stream) continue;
        events_.data_waits.emplace_back(extents[n].first, writer->second);
      }
      for (const std::int64_t storage : nodes_.nodes[n].writes) written_by.insert_or_assign(storage, extents[n].last);
    }
    std::ranges::sort(events_.data_waits);
    events_.data_waits.erase(std::ranges::unique(events_.data_waits).begin(), events_.data_waits.end());
  }

  const Nodes& nodes_;
  kineto::RankEvents& events_;
  std::vector<Diagnostic>& findings_;
  std::unordered_map<std::int64_t, std::uint32_t> node_of_;  // by record function
  bool by_function_ = false;
  std::size_t agree_ = 0;
  std::size_t differ_ = 0;
};

// Which profile an execution trace belongs to: by its rank, else by its process, else by the order of files.
std::size_t profile_of(const Nodes& nodes, std::size_t position, std::size_t traces,
                       const std::vector<kineto::RankEvents>& ranks) {
  std::optional<std::size_t> found;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (nodes.rank >= 0 && ranks[r].rank == nodes.rank) return r;
  }
  std::size_t same = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (nodes.process < 0 || ranks[r].process != nodes.process) continue;
    found = r;
    ++same;
  }
  const bool by_rank =
      nodes.rank >= 0 && std::ranges::all_of(ranks, [](const kineto::RankEvents& rank) { return rank.rank >= 0; });
  if (same == 1 && !by_rank) return *found;
  if (!by_rank && traces == ranks.size()) return position;
  throw ConfigError(std::vector{said_of(
      nodes.file,
      nodes.rank >= 0
          ? fmt::format("an execution trace holds no times, and the profile of rank {} is not among the files", nodes.rank)
          : std::string{"an execution trace holds no times, and which profile is of the same process is not said"},
      "give it along with the Kineto trace of the same rank and step")});
}

bool recognises_execution_trace(const std::filesystem::path&, std::string_view head) {
  return execution::looks_like_execution_trace(head);
}

Trace read_execution_traces(std::span<const std::filesystem::path> files, const TraceReadOptions& options) {
  std::vector<Nodes> traces;
  std::vector<kineto::RankEvents> ranks;
  for (const std::filesystem::path& file : files) {
    if (execution::looks_like_execution_trace(read_head(file, kExecutionHeadBytes))) {
      traces.push_back(execution::read_nodes(file, options));
    } else {
      ranks.push_back(kineto::read_events(file, options, kineto::Operators::kRead));
    }
  }
  std::vector<Diagnostic> findings;
  std::vector<const Nodes*> taken(ranks.size(), nullptr);
  for (std::size_t t = 0; t < traces.size(); ++t) {
    const std::size_t r = profile_of(traces[t], t, traces.size(), ranks);
    if (taken[r] != nullptr) {
      throw ConfigError(std::vector{said_of(
          traces[t].file, fmt::format("belongs to '{}', and so does '{}'", ranks[r].file.string(), taken[r]->file.string()))});
    }
    taken[r] = &traces[t];
    if (ranks[r].rank < 0) ranks[r].rank = traces[t].rank;
    if (const kineto::OddValues& odd = traces[t].odd_tensors; odd.count > 0) {
      findings.push_back(said_of(
          traces[t].file, fmt::format("{} tensors of sizes that none has, such as {}: taken as empty", odd.count, odd.first)));
    }
    ExecutionMerge{traces[t], ranks[r], findings}.run();
  }
  if (traces.size() < ranks.size()) {
    findings.push_back(said_of({}, fmt::format("{} of {} profiles have an execution trace: the others are read by themselves",
                                               traces.size(), ranks.size())));
  }
  Trace trace = kineto::assemble(std::move(ranks), options);
  trace.findings.insert(trace.findings.end(), findings.begin(), findings.end());
  return trace;
}

}  // namespace

const TraceFormat trace_builtin::execution_trace{
    .name = "execution_trace",
    .summary = "PyTorch execution traces, each with the Kineto trace of the same rank",
    .recognises = recognises_execution_trace,
    .read = read_execution_traces,
    .along_with = "kineto",
    .model =
        {.assumes = "Operators of the two are joined by their record function ids; names must agree for most. Calls of "
                    "communication and groups that the profile lacks are taken from the execution trace. Of an "
                    "operator's kernels the first reads and the last writes: a kernel waits for the last one of another "
                    "stream that wrote what its operator reads, unless the recorded times contradict that.",
         .leaves_out = {"execution traces: a write does not wait for those that read the storage before it",
                        "execution traces: ctrl_deps, shapes and strides are not read; sizes that differ from the profile's "
                        "do not count"},
         .sources = {"models/workloads §5.3"},
         .files = {"workloads/trace/execution/nodes.h"}},
};

}  // namespace weft::work
