#include "sim/measured/kinds/kernel_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "sim/core/error.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::measured {
namespace {

using work::Kernel;
using work::KernelKind;
using work::Precision;

std::optional<Precision> precision_of(const std::string& type) {
  if (type.empty() || type == "bf16" || type == "bfloat16") return Precision::kBf16;
  if (type == "fp16" || type == "half") return Precision::kFp16;
  if (type == "fp8") return Precision::kFp8;
  if (type == "mxfp8") return Precision::kMxfp8;
  if (type == "nvfp4" || type == "mxfp4") return Precision::kFp4;
  if (type == "int8") return Precision::kInt8;
  if (type == "w8a16") return Precision::kW8A16;
  if (type == "w4a16") return Precision::kW4A16;
  if (type == "tf32") return Precision::kTf32;
  if (type == "fp32" || type == "float") return Precision::kFp32;
  return std::nullopt;
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

// With the gaps between them, at the clock that the record was measured at.
double time_us(const net::Cluster& cluster, const MeasuredPoint& measured, const std::vector<Kernel>& kernels) {
  const work::KernelTimes times{scenario::cluster_gpu(cluster.topology, "a kernel"), cluster.profile};
  const work::GpuPower power = work::gpu_power(times.gpu(), cluster.profile);
  double us = 0;
  for (const Kernel& kernel : kernels) {
    const Duration gap = measured.graph ? times.graph_gap() : times.gap();
    const Duration alone = times.alone(kernel);
    us += gap.us() + alone.us() * (measured.sustained ? detail::sustained_slowdown(times, power, kernel) : 1.0);
  }
  return us;
}

}  // namespace

std::vector<Kernel> kernels_of(const MeasuredPoint& measured) {
  const PointKind* kind = find_point_kind(measured.kind);
  const auto precision = precision_of(measured.type);
  if (kind == nullptr || kind->kernels == nullptr || !precision) return {};
  return kind->kernels(measured, *precision).value_or(std::vector<Kernel>{});
}

namespace detail {

double sustained_slowdown(const work::KernelTimes& times, const work::GpuPower& power, const Kernel& kernel) {
  const work::PowerLoad load = times.load(kernel, times.alone(kernel) + times.gap());
  return work::stretch_of(work::slowdown_under(power, work::draw_of(power.costs, load)), load.memory);
}

Kernel gemm_of(Precision precision, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  Kernel kernel;
  kernel.kind = KernelKind::kGemm;
  kernel.precision = precision;
  kernel.batch = batch;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  return kernel;
}

Kernel kernel_of_bytes(KernelKind kind, double bytes, double elements) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.bytes = bytes;
  kernel.elements = elements;
  return kernel;
}

std::int64_t width_of(const MeasuredPoint& measured) {
  if (measured.type == "fp8" || measured.type == "mxfp8" || measured.type.ends_with("fp4") || measured.type == "int8") return 1;
  return measured.type == "tf32" || measured.type == "fp32" ? 4 : 2;
}

std::vector<ValidationPoint> predict_kernels(const PointPlace& place, const MeasuredPoint& measured, ValidationPoint point) {
  const auto precision = precision_of(measured.type);
  if (!precision) return not_modelled(std::move(point), fmt::format("element type '{}'", measured.type));
  const auto kernels = find_point_kind(measured.kind)->kernels(measured, *precision);
  if (!kernels) return not_modelled(std::move(point), "the record does not say how large it is");
  if (kernels->empty()) return not_modelled(std::move(point), fmt::format("{} kernels '{}'", measured.kind, measured.what));
  point.precision = kernels->front().precision;
  try {
    const double us = time_us(place.cluster, measured, *kernels);
    for (const Kernel& kernel : *kernels) point.flops += kernel.flops();
    // A framework's operation takes its host longer than a launch, and then nothing is seen of the device.
    // Device times of `weft measure` are those of kernels queued beforehand: no launch is in them.
    point.is_cpu_time = measured.host_us > us;
    point.predicted_us = std::max(us, measured.host_us);
  } catch (const ConfigError& error) {
    point.not_modelled = error.diagnostics().front().message;
  }
  return {std::move(point)};
}

std::string text_of(const Kernel& kernel) {
  const std::string kind{to_string(kernel.kind)};
  if (kernel.kind == KernelKind::kGemm) {
    return fmt::format("{} {}{} x {} x {}", kind, kernel.batch > 1 ? fmt::format("{} x ", kernel.batch) : "", kernel.m,
                       kernel.n, kernel.k);
  }
  if (work::class_of(kernel.kind) == work::KernelClass::kAttention)
    return fmt::format("{} {} x {} x {}", kind, kernel.batch, kernel.n, kernel.k);
  if (kernel.kind == KernelKind::kStrided) return fmt::format("{} {}", kind, to_string(kernel.strided));
  return kernel.mostly_zero ? kind + " mostly_zero" : kind;
}

double alone_us(const KernelLog& log, const Profile& profile, const Kernel& kernel) {
  return work::KernelTimes{work::gpu_spec(log.gpu), profile}.alone(kernel).seconds() * 1e6;
}

Sample kernel_sample(const KernelLog& log, std::string kind, std::string label, double measured,
                     std::function<double(const Profile&)> predicted) {
  Sample sample;
  sample.training = {.file = std::filesystem::path{log.file}.filename().string(),
                     .digest = log.digest,
                     .collective = kind,
                     .ranks = 1,
                     .bytes = {}};
  sample.point.file = log.file;
  sample.point.kind = std::move(kind);
  sample.point.ranks = 1;
  sample.point.nodes = 1;
  sample.point.algorithm = std::move(label);
  sample.point.measured_us = measured;
  sample.predict = [predicted = std::move(predicted)](Trial& trial, ValidationPoint& point) {
    point.predicted_us = predicted(trial.profile());
    return true;
  };
  return sample;
}

Sample row_alone(const KernelLog& log, const KernelRow& row) {
  Sample sample =
      kernel_sample(log, std::string{to_string(work::class_of(row.kernel.kind))}, text_of(row.kernel), row.us.value_or(0),
                    [&log, kernel = row.kernel](const Profile& profile) { return alone_us(log, profile, kernel); });
  sample.point.bytes = bytes_of(row.kernel);
  return sample;
}

FitPart fit_alone(const FitData& data, std::string id, std::vector<std::string> keys, const Wanted& wanted) {
  FitPart part{.id = std::move(id), .keys = std::move(keys), .samples = {}};
  for (const KernelLog& log : data.logs) {
    for (const KernelRow& row : log.kernels) {
      if (row.us && *row.us > 0 && wanted(row.kernel)) part.samples.push_back(row_alone(log, row));
    }
  }
  return part;
}

}  // namespace detail
}  // namespace weft::measured
