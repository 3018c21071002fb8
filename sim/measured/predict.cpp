#include "sim/measured/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/collectives/runner.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/words.h"
#include "sim/scenario/collective_sweep.h"
#include "sim/scenario/os_hosts.h"

namespace weft::measured {
namespace {

// "0000:00:06" and "0000:00:06.0" are one; "0x07", as older versions print, is the bus alone ("0000:07:00.0").
bool is_same_bus_id(std::string_view printed, std::string_view label) {
  if (printed.empty() || label.empty()) return false;
  if (printed.starts_with("0x")) {
    const std::size_t first = label.find(':');
    const std::size_t second = label.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) return false;
    const std::string_view bus = label.substr(first + 1, second - first - 1);
    unsigned a = 0;
    unsigned b = 0;
    const auto read_a = std::from_chars(printed.data() + 2, printed.data() + printed.size(), a, 16);
    const auto read_b = std::from_chars(bus.data(), bus.data() + bus.size(), b, 16);
    return read_a.ec == std::errc{} && read_b.ec == std::errc{} && a == b;
  }
  const std::string a = lower_case(printed);
  const std::string b = lower_case(label);
  return a == b || (b.starts_with(a) && b.substr(a.size()).starts_with('.')) ||
         (a.starts_with(b) && a.substr(b.size()).starts_with('.'));
}

// The one of `devices` with this bus id; none, or several: nothing.
std::optional<DeviceId> find_by_bus_id(const net::Topology& topology, const std::vector<DeviceId>& devices,
                                       std::string_view printed) {
  std::optional<DeviceId> found;
  for (const DeviceId device : devices) {
    if (!is_same_bus_id(printed, net::label_of(topology.labels(device), "bus_id"))) continue;
    if (found) return std::nullopt;
    found = device;
  }
  return found;
}

// The ranks of one communicator as the log lists them, by rank; empty where it does not list them all.
std::vector<NcclTestsDevice> listed_ranks(const NcclTestsLog& log) {
  std::vector<NcclTestsDevice> listed;
  for (const NcclTestsDevice& device : log.devices) {
    if (device.group == 0) listed.push_back(device);
  }
  std::ranges::sort(listed, {}, &NcclTestsDevice::rank);
  if (listed.size() != static_cast<std::size_t>(log.ranks)) return {};
  return listed;
}

// By host and bus id, or by host and order; empty where the log's hosts do not fit the cluster's.
std::vector<DeviceId> placed_by_host(const net::Topology& topology, const std::vector<NcclTestsDevice>& listed) {
  std::vector<std::string> hosts;  // in order of appearance: host i of the log is host i of the cluster
  std::vector<std::size_t> host_of_rank;
  for (const NcclTestsDevice& device : listed) {
    const auto known = std::ranges::find(hosts, device.host);
    host_of_rank.push_back(static_cast<std::size_t>(known - hosts.begin()));
    if (known == hosts.end()) hosts.push_back(device.host);
  }
  const std::vector<std::vector<DeviceId>> of_host = scenario::endpoints_by_os_host(topology);
  if (hosts.size() > of_host.size()) return {};

  std::vector<DeviceId> by_bus_id;
  for (std::size_t rank = 0; rank < listed.size(); ++rank) {
    const auto device = find_by_bus_id(topology, of_host[host_of_rank[rank]], listed[rank].bus_id);
    if (!device || std::ranges::find(by_bus_id, *device) != by_bus_id.end()) break;
    by_bus_id.push_back(*device);
  }
  if (by_bus_id.size() == listed.size()) return by_bus_id;

  std::vector<DeviceId> by_order;
  std::vector<std::size_t> taken(hosts.size());
  for (const std::size_t host : host_of_rank) {
    if (taken[host] == of_host[host].size()) return {};
    by_order.push_back(of_host[host][taken[host]++]);
  }
  return by_order;
}

ConfigError about_log(const Measurement& measurement, std::string message) {
  return ConfigError(std::vector<Diagnostic>{
      {.where = {measurement.file, 0, 0}, .message = std::move(message), .source_line = {}, .length = 1, .note = {}}});
}

class Notes {
 public:
  void add(std::string note) {
    if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(std::move(note));
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(notes_); }

