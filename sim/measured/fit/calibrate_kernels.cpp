#include "sim/measured/fit/calibrate_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/parameter_scale.h"
#include "sim/core/portable_math.h"
#include "sim/core/version.h"
#include "sim/measured/fit/robust_fit.h"
#include "sim/measured/point_models.h"
#include "sim/workloads/kernels/contention.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::measured {
namespace {

using work::Kernel;
using work::KernelClass;
using work::KernelKind;

// A measured number, and what the rules make of it under a profile.
struct Sample {
  const KernelLog* log = nullptr;
  std::string kind;
  std::string what;  // "gemm 2048 x 4096 x 4096"
  Bytes bytes;
  double measured = 0;
  std::function<double(const Profile&)> predicted;
};

double alone_us(const KernelLog& log, const Profile& profile, const Kernel& kernel) {
  return work::KernelTimes{work::gpu_spec(log.gpu), profile}.alone(kernel).seconds() * 1e6;
}

std::string description_of(const Kernel& kernel) {
  const std::string kind{to_string(kernel.kind)};
  if (kernel.kind == KernelKind::kGemm) {
    return fmt::format("{} {}{} x {} x {}", kind, kernel.batch > 1 ? fmt::format("{} x ", kernel.batch) : "", kernel.m,
                       kernel.n, kernel.k);
  }
  if (work::class_of(kernel.kind) == KernelClass::kAttention)
    return fmt::format("{} {} x {} x {}", kind, kernel.batch, kernel.n, kernel.k);
  if (kernel.kind == KernelKind::kStrided) return fmt::format("{} {}", kind, to_string(kernel.strided));
  return kernel.mostly_zero ? kind + " mostly_zero" : kind;
}

// Returns what bf16 tensors of the kernel's shape hold, where its row gives no size. Reports show this size.
Bytes bytes_of(const Kernel& kernel) {
  if (kernel.bytes > 0) return Bytes{std::llround(kernel.bytes)};
  if (kernel.elements > 0) return Bytes{std::llround(2 * kernel.elements)};
  const auto m = static_cast<double>(kernel.m);
  const auto n = static_cast<double>(kernel.n);
  const auto k = static_cast<double>(kernel.k);
  return Bytes{std::llround(std::min(2 * static_cast<double>(kernel.batch) * (m * k + k * n + m * n), 9e18))};
}

Sample sample_of(const KernelLog& log, const KernelRow& row) {
  Sample sample;
  sample.log = &log;
  sample.kind = to_string(work::class_of(row.kernel.kind));
  sample.what = description_of(row.kernel);
  sample.bytes = bytes_of(row.kernel);
  sample.measured = row.us.value_or(0);
  sample.predicted = [&log, kernel = row.kernel](const Profile& profile) { return alone_us(log, profile, kernel); };
  return sample;
}

using Wanted = std::function<bool(const Kernel&)>;

std::vector<Sample> kernels_alone(const std::vector<KernelLog>& logs, const Wanted& wanted) {
  std::vector<Sample> samples;
  for (const KernelLog& log : logs) {
    for (const KernelRow& row : log.kernels) {
      if (row.us && *row.us > 0 && wanted(row.kernel)) samples.push_back(sample_of(log, row));
    }
  }
  return samples;
}

// Times beside a collective over times alone. GEMMs that split statically follow a rule without parameters, and kernels shorter
// than this are launched while the collective starts.
constexpr double kShortestBesideUs = 10;

std::vector<Sample> kernels_beside(const std::vector<KernelLog>& logs, const Profile& fitted) {
  std::vector<Sample> samples;
  for (const KernelLog& log : logs) {
    const work::KernelTimes times{work::gpu_spec(log.gpu), fitted};
    for (const KernelRow& row : log.kernels) {
      if (!row.beside_us || *row.beside_us < kShortestBesideUs || times.splits_statically(row.kernel)) continue;
      Sample sample = sample_of(log, row);
      sample.kind = "contention";
      sample.measured = *row.beside_us / row.us.value_or(times.alone(row.kernel).seconds() * 1e6);
      sample.predicted = [kernel_class = work::class_of(row.kernel.kind), ctas = row.beside_ctas](const Profile& profile) {
        return work::slowdown_beside(profile.get(work::contention_costs), kernel_class, ctas);
      };
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

std::vector<Sample> gaps(const std::vector<KernelLog>& logs) {
  std::vector<Sample> samples;
  for (const KernelLog& log : logs) {
    for (const double us : log.gaps_us) {
      samples.push_back(
          {.log = &log, .kind = "gap", .what = "gap", .bytes = {}, .measured = us, .predicted = [&log](const Profile& p) {
             return work::KernelTimes{work::gpu_spec(log.gpu), p}.gap().seconds() * 1e6;
           }});
    }
  }
  return samples;
}

// Slow-downs of steps, and of GEMMs in a row of nothing else, which are a step of GEMMs alone.
std::vector<Sample> clocks(const std::vector<KernelLog>& logs, const Profile& fitted) {
  std::vector<Sample> samples;
  const auto add = [&](const KernelLog& log, std::string what, double slowdown, work::StepLoad load) {
    samples.push_back({.log = &log,
                       .kind = "clock",
                       .what = std::move(what),
                       .bytes = {},
                       .measured = slowdown,
                       .predicted = [load](const Profile& profile) {
                         return work::clock_slowdown(profile.get(work::clock_rule), load).compute;
                       }});
  };
  for (const KernelLog& log : logs) {
    for (const ClockRow& row : log.clocks) add(log, "step", row.slowdown, row.load);
    for (const KernelRow& row : log.kernels) {
      if (!row.sustained_us) continue;
      add(log, description_of(row.kernel), *row.sustained_us / alone_us(log, fitted, row.kernel), {.compute_share = 1});
    }
  }
  return samples;
}

// By copy engine, as far as they are predicted.
std::vector<Sample> copies(const std::vector<KernelLog>& logs, const net::Cluster& cluster) {
  std::vector<Sample> samples;
  for (const KernelLog& log : logs) {
    for (const MeasuredPoint& point : log.copies) {
      if (!detail::is_by_engine(point) || !detail::predict_copy(cluster, cluster.profile, point, {}).us) continue;
      samples.push_back({.log = &log,
                         .kind = "copy",
                         .what = fmt::format("{} of {}, {}", point.pattern, point.transfers.size(), to_string(point.bytes)),
                         .bytes = point.bytes,
                         .measured = point.median_us,
                         .predicted = [&cluster, point](const Profile& profile) {
                           return *detail::predict_copy(cluster, profile, point, {}).us;
                         }});
    }
  }
  return samples;
}

ValidationPoint point_of(const Sample& sample, const Profile& profile) {
  ValidationPoint point;
  point.file = sample.log->file;
  point.kind = sample.kind;
  point.collective = {};
  point.ranks = 1;
  point.nodes = 1;
  point.bytes = sample.bytes;
  point.algorithm = sample.what;
  point.measured_us = sample.measured;
  point.predicted_us = sample.predicted(profile);
  point.training = profile.trained_on(sample.log->digest, sample.kind, 1, sample.bytes);
  return point;
}

ErrorSummary errors_of(const std::vector<ValidationPoint>& points) {
  std::vector<double> errors;
  for (const ValidationPoint& point : points) errors.push_back(std::abs(*relative_error(point)));
  return summarize(std::move(errors));
}

std::string machine_of(const std::vector<KernelLog>& logs) {
  std::set<std::string> machines;
  for (const KernelLog& log : logs) machines.insert(log.machine);
  return fmt::format("{}", fmt::join(machines, ", "));
}

// The keys of one fit; several of them may make up a calibration.
struct Fit {
  std::string id;
  std::vector<std::string> keys;
  std::vector<Sample> samples;
  std::map<std::string, double> starts = {};  // of keys that begin elsewhere than at their declared default
};

// Copies at once that only read host memory, or only write it.
struct HostCopies {
  bool read = false;
  std::size_t count = 0;
  double rate = 0;  // bytes a microsecond, of all together
};

std::vector<HostCopies> host_copies(const std::vector<KernelLog>& logs) {
  std::vector<HostCopies> seen;
  for (const KernelLog& log : logs) {
    for (const MeasuredPoint& point : log.copies) {
      const auto reads = std::ranges::count(point.transfers, kHostMemory, &std::pair<int, int>::first);
      const auto writes = std::ranges::count(point.transfers, kHostMemory, &std::pair<int, int>::second);
      const std::size_t count = point.transfers.size();
      if (count == 0 || static_cast<std::size_t>(std::max(reads, writes)) < count) continue;
      const double bytes = static_cast<double>(count) * static_cast<double>(point.bytes.count());
      seen.push_back({.read = reads > 0, .count = count, .rate = bytes / point.median_us});
    }
  }
  return seen;
}

// Keys of the ways on which several copies got clearly less than as many alone, and the most that was seen: beyond all that the
// samples reach a limit would not be noticed, and where they reach none there is nothing to fit.
std::map<std::string, double> host_memory_starts(const std::vector<KernelLog>& logs) {
  constexpr double kClearly = 0.8;
  const std::vector<HostCopies> seen = host_copies(logs);
  std::map<std::string, double> starts;
  for (const bool read : {true, false}) {
    double alone = 0;
    for (const HostCopies& copies : seen)
      if (copies.read == read && copies.count == 1) alone = std::max(alone, copies.rate);
    double together = 0;
    bool is_limited = false;
    for (const HostCopies& copies : seen) {
      if (copies.read != read || copies.count == 1) continue;
      together = std::max(together, copies.rate);
      is_limited = is_limited || copies.rate < kClearly * static_cast<double>(copies.count) * alone;
    }
    if (!is_limited) continue;
    starts[read ? "network.host_memory.read" : "network.host_memory.write"] =
        number_of(Bandwidth::from_bytes_per_second(std::llround(1e6 * together)));
  }
  return starts;
}

class KernelFitter {
 public:
  KernelFitter(const Profile& profile, const std::vector<KernelLog>& logs, std::string date, std::string id_suffix,
               const net::Cluster* cluster)
      : logs_{logs}, date_{std::move(date)}, id_suffix_{std::move(id_suffix)}, cluster_{cluster}, result_{profile, {}, {}} {}

  KernelCalibration run();

 private:
  void fit_kernels();
  // Moves the keys to where the samples are met best.
  void fit(Fit fit);
  KernelFit& entry(const std::string& id);
  void add_calibrations();

  const std::vector<KernelLog>& logs_;
  std::string date_;
  std::string id_suffix_;
  const net::Cluster* cluster_;
  KernelCalibration result_;
  std::vector<Fit> done_;
};

KernelFit& KernelFitter::entry(const std::string& id) {
  for (KernelFit& known : result_.fits) {
    if (known.id == id) return known;
  }
  return result_.fits.emplace_back(
      KernelFit{.id = id, .parameters = {}, .correlations = {}, .training = {}, .before = {}, .after = {}});
}

// A key off its declared default by a factor of e^0.5 weighs as a row 3 % off: rows leave some splits open (fixed against
// rate). The profile's values do not enter, so that fitting a fitted profile changes nothing.
constexpr double kPriorWeight = 0.03 / 0.5;

void KernelFitter::fit(Fit fit) {
  fit.id += id_suffix_;
  if (fit.samples.empty()) {
    result_.warnings.push_back(fmt::format("{}: no rows; {} keep their values", fit.id, fmt::join(fit.keys, ", ")));
    return;
  }
  std::vector<Unknown> unknowns;
  std::vector<double> priors;
  for (const std::string& key : fit.keys) {
    const ParamInfo& info = result_.profile.info(key);
    const double standard = number_of(info.default_value);
    priors.push_back(standard > 0 ? standard : typical_number(info.default_value) * 0.01);
    const auto start = fit.starts.find(key);
    unknowns.push_back({.start = start == fit.starts.end() ? priors.back() : start->second,
                        .min = number_of(*info.min),
                        .max = number_of(*info.max)});
  }
  const Provenance fitted_by{
      .source = ParamSource::kFitted, .reference = {}, .calibration = fit.id, .is_default = false, .where = {}};
  const auto profile_at = [&](const std::vector<double>& numbers) {
    Profile profile = result_.profile;
    for (std::size_t j = 0; j < numbers.size(); ++j) {
      const ParamInfo& info = profile.info(fit.keys[j]);
      const double number = std::clamp(numbers[j], unknowns[j].min, unknowns[j].max);
      profile = profile.with_value(fit.keys[j], value_of(info.default_value, number), fitted_by);
    }
    return profile;
  };
  const RobustFit found = fit_robustly(unknowns, [&](const std::vector<double>& numbers, std::vector<double>& out) {
    const Profile profile = profile_at(numbers);
    for (const Sample& sample : fit.samples) out.push_back(portable_log(sample.predicted(profile) / sample.measured));
    for (std::size_t j = 0; j < numbers.size(); ++j)
      out.push_back(kPriorWeight * portable_log(std::max(numbers[j], 1e-9 * priors[j]) / priors[j]));
    return true;
  });

  KernelFit& entry = this->entry(fit.id);
  const std::size_t known_before = entry.parameters.size();
  for (std::vector<double>& row : entry.correlations) row.resize(known_before + fit.keys.size());
  for (const std::vector<double>& row : found.known.correlations) {
    entry.correlations.emplace_back(known_before).insert(entry.correlations.back().end(), row.begin(), row.end());
  }
  std::vector<double> numbers;
  for (std::size_t j = 0; j < fit.keys.size(); ++j) {
    numbers.push_back(std::clamp(rounded_number(found.unknowns[j].value), unknowns[j].min, unknowns[j].max));
    const ParamValue& before = result_.profile.value(fit.keys[j]);
    entry.parameters.push_back({.key = fit.keys[j],
                                .before = before,
                                .after = value_of(before, numbers[j]),
                                .at_min = found.unknowns[j].at_min,
                                .at_max = found.unknowns[j].at_max,
                                .relative_sd = found.known.relative_sd[j]});
    if (found.unknowns[j].at_max) result_.warnings.push_back(fmt::format("{} ends at the upper end of its range", fit.keys[j]));
  }
  for (const Sample& sample : fit.samples) entry.training.push_back(point_of(sample, result_.profile));
  result_.profile = profile_at(numbers);
  done_.push_back(std::move(fit));
}

// Each fit sees the rows that its keys act on; later ones see the values of earlier ones.
void KernelFitter::fit_kernels() {
  const auto alone = [&](const char* id, std::vector<std::string> keys, const Wanted& wanted) {
    fit({.id = id, .keys = std::move(keys), .samples = kernels_alone(logs_, wanted)});
  };
  const auto kind = [](KernelKind wanted) { return [wanted](const Kernel& kernel) { return kernel.kind == wanted; }; };
  const auto strided = [](work::StridedKind wanted) {
    return [wanted](const Kernel& kernel) { return kernel.kind == KernelKind::kStrided && kernel.strided == wanted; };
  };
  alone("gemm", {"gpu.gemm.efficiency", "gpu.gemm.small_tile_penalty", "gpu.gemm.tile_overhead", "gpu.gemm.fixed"},
        kind(KernelKind::kGemm));
  alone("attention",
        {"gpu.attention.forward_efficiency", "gpu.attention.backward_efficiency", "gpu.attention.forward_fixed",
         "gpu.attention.backward_fixed", "gpu.attention.tail"},
        [](const Kernel& kernel) { return work::class_of(kernel.kind) == KernelClass::kAttention; });
  alone("memory", {"gpu.memory.contiguous_efficiency", "gpu.memory.fixed"},
        [](const Kernel& kernel) { return kernel.kind == KernelKind::kElementwise || kernel.kind == KernelKind::kCopy; });
  alone("memory", {"gpu.memory.softmax_efficiency"}, kind(KernelKind::kSoftmaxLoss));
  alone("memory", {"gpu.memory.gather_efficiency"}, kind(KernelKind::kEmbeddingForward));
  alone("memory", {"gpu.memory.fill_efficiency", "gpu.memory.fill_ps"}, kind(KernelKind::kMemset));
  alone("memory", {"gpu.memory.strided_forward_ps"}, strided(work::StridedKind::kForward));
  alone("memory", {"gpu.memory.strided_activation_backward_ps"}, strided(work::StridedKind::kActivationBackward));
  alone("memory", {"gpu.memory.strided_copy_ps"}, strided(work::StridedKind::kCopy));
  alone("memory", {"gpu.memory.strided_stack_ps"}, strided(work::StridedKind::kStack));
  alone("memory", {"gpu.memory.attention_ends_ps"}, strided(work::StridedKind::kAttentionEnds));
  alone("memory", {"gpu.memory.norm_forward_ps", "gpu.memory.l2_share"}, kind(KernelKind::kNormForward));
  alone("memory", {"gpu.memory.norm_backward_ps"}, kind(KernelKind::kNormBackward));
  alone("memory", {"gpu.memory.norm_weight_gradient_ps"}, kind(KernelKind::kNormWeightGradient));
  alone("memory", {"gpu.memory.embedding_backward_ps"}, kind(KernelKind::kEmbeddingBackward));
  const auto adam = [](bool mostly_zero) {
    return [mostly_zero](const Kernel& k) { return k.kind == KernelKind::kOptimizer && k.mostly_zero == mostly_zero; };
  };
  alone("optimizer", {"gpu.optimizer.adam_ps"}, adam(false));
  alone("optimizer", {"gpu.optimizer.mostly_zero_ps"}, adam(true));
  fit({.id = "stream", .keys = {"gpu.stream.gap"}, .samples = gaps(logs_)});
  fit({.id = "contention",
       .keys = {"gpu.contention.gemm", "gpu.contention.attention", "gpu.contention.memory"},
       .samples = kernels_beside(logs_, result_.profile)});
  fit({.id = "clock",
       .keys = {"gpu.clock.free_share", "gpu.clock.load_slope", "gpu.clock.overlap_slope"},
       .samples = clocks(logs_, result_.profile)});
  const auto has_copies = [](const KernelLog& log) { return !log.copies.empty(); };
  if (cluster_ == nullptr || std::ranges::none_of(logs_, has_copies)) return;
  std::vector<std::string> keys{"gpu.copy.engine_start", "gpu.contention.collective_links"};
  const std::map<std::string, double> starts = host_memory_starts(logs_);
  for (const auto& [key, start] : starts) keys.push_back(key);
  fit({.id = "copies", .keys = std::move(keys), .samples = copies(logs_, *cluster_), .starts = starts});
}

// Errors are those of the values as they are written.
void KernelFitter::add_calibrations() {
  for (KernelFit& fit : result_.fits) {
    fit.before = errors_of(fit.training);
    fit.training.clear();
    std::set<std::string> kinds;
    std::vector<const KernelLog*> used;
    for (const Fit& part : done_) {
      if (part.id != fit.id) continue;
      for (const Sample& sample : part.samples) {
        fit.training.push_back(point_of(sample, result_.profile));
        kinds.insert(sample.kind);
        if (std::ranges::find(used, sample.log) == used.end()) used.push_back(sample.log);
      }
    }
    fit.after = errors_of(fit.training);
    Calibration calibration{.id = fit.id,
                            .date = date_,
                            .tool = fmt::format("weft calibrate {}", version()),
                            .machine = machine_of(logs_),
                            .samples = static_cast<std::int64_t>(fit.training.size()),
                            .fit_error = std::round(fit.after.median * 1e6) / 1e6,
                            .uncertainty = uncertainty_of(fit.parameters, fit.correlations),
                            .training = {}};
    for (const KernelLog* log : used) {
      for (const std::string& kind : kinds) {
        calibration.training.push_back({.file = std::filesystem::path{log->file}.filename().string(),
                                        .digest = log->digest,
                                        .collective = kind,
                                        .ranks = 1,
                                        .bytes = {}});
      }
    }
    result_.profile = result_.profile.with_calibration(std::move(calibration));
    for (ValidationPoint& point : fit.training) point.training = true;
  }
}

KernelCalibration KernelFitter::run() {
  for (const KernelLog& log : logs_) {
    static_cast<void>(work::gpu_spec(log.gpu));
    if (log.gpu != logs_.front().gpu)
      throw ConfigError(
          fmt::format("{}: of a {}, but {} is of a {}", log.file, log.gpu, logs_.front().file, logs_.front().gpu));
  }
  fit_kernels();
  add_calibrations();
  return std::move(result_);
}

}  // namespace

KernelCalibration calibrate_kernels(const Profile& profile, const std::vector<KernelLog>& logs, const std::string& date,
                                    const std::string& id_suffix, const net::Cluster* cluster) {
  return KernelFitter{profile, logs, date, id_suffix, cluster}.run();
}

std::vector<ValidationPoint> predict_kernels(const Profile& profile, const KernelLog& log) {
  std::vector<ValidationPoint> points;
  for (const KernelRow& row : log.kernels) {
    if (row.us && *row.us > 0) points.push_back(point_of(sample_of(log, row), profile));
  }
  return points;
}

}  // namespace weft::measured
