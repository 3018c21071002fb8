#include "sim/scenario/collective_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/words.h"
#include "sim/scenario/link_use.h"
#include "sim/scenario/packet_part.h"
#include "sim/scenario/packets_only.h"

namespace weft::scenario {
namespace {

constexpr std::array<DataType, 12> kDataTypes{{{"int8", 1, coll::Numbers::kInteger},
                                               {"uint8", 1, coll::Numbers::kInteger},
                                               {"int32", 4, coll::Numbers::kInteger},
                                               {"uint32", 4, coll::Numbers::kInteger},
                                               {"int64", 8, coll::Numbers::kInteger},
                                               {"uint64", 8, coll::Numbers::kInteger},
                                               {"half", 2},
                                               {"float", 4},
                                               {"double", 8},
                                               {"bfloat16", 2},
                                               {"f8e4m3", 1},
                                               {"f8e5m2", 1}}};

constexpr std::array kSweptKinds{coll::Collective::kAllReduce, coll::Collective::kAllGather, coll::Collective::kReduceScatter,
                                 coll::Collective::kBroadcast, coll::Collective::kReduce,    coll::Collective::kAllToAll,
                                 coll::Collective::kSendRecv,  coll::Collective::kGather,    coll::Collective::kScatter};

ConfigError unknown(std::string_view what, std::string_view name, const std::vector<std::string>& choices) {
  return ConfigError{std::vector<Diagnostic>{{.where = {},
                                              .message = fmt::format("unknown {} '{}'", what, name),
                                              .source_line = {},
                                              .length = 1,
                                              .note = did_you_mean(name, choices, "choices")}}};
}

// Endpoints of the first `count` hosts, by host. Endpoints are in host order.
std::vector<std::vector<DeviceId>> endpoints_by_host(const net::Topology& topology, int count) {
  std::vector<std::vector<DeviceId>> hosts(static_cast<std::size_t>(count));
  for (const DeviceId device : topology.endpoints()) {
    const std::int32_t host = topology.host_of(device);
    if (host >= 0 && host < count) hosts[static_cast<std::size_t>(host)].push_back(device);
  }
  return hosts;
}

}  // namespace

DataType data_type(std::string_view name) {
  std::vector<std::string> names;
  for (const DataType& type : kDataTypes) {
    if (type.name == name) return type;
    names.emplace_back(type.name);
  }
  throw unknown("data type", name, names);
}

std::string_view type_name_of(std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return "int8";
    case 2:
      return "half";
    case 4:
      return "float";
    case 8:
      return "double";
    default:
      return "opaque";
  }
}

std::string_view redop_of(const coll::CollectiveCall& call) {
  return coll::reduces(call.kind) || call.kind == coll::Collective::kSendRecv ? coll::to_string(call.reduction) : "none";
}

coll::Reduction reduction_named(std::string_view name) {
  if (const auto reduction = coll::reduction_from(name)) return *reduction;
  const auto names = coll::reduction_names();
  throw unknown("reduction", name, {names.begin(), names.end()});
}

bool has_root(coll::Collective kind) {
  return kind == coll::Collective::kBroadcast || kind == coll::Collective::kReduce || kind == coll::Collective::kGather ||
         kind == coll::Collective::kScatter;
}

std::string nccl_tests_collective_name(std::string_view name) {
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  if (name.ends_with("_perf")) name.remove_suffix(5);
  const std::string folded = folded_name(name);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kNames{{{"allreduce", "all_reduce"},
                                                                                         {"allgather", "all_gather"},
                                                                                         {"reducescatter", "reduce_scatter"},
                                                                                         {"broadcast", "broadcast"},
                                                                                         {"reduce", "reduce"},
                                                                                         {"alltoall", "alltoall"},
                                                                                         {"sendrecv", "sendrecv"},
                                                                                         {"gather", "gather"},
                                                                                         {"scatter", "scatter"},
                                                                                         {"hypercube", "hypercube"}}};
  for (const auto& [key, result] : kNames) {
    if (folded == key) return std::string{result};
  }
  return {};
}

coll::Collective collective_named(std::string_view name) {
  if (const auto kind = coll::collective_from(nccl_tests_collective_name(name))) return *kind;
  std::vector<std::string> names;
  for (const coll::Collective kind : kSweptKinds) names.emplace_back(coll::to_string(kind));
  throw unknown("collective", name, names);
}

std::vector<Bytes> sweep_sizes(const SizeRange& range) {
  if (range.min < Bytes{0}) throw ConfigError("sizes: expected 0 bytes or more");
  if (range.max < range.min) {
    throw ConfigError(
        fmt::format("sizes: the largest ({}) is below the smallest ({})", to_string(range.max), to_string(range.min)));
  }
  if (range.step == Bytes{} && range.factor < 2)
    throw ConfigError(fmt::format("sizes: expected a factor of 2 or more, got {}", range.factor));
  if (range.step != Bytes{} && (range.max - range.min) / range.step >= kMaxSizes) {
    throw ConfigError(fmt::format("sizes: steps of {} from {} to {} make more than {} sizes", to_string(range.step),
                                  to_string(range.min), to_string(range.max), kMaxSizes));
  }
  std::vector<Bytes> sizes{range.min};
  if (range.step == Bytes{} && range.min == Bytes{} && range.max > Bytes{}) {
    throw ConfigError("sizes: a factor never leaves 0 bytes; begin above it, or grow by a step");
  }
  while (true) {
    const Bytes last = sizes.back();
    // Written so that the largest size a number can hold is no trap.
    if (range.step != Bytes{}) {
      if (range.max - last < range.step) return sizes;
      sizes.push_back(last + range.step);
    } else {
      if (last == Bytes{} || range.max / last < range.factor) return sizes;
      sizes.push_back(range.factor * last);
    }
  }
}