 private:
  std::vector<std::string> notes_;
};

void note_launch_mode(const NcclTestsLog& log, Notes& notes) {
  if (log.aggregated_iterations > 1) notes.add("aggregated calls are not modelled yet: predicted as single ones");
  if (log.groups > 1) {
    notes.add(fmt::format("{} communicators side by side are predicted as one by itself", log.groups));
  }
}

coll::nccl::Settings settings_of(const net::Cluster& cluster, const Measurement& measurement, Notes& notes) {
  coll::nccl::Settings settings = scenario::nccl_settings(cluster, {});
  const std::string release = release_of(measurement.log);
  if (!release.empty() && !settings.find("VERSION")) settings.set("version", release);
  for (const auto& [key, value] : measurement.settings) settings.set_from_log(key, value);
  for (const char* key : {"MIN_NCHANNELS", "MAX_NCHANNELS"}) {
    const auto text = settings.find(key);
    if (text && !settings.integer(key)) notes.add(fmt::format("NCCL_{}={} is not understood, and left out", key, *text));
  }
  return settings;
}

// The call that a row timed; nothing, and a note, where it is not modelled.
std::optional<coll::CollectiveCall> call_of(const NcclTestsLog& log, const NcclTestsRow& row, Notes& notes) {
  const auto kind = coll::collective_from(log.collective);
  if (!kind) {
    notes.add(fmt::format("{} is not modelled", log.collective));
    return std::nullopt;
  }
  // NCCL returns at once: nothing is launched.
  if (row.bytes == Bytes{}) return std::nullopt;
  coll::CollectiveCall call{.kind = *kind, .bytes = row.bytes, .element_size = 4, .root = 0};
  try {
    const scenario::DataType type = scenario::data_type(row.type);
    call.element_size = type.bytes;
    call.numbers = type.numbers;
  } catch (const ConfigError&) {
    notes.add(fmt::format("data type '{}' is not known", row.type));
    return std::nullopt;
  }
  if (coll::reduces(*kind)) {
    const auto reduction = coll::reduction_from(row.redop);
    if (!reduction && !row.redop.empty() && row.redop != "none")
      notes.add(fmt::format("reduction '{}' is not known, and taken for a sum", row.redop));
    call.reduction = reduction.value_or(coll::Reduction::kSum);
  }
  if (row.root >= log.ranks) {
    notes.add(fmt::format("root {} is not among {} ranks", row.root, log.ranks));
    return std::nullopt;
  }
  if (row.root >= 0) call.root = row.root;
  // nccl-tests prints the size after cutting shares to whole units of 16 bytes; other programs do not cut, and a few bytes each
  // take as long as one unit.
  constexpr std::int64_t kUnit = 16;
  if (coll::sizes_of(call, log.ranks).count == 0) call.bytes = Bytes{kUnit * log.ranks};
  return call;
}

// Returns the input and output that the calls of a log's loop walk through.
Bytes walked(const NcclTestsLog& log) {
  if (log.same_buffers) return {};
  return log.max_bytes > Bytes{} ? 2 * log.max_bytes : coll::RunOptions::kMemory;
}

bool same_call(const coll::CollectiveCall& a, const coll::CollectiveCall& b) {
  return a.bytes == b.bytes && a.element_size == b.element_size && a.numbers == b.numbers && a.reduction == b.reduction &&
         a.root == b.root;
}

// One communicator of a log, and what it was found to take so far: a log may hold the same call many times.
class LogRun {
 public:
  LogRun(const net::Cluster& cluster, const Measurement& measurement, const PredictOptions& options, Notes& notes)
      : log_{measurement.log},
        notes_{notes},
        machine_{cluster.topology, cluster.routing, options.seed, options.shuffle_ties},
        runner_{machine_, cluster.profile, devices_of(cluster, measurement)} {
    run_options_.grain = options.grain;
    run_options_.launches_per_thread = log_.gpus_per_thread;  // threads launch side by side
    run_options_.walked = walked(log_);
    run_options_.cuda_graph = log_.graph_launches > 0;
    run_options_.settings = settings_of(cluster, measurement, notes);
  }

