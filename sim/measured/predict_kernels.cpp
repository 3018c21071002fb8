// Kernels alone, and launches.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "sim/core/error.h"
#include "sim/measured/point_models.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::measured::detail {
namespace {

using work::Kernel;
using work::KernelKind;
using work::Precision;

std::optional<Precision> precision_of(const std::string& type) {
  if (type.empty() || type == "bf16" || type == "bfloat16") return Precision::kBf16;
  if (type == "fp16" || type == "half") return Precision::kFp16;
  if (type == "fp8") return Precision::kFp8;
  if (type == "tf32") return Precision::kTf32;
  if (type == "fp32" || type == "float") return Precision::kFp32;
  return std::nullopt;
}

Kernel gemm(Precision precision, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  Kernel kernel;
  kernel.kind = KernelKind::kGemm;
  kernel.precision = precision;
  kernel.batch = batch;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  return kernel;
}

Kernel of_bytes(KernelKind kind, double bytes, double elements) {
  Kernel kernel;
  kernel.kind = kind;
  kernel.bytes = bytes;
  kernel.elements = elements;
  return kernel;
}

std::vector<Kernel> kernels_of_type(const MeasuredPoint& point, Precision precision) {
  const auto bytes = static_cast<double>(point.bytes.count());
  const auto elements = static_cast<double>(point.elements);
  if (point.kind == "gemm") return {gemm(precision, point.batch, point.m, point.n, point.k)};
  if (point.kind == "memory") {
    const std::string& op = point.what;
    if (op == "rmsnorm") return {of_bytes(KernelKind::kNormForward, bytes, elements)};
    if (op == "softmax") return {of_bytes(KernelKind::kSoftmaxLoss, bytes, 0)};
    if (op == "memset") return {of_bytes(KernelKind::kMemset, bytes, 0)};
    if (op == "copy" || op == "copy_engine") return {of_bytes(KernelKind::kCopy, bytes, 0)};
    if (op == "read" || op == "write" || op == "add" || op == "silu") return {of_bytes(KernelKind::kElementwise, bytes, 0)};
    return {};
  }
  if (point.what == "gemm_softmax_gemm") {
    // Scores are written, read and written again as probabilities, and read.
    const double scores = 2.0 * static_cast<double>(point.batch) * static_cast<double>(point.m) * static_cast<double>(point.n);
    return {gemm(precision, point.batch, point.m, point.n, point.k), of_bytes(KernelKind::kSoftmaxLoss, 2 * scores, 0),
            gemm(precision, point.batch, point.m, point.k, point.n)};
  }
  if (!point.what.starts_with("flash")) return {};
  Kernel attention = gemm(precision, point.batch, point.m, point.n, point.k);
  attention.kind = KernelKind::kAttentionForward;
  attention.causal = point.causal;
  std::vector<Kernel> kernels{attention};
  if (!point.backward) return kernels;
  attention.kind = KernelKind::kAttentionBackward;
  kernels.push_back(attention);
  // The dot product of dO and O before it, and the conversion of dQ after it.
  Kernel ends = of_bytes(KernelKind::kStrided, 0,
                         static_cast<double>(point.batch) * static_cast<double>(point.m) * static_cast<double>(point.k));
  ends.strided = work::StridedKind::kAttentionEnds;
  kernels.insert(kernels.end(), 2, ends);
  return kernels;
}

bool has_shape(const MeasuredPoint& point) {
  if (point.kind == "memory") return point.bytes > Bytes{};
  return point.m > 0 && point.n > 0 && point.k > 0 && point.batch > 0;
}

}  // namespace

std::vector<Kernel> kernels_of(const MeasuredPoint& point) {
  if (point.kind != "gemm" && point.kind != "attention" && point.kind != "memory") return {};
  const auto precision = precision_of(point.type);
  return precision && has_shape(point) ? kernels_of_type(point, *precision) : std::vector<Kernel>{};
}

PointAnswer predict_kernel(const net::Cluster& cluster, const MeasuredPoint& point) {
  PointAnswer answer;
  const std::vector<Kernel> kernels = kernels_of(point);
  if (kernels.empty()) {
    answer.why_not = !precision_of(point.type) ? fmt::format("element type '{}'", point.type)
                     : !has_shape(point)       ? std::string{"the record does not say how large it is"}
                                               : fmt::format("{} kernels '{}'", point.kind, point.what);
    return answer;
  }
  answer.precision = kernels.front().precision;
  try {
    const work::KernelTimes times{scenario::cluster_gpu(cluster.topology, "a kernel"), cluster.profile};
    double us = 0;
    for (const Kernel& kernel : kernels) {
      const double alone = times.alone(kernel).us();
      const bool clocked = point.sustained && work::class_of(kernel.kind) != work::KernelClass::kMemory;
      us +=
          times.gap().us() +
          (clocked ? alone * work::clock_slowdown(cluster.profile.get(work::clock_rule), {.compute_share = 1}).compute : alone);
      answer.flops += kernel.flops();
    }
    // A framework's operation takes its host longer than a launch, and then nothing is seen of the device.
    // Device times of `weft measure` are those of kernels queued beforehand: no launch is in them.
    answer.host_bound = point.host_us > us;
    answer.us = std::max(us, point.host_us);
  } catch (const ConfigError& error) {
    answer.why_not = error.diagnostics().front().message;
  }
  return answer;
}

PointAnswer predict_launch(const net::Cluster& cluster, const MeasuredPoint& point) {
  PointAnswer answer;
  if (point.what == "kernel_gap") {
    answer.us = std::get<Duration>(cluster.profile.value("gpu.stream.gap")).us();
  } else {
    // device.launch.* are of NCCL's calls, inference.engine.graph_kernel of kernels that do something.
    answer.why_not = fmt::format("launches of empty kernels, kind '{}'", point.what);
  }
  return answer;
}

}  // namespace weft::measured::detail