Participants participants(const net::Topology& topology, const ParticipantOptions& options) {
  const bool is_process = options.threads || options.gpus_per_thread;
  const auto hosts = static_cast<int>(topology.host_count());
  const int nodes = options.nodes.value_or(is_process ? 1 : hosts);
  if (nodes < 1) throw ConfigError(fmt::format("--nodes: expected 1 or more, got {}", nodes));
  if (nodes > hosts) {
    throw ConfigError(
        fmt::format("--nodes: {} are asked for, but the cluster has {}; --set nodes={} makes it larger", nodes, hosts, nodes));
  }
  Participants who;
  who.nodes = nodes;
  const std::vector<std::vector<DeviceId>> by_host = endpoints_by_host(topology, nodes);
  if (!is_process) {
    for (const std::vector<DeviceId>& devices : by_host) who.devices.insert(who.devices.end(), devices.begin(), devices.end());
    who.processes = static_cast<int>(who.devices.size());
    if (who.devices.empty()) throw ConfigError("the cluster has nothing that could hold a rank");
    return who;
  }
  who.threads = options.threads.value_or(1);
  who.gpus_per_thread = options.gpus_per_thread.value_or(1);
  who.processes = nodes;
  if (who.threads < 1) throw ConfigError(fmt::format("-t: expected 1 thread or more, got {}", who.threads));
  if (who.gpus_per_thread < 1) throw ConfigError(fmt::format("-g: expected 1 GPU or more, got {}", who.gpus_per_thread));
  const std::int64_t wanted = std::int64_t{who.threads} * who.gpus_per_thread;
  for (std::size_t host = 0; host < by_host.size(); ++host) {
    const std::vector<DeviceId>& devices = by_host[host];
    if (static_cast<std::int64_t>(devices.size()) < wanted) {
      throw ConfigError(fmt::format("-t {} -g {}: a process of {} GPUs does not fit node {}, which has {}", who.threads,
                                    who.gpus_per_thread, wanted, host, devices.size()));
    }
    who.devices.insert(who.devices.end(), devices.begin(), devices.begin() + wanted);
  }
  return who;
}

double SweepResult::mean_bus_bandwidth_gbps() const {
  double sum = 0;
  for (const coll::CollectiveResult& point : points) sum += point.bus_bandwidth_gbps();
  return points.empty() ? 0.0 : sum / static_cast<double>(points.size());
}

SweepResult run_sweep(const CollectiveSweep& sweep, RunObserver* observer,
                      const std::function<void(const coll::CollectiveResult&)>& on_point) {
  SweepResult result;
  if (std::string note = ignored_note(sweep.fidelity, packets_only(sweep.cluster)); !note.empty()) {
    result.notes.push_back(std::move(note));
  }
  const auto wall_begin = std::chrono::steady_clock::now();
  net::Machine machine{sweep.cluster.topology,
                       sweep.cluster.routing,
                       sweep.seed,
                       sweep.shuffle_ties,
                       {.fidelity = sweep.fidelity,
                        .packet = &sweep.cluster.packet,
                        .packet_links = links_between_hosts(sweep.cluster.topology)}};
  RunWatch watch{observer, 0, sweep.sizes.size()};
  if (observer != nullptr) {
    machine.simulator.set_progress_hook(watch_hook, &watch, 100'000);
    observer->on_begin(machine.simulator);
  }
  coll::CollectiveRunner runner{machine, sweep.cluster.profile, sweep.participants.devices};
  coll::RunOptions options = sweep.options;
  options.launches_per_thread = sweep.participants.gpus_per_thread;
  options.walked = coll::RunOptions::kMemory;

  Digest digest;
  for (const Bytes size : sweep.sizes) {
    if (machine.simulator.stopped()) break;
    coll::CollectiveCall call = sweep.call;
    call.bytes = size;
    coll::CollectiveResult point = runner.run(call, options);
    // A point that a signal cut short is no result.
    if (machine.simulator.stopped()) break;
    digest.add(point.sizes.reported).add(point.digest).add(point.time);
    for (const std::string& note : point.notes) {
      if (std::ranges::find(result.notes, note) == result.notes.end()) result.notes.push_back(note);
    }
    on_point(point);
    result.points.push_back(std::move(point));
    ++watch.done;
    if (observer != nullptr) observer->on_progress(machine.simulator, watch.done, watch.total);
  }
  result.hybrid = machine.fabric.division();
  if (result.hybrid) result.notes.push_back(hybrid_note(*result.hybrid));
  static_cast<RunStats&>(result) = run_stats(machine, digest);
  result.interrupted = result.points.size() < sweep.sizes.size();
  result.simulated = machine.simulator.now() - Time{};
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_begin).count();
  if (observer != nullptr) observer->on_end();
  return result;
}

}  // namespace weft::scenario