  // Null where the row is not modelled, with a note, and after the user stopped the simulator.
  const coll::CollectiveResult* run(const NcclTestsRow& row) {
    const std::optional<coll::CollectiveCall> call = call_of(log_, row, notes_);
    if (!call) return nullptr;
    run_options_.iterations = std::max(row.iterations > 0 ? row.iterations : log_.iterations, 1);
    run_options_.slowdown = row.slowdown;
    run_options_.launch = Duration::from_ns(std::llround(row.host_us * 1e3 / std::max(log_.gpus_per_thread, 1)));
    const auto known = std::ranges::find_if(known_, [&](const Known& k) {
      return same_call(k.result.call, *call) && k.iterations == run_options_.iterations && k.launch == run_options_.launch &&
             k.slowdown == run_options_.slowdown;
    });
    if (known != known_.end()) return &known->result;
    if (failed_) return nullptr;
    try {
      coll::CollectiveResult result = runner_.run(*call, run_options_);
      if (machine_.simulator.stopped()) return nullptr;
      for (const std::string& note : result.notes) notes_.add(note);
      return &known_.emplace_back(Known{std::move(result), run_options_.iterations, run_options_.launch, run_options_.slowdown})
                  .result;
    } catch (const ConfigError& error) {
      // A failure of one row (no route, no such algorithm) is a failure of all, and the machine may stand mid-call.
      notes_.add(error.diagnostics().front().message);
      failed_ = true;
      return nullptr;
    }
  }

  [[nodiscard]] net::Machine& machine() { return machine_; }

