#include "sim/measured/kernel_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/point_kind.h"
#include "sim/network/gpu_spec.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/gpu_rates.h"
#include "sim/workloads/kernels/kernel_costs.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::measured {
namespace {

// Launches that take the host half as long as the kernel still show in its time. Kernels queued beforehand and those of a graph
// wait for no launch, and count however short they are.
constexpr double kLongerThanLaunch = 2;

// "NVIDIA H200" is "h200_sxm".
std::string spec_name(const PointLog& log) {
  if (const net::GpuSpec* gpu = net::find_gpu_of_machine(log.gpu)) return gpu->name;
  throw ConfigError(fmt::format("{}: nothing is known of its GPU '{}'; {}", log.file, log.gpu, net::gpu_names_note(log.gpu)));
}

// A type as tables of products name it; nothing where they have none such.
std::optional<std::string> table_type(const std::string& type) {
  std::string name = type;
  if (type.empty() || type == "bfloat16") name = "bf16";
  if (type == "half") name = "fp16";
  if (type == "float") name = "fp32";
  const std::vector<std::string>& known = product_types();
  return std::ranges::find(known, name) == known.end() ? std::nullopt : std::optional{name};
}

// A product's time by itself at full clock.
double alone_us(const MeasuredPoint& point, const work::Kernel& kernel, const work::KernelTimes& times,
                const work::GpuPower& power) {
  const double us = point.median_us - (point.graph ? times.graph_gap() : times.gap()).us();
  return point.sustained ? us / detail::sustained_slowdown(times, power, kernel) : us;
}

}  // namespace

std::string digest_of(const PointLog& log, const std::string& record_set) {
  return record_set.empty() ? log.digest : Digest{}.add(log.digest).add(record_set).hex();
}

KernelLog kernel_log_of(const PointLog& log, const Profile& profile, const std::string& record_set) {
  KernelLog kernels;
  kernels.file = log.file;
  kernels.gpu = spec_name(log);
  kernels.machine = log.gpu;
  kernels.digest = digest_of(log, record_set);
  const work::StreamCosts& stream = profile.get(work::stream_costs);
  for (const MeasuredPoint& point : log.points) {
    if (!record_set.empty() && point.record_set != record_set) continue;
    if (point.kind == "copy") kernels.copies.push_back(point);
    if (point.kind == "launch") kernels.launches.push_back(point);
    const std::vector<work::Kernel> one = kernels_of(point);
    const bool is_own = point.hand_written && (point.what == "rmsnorm" || point.what == "softmax");
    const bool shows_host = !point.graph && point.median_us < kLongerThanLaunch * point.host_us;
    if (one.size() != 1 || point.sustained || shows_host || is_own) continue;
    KernelRow row;
    row.kernel = one.front();
    row.us = point.median_us - (point.graph ? stream.graph_gap : stream.gap).us();
    row.line = point.line;
    kernels.kernels.push_back(row);
  }
  return kernels;
}

std::vector<MeasuredProduct> products_of(const std::vector<PointLog>& logs, const Profile& profile,
                                         const std::string& record_set) {
  using Shape = std::tuple<std::string, std::string, bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Shape, std::pair<MeasuredProduct, std::vector<double>>> shapes;
  for (const PointLog& log : logs) {
    const work::KernelTimes times{work::gpu_spec(spec_name(log)), profile.with_products(nullptr)};
    const work::GpuPower power = work::gpu_power(times.gpu(), profile);
    for (const MeasuredPoint& point : log.points) {
      if (point.kind != "gemm" || (!record_set.empty() && point.record_set != record_set)) continue;
      const std::vector<work::Kernel> one = kernels_of(point);
      const auto type = table_type(point.type);
      if (one.size() != 1 || one.front().batch != 1 || !type) continue;
      const double us = alone_us(point, one.front(), times, power);
      if (!(us > 0)) continue;
      MeasuredProduct product{.m = point.m, .n = point.n, .k = point.k, .type = *type, .time = {}};
      product.scales = point.scales;
      product.quantized = point.quantized;
      product.weight_copies = point.weight_copies;
      const Shape shape{*type, product.scales, product.quantized, product.weight_copies, product.k, product.n, product.m};
      auto& [kept, samples] = shapes.try_emplace(shape, product, std::vector<double>{}).first->second;
      samples.push_back(us);
    }
  }
  std::vector<MeasuredProduct> products;
  for (auto& [shape, found] : shapes) {
    auto& [product, samples] = found;
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>((samples.size() - 1) / 2);
    std::ranges::nth_element(samples, middle);
    product.time = Duration::nearest_ps(std::round(*middle * 1e3) * 1e3);
    products.push_back(product);
  }
  return products;
}

}  // namespace weft::measured
