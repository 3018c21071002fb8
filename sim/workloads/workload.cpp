#include "sim/workloads/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <set>

#include "sim/collectives/builtin.h"
#include "sim/core/error.h"
#include "sim/network/name_range.h"
#include "sim/workloads/endpoint_names.h"
#include "sim/workloads/flow_file.h"
#include "sim/workloads/flow_reader.h"
#include "sim/workloads/generated_flows.h"
#include "sim/workloads/inference/inference_reader.h"
#include "sim/workloads/kernels/gpu_rates.h"
#include "sim/workloads/pair_sizes_reader.h"
#include "sim/workloads/replay/jitter_reader.h"
#include "sim/workloads/traffic_patterns.h"
#include "sim/workloads/training/training_reader.h"

namespace weft::work {
namespace {

constexpr std::array kCollectiveKinds = {
    coll::Collective::kAllReduce, coll::Collective::kAllGather, coll::Collective::kReduceScatter,
    coll::Collective::kBroadcast, coll::Collective::kReduce,    coll::Collective::kAllToAll,
    coll::Collective::kSendRecv,  coll::Collective::kGather,    coll::Collective::kScatter};

constexpr std::string_view kAllToAllv = "alltoallv";

void read_collectives(ParamReader& workload, const net::Topology& topology, Workload& out) {
  std::vector<std::string> kinds;
  for (const coll::Collective kind : kCollectiveKinds) kinds.emplace_back(coll::to_string(kind));
  kinds.emplace_back(kAllToAllv);
  const std::span<const std::string> registered = coll::algorithms().names();
  std::vector<std::string> names(registered.begin(), registered.end());
  for (ParamReader& item : workload.maps("collectives")) {
    CollectiveItem made;
    const std::string kind = item.choice("kind", kinds);
    const bool by_pair = kind == kAllToAllv;
    made.call.kind = by_pair ? coll::Collective::kAllToAll : *coll::collective_from(kind);
    if (!by_pair) made.call.bytes = item.required<Bytes>("bytes");
    made.call.element_size = item.optional<std::int64_t>("element_size", 4);
    if (!std::has_single_bit(static_cast<std::uint64_t>(made.call.element_size)) || made.call.element_size > 16) {
      item.error("element_size", fmt::format("expected 1, 2, 4, 8 or 16 bytes, got {}", made.call.element_size));
      made.call.element_size = 4;
    }
    made.call.root = static_cast<Rank>(item.optional<std::int64_t>("root", 0, between(0, 1'000'000)));
    made.count = item.optional<std::int64_t>("count", 1, between(1, 1'000'000));
    made.channels = static_cast<int>(item.optional<std::int64_t>("channels", 0, between(0, 64)));
    if (item.has("algorithm")) made.algorithm = item.choice("algorithm", names);
    const auto written = item.node().find("algorithm");
    if (written && written->scalar() == made.algorithm && !coll::make_algorithm(made.algorithm)->supports(made.call.kind)) {
      std::string able;
      for (const std::string& name : names) {
        if (coll::make_algorithm(name)->supports(made.call.kind)) able += (able.empty() ? "" : ", ") + name;
      }
      item.error("algorithm", fmt::format("'{}' does not run {}", made.algorithm, coll::to_string(made.call.kind)),
                 fmt::format("algorithms for {}: {}", coll::to_string(made.call.kind), able));
    }
    if (item.has("ranks")) {
      made.devices = read_ranks(item.raw("ranks"), topology, item.diagnostics());
    } else {
      made.devices = topology.endpoints();
    }
    if (!made.devices.empty() && static_cast<std::size_t>(made.call.root) >= made.devices.size()) {
      item.error("root", fmt::format("rank {} is not in a communicator of {} ranks", made.call.root, made.devices.size()));
    }
    const std::optional<ConfigNode> sizes = item.optional_raw("sizes");
    if (!by_pair && sizes) item.error("sizes", "only an alltoallv has a size for each pair");
    if (by_pair && sizes) {
      auto pairs = read_pair_sizes(*sizes, static_cast<int>(made.devices.size()), item.diagnostics());
      if (pairs != nullptr) made.call = coll::all_to_allv(std::move(pairs));
    } else if (by_pair) {
      item.error("kind", "an alltoallv needs 'sizes': a list of bytes to each rank for each rank, or a file of them");
    }
    item.finish();
    out.collectives.push_back(std::move(made));
  }
}

}  // namespace

std::vector<DeviceId> read_ranks(const ConfigNode& node, const net::Topology& topology, Diagnostics& diagnostics) {
  const std::vector<DeviceId>& all = topology.endpoints();
  std::vector<std::pair<std::string, ConfigNode>> names;
  const auto add_names = [&](const ConfigNode& item) {
    const net::NameRange range = net::expand_names(item.scalar(), all.size());
    if (!range.error.empty()) diagnostics.error(item.diagnostic(fmt::format("{}: {}", item.path(), range.error)));
    for (const std::string& name : range.names) names.emplace_back(name, item);
    return range.error.empty();
  };
  if (node.is_scalar() && (node.scalar().find("..") != std::string::npos || topology.find(node.scalar()))) {
    if (!add_names(node)) return {};
  } else if (node.is_scalar()) {
    if (node.scalar() == "all") return all;
    const auto count = parse_integer(node.scalar());
    if (!count) {
      diagnostics.error(node.diagnostic(
          fmt::format("{}: expected 'all', a number of ranks, a range such as 'h0..7' or a list of devices, got '{}'",
                      node.path(), node.scalar())));
      return {};
    }
    if (*count < 1 || static_cast<std::size_t>(*count) > all.size()) {
      diagnostics.error(
          node.diagnostic(fmt::format("{}: {} ranks do not fit this cluster, which has {}", node.path(), *count, all.size())));
      return {};
    }
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(*count)};
  }
  if (!node.is_scalar() && (!node.is_list() || node.size() == 0)) {
    diagnostics.error(node.diagnostic(
        fmt::format("{}: expected 'all', a number of ranks or a list of devices, got {}", node.path(), found_text(node))));
    return {};
  }
  for (std::size_t i = 0; node.is_list() && i < node.size(); ++i) {
    if (!node[i].is_scalar() || node[i].scalar().find("..") == std::string::npos) {
      names.emplace_back(node[i].scalar(), node[i]);
    } else if (!add_names(node[i])) {
      return {};
    }
  }
  std::vector<DeviceId> devices;
  std::set<DeviceId> seen;
  const std::set<DeviceId> known{all.begin(), all.end()};
  for (const auto& [name, item] : names) {
    const auto device = item.is_scalar() ? find_endpoint(name, topology) : std::nullopt;
    if (!device || !known.contains(*device)) {
      const std::string found = name == item.scalar() ? found_text(item) : fmt::format("'{}'", name);
      diagnostics.error(item.diagnostic(fmt::format("{}: no endpoint {}", item.path(), found), endpoint_note(name, topology)));
      return {};
    }
    if (!seen.insert(*device).second) {
      diagnostics.error(item.diagnostic(fmt::format("{}: '{}' holds a rank already", item.path(), topology.name(*device))));
      return {};
    }
    devices.push_back(*device);
  }
  return devices;
}