 private:
  const NcclTestsLog& log_;
  Notes& notes_;
  net::Machine machine_;
  coll::CollectiveRunner runner_;
  coll::RunOptions run_options_;
  struct Known {
    coll::CollectiveResult result;
    int iterations = 0;
    Duration launch;
    double slowdown = 1;
  };
  bool failed_ = false;
  std::deque<Known> known_;
};

// "ALGO=Ring PROTO=LL128, -t 4 -g 1, graph": what sets logs of one collective apart.
std::string configuration_of(const Measurement& measurement) {
  const NcclTestsLog& log = measurement.log;
  std::string text;
  for (const auto& [key, value] : measurement.settings) {
    constexpr std::string_view kUntold[] = {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_NVLS_ENABLE", "NCCL_VERSION"};
    if (std::ranges::find(kUntold, key) != std::end(kUntold)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key.starts_with("NCCL_") ? key.substr(5) : key, value);
  }
  const int threads = std::max(log.threads, 1);
  const std::string layout = log.processes > 1 ? fmt::format("{} processes", log.processes)
                             : threads > 1     ? fmt::format("{} threads", threads)
                                               : std::string{"one thread"};
  return fmt::format("{}{}{}{}", text, text.empty() ? "" : ", ", layout, log.graph_launches > 0 ? ", CUDA graph" : "");
}

// A host that issues calls for more than this share of a loop's time is what the loop waits for.
constexpr double kHostBound = 0.9;

void add_points(const Measurement& measurement, const NcclTestsRow& row, const coll::CollectiveResult* result, bool training,
                std::vector<ValidationPoint>& points) {
  const NcclTestsLog& log = measurement.log;
  ValidationPoint point;
  point.file = measurement.file;
  point.collective = log.collective;
  point.ranks = log.ranks;
  point.nodes = log.nodes;
  point.bytes = row.bytes;
  point.training = training;
  point.has_debug_output = log.has_debug_output;
  point.configuration = configuration_of(measurement);
  if (result != nullptr) {
    point.algorithm = result->choice.algorithm;
    point.protocol = result->choice.protocol;
    point.channels = result->choice.channels;
    point.predicted_us = result->time.us();
    point.algbw_gigabytes_per_second = result->algorithm_bandwidth_gbps();
    point.busbw_gigabytes_per_second = result->bus_bandwidth_gbps();
  }
  const auto add = [&](const NcclTestsTiming& timing, bool in_place) {
    point.in_place = in_place;
    point.measured_us = timing.time_us;
    point.is_cpu_time = log.is_cpu_time || row.host_us > kHostBound * timing.time_us;
    points.push_back(point);
  };
  if (row.out_of_place) add(*row.out_of_place, false);
  if (row.in_place) add(*row.in_place, true);
}

}  // namespace

std::string release_of(const NcclTestsLog& log) {
  if (log.library_version.find('.') != std::string::npos) return log.library_version;
  int code = 0;  // major * 10000 + minor * 100 + patch, since 2.9
  const char* end = log.library_version.data() + log.library_version.size();
  if (std::from_chars(log.library_version.data(), end, code).ptr != end || code < 21800) return {};
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

std::string digest_of(const NcclTestsLog& log) { return fmt::format("{:016x}", log.digest()); }

std::vector<DeviceId> devices_of(const net::Cluster& cluster, const Measurement& measurement) {
  const NcclTestsLog& log = measurement.log;
  const std::vector<DeviceId>& endpoints = cluster.topology.endpoints();
  const auto ranks = static_cast<std::size_t>(std::max(log.ranks, 0));
  if (ranks == 0) throw about_log(measurement, "the log does not say how many ranks took part");
  if (ranks > endpoints.size()) {
    throw about_log(measurement,
                    fmt::format("{} ranks took part, but cluster '{}' has {}", ranks, cluster.name, endpoints.size()));
  }
  const std::vector<NcclTestsDevice> listed = listed_ranks(log);
  if (!listed.empty()) {
    std::vector<DeviceId> placed = placed_by_host(cluster.topology, listed);
    if (!placed.empty()) return placed;
  }
  if (log.nodes > 1) {
    throw about_log(measurement, fmt::format("its {} ranks on {} nodes do not fit cluster '{}' of {} nodes", ranks, log.nodes,
                                             cluster.name, cluster.topology.host_count()));
  }
  return {endpoints.begin(), endpoints.begin() + static_cast<std::ptrdiff_t>(ranks)};
}

Predictions predict(const net::Cluster& cluster, const Measurement& measurement, const PredictOptions& options) {
  const NcclTestsLog& log = measurement.log;
  Predictions predictions;
  if (log.rows.empty()) return predictions;
  Notes notes;
  note_launch_mode(log, notes);
  LogRun run{cluster, measurement, options, notes};
  Simulator& simulator = run.machine().simulator;
  scenario::RunWatch watch{options.observer, options.rows_before,
                           options.rows_total == 0 ? log.rows.size() : options.rows_total};
  if (options.observer != nullptr) {
    simulator.set_progress_hook(scenario::watch_hook, &watch, 100'000);
    options.observer->on_begin(simulator);
  }
  const std::string log_digest = digest_of(log);
  Digest digest;
  for (const NcclTestsRow& row : log.rows) {
    const coll::CollectiveResult* result = run.run(row);
    if (simulator.stopped()) {
      predictions.interrupted = true;
      break;
    }
    if (result != nullptr) digest.add(row.bytes).add(result->digest).add(result->time);
    const bool training = cluster.profile.trained_on(log_digest, log.collective, log.ranks, row.bytes);
    add_points(measurement, row, result, training, predictions.points);
    ++watch.done;
    if (options.observer != nullptr) options.observer->on_progress(simulator, watch.done, watch.total);
  }
  if (options.observer != nullptr) options.observer->on_end();
  predictions.notes = notes.take();
  predictions.digest = digest.value();
  predictions.events = simulator.events();
  predictions.transfers = run.machine().fabric.totals().posted;
  return predictions;
}

}  // namespace weft::measured
