#include "sim/measured/kinds/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <filesystem>
#include <optional>
#include <utility>

#include "sim/collectives/runner.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/measured/rank_placement.h"
#include "sim/network/machine.h"
#include "sim/scenario/collective_sweep.h"

namespace weft::measured {
namespace {

// Each once.
void add_note(std::vector<std::string>& notes, std::string note) {
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
}

// NCCL takes the calls of a group whose sizes are within four times each other together: it chooses algorithm and protocol for
// the sum of their bytes, and divides the channels among them by bytes (src/enqueue.cc, ncclPrepareTasks() and
// scheduleCollTasksToPlan(); 2.28.9). Sends and receives it does one after another.
bool as_one(const NcclTestsLog& log) {
  const auto kind = coll::collective_from(log.collective);
  using enum coll::Collective;
  return kind &&
         (*kind == kAllReduce || *kind == kAllGather || *kind == kReduceScatter || *kind == kBroadcast || *kind == kReduce);
}

void note_launch_mode(const NcclTestsLog& log, std::vector<std::string>& notes) {
  if (log.aggregated_iterations > 1 && !as_one(log))
    add_note(notes, fmt::format("aggregated calls of {} are predicted as single ones", log.collective));
  if (log.groups > 1) {
    add_note(notes, fmt::format("{} communicators side by side are predicted as one by itself", log.groups));
  }
}

coll::nccl::Settings settings_of(const net::Cluster& cluster, const Measurement& measurement, std::vector<std::string>& notes) {
  coll::nccl::Settings settings = scenario::nccl_settings(cluster, {});
  const std::string release = release_of(measurement.log);
  if (!release.empty() && !settings.find("VERSION")) settings.set("version", release);
  for (const auto& [key, value] : measurement.settings) settings.set_from_log(key, value);
  for (const char* key : {"MIN_NCHANNELS", "MAX_NCHANNELS"}) {
    const auto text = settings.find(key);
    if (text && !settings.integer(key)) add_note(notes, fmt::format("NCCL_{}={} is not understood, and left out", key, *text));
  }
  return settings;
}

// The call that a row timed; nothing, and a note, where it is not modelled.
std::optional<coll::CollectiveCall> call_of(const NcclTestsLog& log, const NcclTestsRow& row, std::vector<std::string>& notes) {
  const auto kind = coll::collective_from(log.collective);
  if (!kind) {
    add_note(notes, fmt::format("{} is not modelled", log.collective));
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
    add_note(notes, fmt::format("data type '{}' is not known", row.type));
    return std::nullopt;
  }
  if (coll::reduces(*kind)) {
    const auto reduction = coll::reduction_from(row.redop);
    if (!reduction && !row.redop.empty() && row.redop != "none")
      add_note(notes, fmt::format("reduction '{}' is not known, and taken for a sum", row.redop));
    call.reduction = reduction.value_or(coll::Reduction::kSum);
  }
  if (row.root >= log.ranks) {
    add_note(notes, fmt::format("root {} is not among {} ranks", row.root, log.ranks));
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

// One communicator of a log on a machine of its own, and what it was found to take so far: a log may hold the same call many
// times.
class CollectiveLog {
 public:
  CollectiveLog(const net::Cluster& cluster, const Measurement& measurement, const PredictOptions& options)
      : log_{measurement.log},
        observer_{options.observer},
        machine_{cluster.topology, cluster.routing, options.seed, options.shuffle_ties},
        runner_{machine_, cluster.profile, devices_of(cluster, measurement)},
        watch_{options.observer, options.rows_before, options.rows_total == 0 ? log_.rows.size() : options.rows_total} {
    note_launch_mode(log_, notes_);
    run_options_.grain = options.grain;
    run_options_.launches_per_thread = log_.gpus_per_thread;  // threads launch side by side
    run_options_.walked = walked(log_);
    run_options_.cuda_graph = log_.graph_launches > 0;
    run_options_.settings = settings_of(cluster, measurement, notes_);
    if (observer_ == nullptr) return;
    machine_.simulator.set_progress_hook(scenario::watch_hook, &watch_, 100'000);
    observer_->on_begin(machine_.simulator);
  }
  ~CollectiveLog() {
    if (observer_ != nullptr) observer_->on_end();
  }
  CollectiveLog(const CollectiveLog&) = delete;
  CollectiveLog& operator=(const CollectiveLog&) = delete;

  // Null where the row is not modelled, with a note, and after the user stopped the simulator.
  const coll::CollectiveResult* run(const NcclTestsRow& row) {
    const coll::CollectiveResult* result = result_of(row);
    if (stopped()) return nullptr;
    ++watch_.done;
    if (observer_ != nullptr) observer_->on_progress(machine_.simulator, watch_.done, watch_.total);
    return result;
  }

  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] bool stopped() const { return machine_.simulator.stopped(); }
  [[nodiscard]] net::Machine& machine() { return machine_; }

 private:
  struct Known {
    coll::CollectiveResult result;
    int iterations = 0;
    Duration launch;
    double slowdown = 1;
  };

  const coll::CollectiveResult* result_of(const NcclTestsRow& row) {
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
      const int together = as_one(log_) ? std::max(log_.aggregated_iterations, 1) : 1;
      coll::CollectiveCall all = *call;
      all.bytes = together * call->bytes;
      coll::CollectiveResult result = runner_.run(all, run_options_);
      if (machine_.simulator.stopped()) return nullptr;
      result.call = *call;
      result.sizes = coll::sizes_of(*call, log_.ranks);
      result.time = Duration::from_ps(result.time.ps() / together);
      for (const std::string& note : result.notes) add_note(notes_, note);
      return &known_.emplace_back(Known{std::move(result), run_options_.iterations, run_options_.launch, run_options_.slowdown})
                  .result;
    } catch (const ConfigError& error) {
      // A failure of one row (no route, no such algorithm) is a failure of all, and the machine may stand mid-call.
      add_note(notes_, error.diagnostics().front().message);
      failed_ = true;
      return nullptr;
    }
  }

  const NcclTestsLog& log_;
  std::vector<std::string> notes_;  // what is not modelled
  scenario::RunObserver* observer_;
  net::Machine machine_;
  coll::CollectiveRunner runner_;
  scenario::RunWatch watch_;
  coll::RunOptions run_options_;
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

// The point of a row, without its times.
ValidationPoint point_of_row(const Measurement& measurement, const NcclTestsRow& row) {
  const NcclTestsLog& log = measurement.log;
  ValidationPoint point;
  point.file = measurement.file;
  point.collective = log.collective;
  point.ranks = log.ranks;
  point.nodes = log.nodes;
  point.bytes = row.bytes;
  point.has_debug_output = log.has_debug_output;
  point.configuration = configuration_of(measurement);
  return point;
}

void take_result(const coll::CollectiveResult& result, ValidationPoint& point) {
  point.algorithm = result.choice.algorithm;
  point.protocol = result.choice.protocol;
  point.channels = result.choice.channels;
  point.predicted_us = result.time.us();
  point.algbw_gigabytes_per_second = result.algorithm_bandwidth_gbps();
  point.busbw_gigabytes_per_second = result.bus_bandwidth_gbps();
}

// A host that issues calls for more than this share of a loop's time is what the loop waits for.
constexpr double kHostBound = 0.9;

void take_timing(const NcclTestsLog& log, const NcclTestsRow& row, bool in_place, ValidationPoint& point) {
  point.in_place = in_place;
  point.measured_us = (in_place ? row.in_place : row.out_of_place)->time_us;
  point.is_cpu_time = log.is_cpu_time || row.host_us > kHostBound * point.measured_us;
}

// All rows of one run, whatever its collective and size, share an error; so do those of one of its communicators.
std::string name_of_run(const Measurement& measurement) {
  const NcclTestsLog& log = measurement.log;
  std::string run = fmt::format("{}|{}|{}|{}|{}", measurement.file, log.ranks, log.processes, log.threads, log.gpus_per_thread);
  for (const auto& [name, value] : measurement.settings) run += fmt::format("|{}={}", name, value);
  return run;
}

// The calls of one kind in one run, whatever collective and size, are off those of another run by one time; and those of one
// communicator off those of the next. Standard deviations; source: validate/communicators.py on 13 runs of 2 x H100 and 2 x
// H200 (validate/measured), of 33 and 45 degrees of freedom.
constexpr double kRunSdUs = 0.14;
constexpr double kCommunicatorSdUs = 0.10;

const std::string& collective_group(const ValidationPoint& point) {
  return point.collective.empty() ? point.kind : point.collective;
}

// Nothing is launched for 0 bytes.
Exclusion collective_exclusion(const ValidationPoint& point) {
  return point.bytes == Bytes{} ? Exclusion::kZeroBytes : Exclusion::kNone;
}

}  // namespace

const PointKind collective_kind{.name = "collective", .group = collective_group, .exclusion = collective_exclusion};

std::string release_of(const NcclTestsLog& log) {
  if (log.library_version.find('.') != std::string::npos) return log.library_version;
  int code = 0;  // major * 10000 + minor * 100 + patch, since 2.9
  const char* end = log.library_version.data() + log.library_version.size();
  if (std::from_chars(log.library_version.data(), end, code).ptr != end || code < 21800) return {};
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

std::string digest_of(const NcclTestsLog& log) { return fmt::format("{:016x}", log.digest()); }

Predictions predict(const net::Cluster& cluster, const Measurement& measurement, const PredictOptions& options) {
  const NcclTestsLog& log = measurement.log;
  Predictions predictions;
  if (log.rows.empty()) return predictions;
  CollectiveLog run{cluster, measurement, options};
  const std::string log_digest = digest_of(log);
  Digest digest;
  for (const NcclTestsRow& row : log.rows) {
    const coll::CollectiveResult* result = run.run(row);
    if (run.stopped()) {
      predictions.interrupted = true;
      break;
    }
    ValidationPoint point = point_of_row(measurement, row);
    point.training = cluster.profile.trained_on(log_digest, log.collective, log.ranks, row.bytes);
    if (result != nullptr) {
      digest.add(row.bytes).add(result->digest).add(result->time);
      take_result(*result, point);
    }
    for (const bool in_place : {false, true}) {
      if (!(in_place ? row.in_place : row.out_of_place)) continue;
      take_timing(log, row, in_place, point);
      predictions.points.push_back(point);
    }
  }
  predictions.notes = run.notes();
  predictions.digest = digest.value();
  predictions.events = run.machine().simulator.events();
  predictions.transfers = run.machine().fabric.totals().posted;
  return predictions;
}

std::vector<Sample> samples_of(const Measurement& measurement, const std::string& digest, const PredictOptions& options,
                               std::vector<std::string>& notes) {
  const NcclTestsLog& log = measurement.log;
  const std::string run = name_of_run(measurement);
  const bool is_whole = digest == digest_of(log);
  std::vector<Sample> samples;
  for (const NcclTestsRow& row : log.rows) {
    Sample& sample = samples.emplace_back();
    sample.point = point_of_row(measurement, row);
    take_timing(log, row, false, sample.point);
    sample.point.training = is_whole;  // tables mark logs that train as a whole
    sample.training = {.file = std::filesystem::path{measurement.file}.filename().string(),
                       .digest = digest,
                       .collective = log.collective,
                       .ranks = log.ranks,
                       .bytes = {row.bytes}};
    sample.shared = {{run, kRunSdUs / sample.point.measured_us},
                     {fmt::format("{}|{}", run, row.communicator), kCommunicatorSdUs / sample.point.measured_us}};
    sample.predict = [&measurement, &row, options, &notes](Trial& trial, ValidationPoint& point) {
      CollectiveLog& predicted = trial.shared<CollectiveLog>(
          &measurement, [&] { return std::make_shared<CollectiveLog>(trial.cluster(), measurement, options); });
      const coll::CollectiveResult* result = predicted.run(row);
      if (predicted.stopped()) return false;
      for (const std::string& note : predicted.notes()) add_note(notes, note);
      if (result == nullptr) {
        throw ConfigError(fmt::format("{}: {} of {} is not predicted: {}", point.file, point.collective, to_string(point.bytes),
                                      fmt::join(predicted.notes(), "; ")));
      }
      take_result(*result, point);
      return true;
    };
  }
  return samples;
}

}  // namespace weft::measured