bool FlowOptions::is_endless() const {
  if (stop != Time::max()) return false;
  return unlimited || messages == std::numeric_limits<std::int64_t>::max();
}

double message_backlog(const FlowItem& flow, const FlowOptions& options, const net::Topology& topology,
                       std::optional<Time> until) {
  if (options.messages == 1 || options.unlimited) return 0;
  double link_bytes_per_ps = 0;
  for (const LinkId link : topology.out_links(flow.from)) link_bytes_per_ps += topology.spec(link).rate.bytes_per_ps();
  const double size = std::max(1.0, static_cast<double>(flow.bytes.count()));
  double gap_ps = static_cast<double>(options.every.ps());
  if (options.is_poisson()) {
    gap_ps = size / (options.load > 0 ? options.load * link_bytes_per_ps : options.rate.bytes_per_ps());
  }
  double posted = static_cast<double>(options.messages);
  const Time end = std::min(options.stop, until.value_or(Time::max()));
  const auto span_ps = static_cast<double>((end - flow.start).ps());
  if (gap_ps > 0) posted = std::min(posted, std::max(0.0, span_ps / gap_ps));
  return std::max(0.0, posted - posted * gap_ps * link_bytes_per_ps / size);
}

bool Workload::has_endless_flow() const {
  return std::ranges::any_of(flows, [&](const FlowItem& flow) { return options_of(flow).is_endless(); });
}

namespace {

// Keys of the kinds of work. A scenario has one of them; those of flows go together.
constexpr std::array<std::string_view, 10> kKinds{"model",      "training_jobs", "inference", "collectives", "flows",
                                                  "flows_file", "jobs",          "traffic",   "background",  "incast"};
constexpr std::size_t kFirstOfFlows = 4;

void check_alternatives(ParamReader& reader) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (!reader.has(kKinds[i])) continue;
    if (!first) first = i;
    if (*first == i || *first >= kFirstOfFlows) continue;
    // Where one file extends another, either may be the one to drop.
    const auto place = [&](std::size_t kind) {
      const auto stated = reader.node().find(kKinds[kind]);
      return stated ? stated->key_diagnostic({}).where : Location{};
    };
    const Location one = place(i);
    const Location other = place(*first);
    return reader.error(
        kKinds[i], fmt::format("'{}' and '{}' are alternatives, and both are stated", kKinds[i], kKinds[*first]),
        one.file == other.file
            ? fmt::format("'{}' stands in line {}; `{}: null` drops what the file has that this one extends", kKinds[*first],
                          other.line, kKinds[*first])
            : fmt::format(
                  "'{}' stands in {}:{}; `{}: null` or `{}: null` in the file that extends the other drops what that one has",
                  kKinds[*first], other.file, other.line, kKinds[i], kKinds[*first]));
  }
}

// A step then runs in the next wider format.
void warn_of_units(ParamReader& workload, const TrainingSetup& setup, const GpuSpec* gpu) {
  if (gpu == nullptr || !has_no_units(*gpu, setup.precision.compute)) return;
  const std::string_view wider = to_string(runs_as(*gpu, setup.precision.compute));
  workload.warning_here(
      fmt::format("{} has no units for {}: products run in {}", gpu->name, to_string(setup.precision.compute), wider),
      fmt::format("precision: {{compute: {}}} says the same", wider));
}

}  // namespace

Workload read_workload(const ConfigNode& node, const WorkloadContext& context, Diagnostics& diagnostics) {
  Workload workload;
  ParamReader reader{node, diagnostics};
  check_alternatives(reader);
  const std::vector<DeviceId>& endpoints = context.topology.endpoints();
  const GpuSpec* const gpu = endpoints.empty() ? nullptr : context.topology.gpu(endpoints.front());
  if (reader.has("model")) {
    workload.training = read_training(reader, context.topology.endpoints().size());
    warn_of_units(reader, *workload.training, gpu);
    workload.jitter = read_jitter(reader);
    reader.finish();
    return workload;
  }
  if (reader.has("training_jobs")) {
    workload.training_jobs = read_training_jobs(reader, context.topology.endpoints().size());
    for (const TrainingJob& job : workload.training_jobs) warn_of_units(reader, job.setup, gpu);
    reader.finish();
    return workload;
  }
  if (reader.has("inference")) {
    ParamReader inference = reader.map("inference");
    workload.inference = read_inference(inference, context.topology.endpoints().size(), gpu);
    reader.finish();
    return workload;
  }
  if (node.is_map() && std::ranges::none_of(kKinds, [&](std::string_view key) { return reader.has(key); })) {
    diagnostics.error(
        node.key_diagnostic(fmt::format("{}: expected 'model', 'training_jobs', 'inference', 'collectives', or any of 'flows', "
                                        "'flows_file', 'jobs', 'traffic', 'background' and "
                                        "'incast'",
                                        node.path())));
  }
  if (reader.has("collectives")) read_collectives(reader, context.topology, workload);
  if (reader.has("flows")) read_flows(reader, context, workload);
  if (reader.has("flows_file")) {
    const ConfigNode file = reader.raw("flows_file");
    try {
      read_flow_file(referenced_file(file), context.topology, diagnostics, workload);
    } catch (const ConfigError& error) {
      diagnostics.absorb(error);
    }
  }
  if (reader.has("jobs")) read_jobs(reader, context, workload);
  if (reader.has("traffic")) read_traffic(reader, context, workload);
  if (reader.has("background")) read_background(reader, context, workload);
  if (reader.has("incast")) read_incast(reader, context, workload);
  reader.finish();
  return workload;
}

}  // namespace weft::work
