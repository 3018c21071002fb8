#include "sim/measured/kernel_points.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/measured/point_kind.h"
#include "sim/network/gpu_spec.h"
#include "sim/network/launch_timings.h"
#include "sim/workloads/kernels/kernel_costs.h"

namespace weft::measured {
namespace {

// Launches that take the host half as long as the kernel still show in its time.
constexpr double kLongerThanLaunch = 2;

// "NVIDIA H200" is "h200_sxm".
std::string spec_name(const PointLog& log) {
  if (const net::GpuSpec* gpu = net::find_gpu_of_machine(log.gpu)) return gpu->name;
  throw ConfigError(fmt::format("{}: nothing is known of its GPU '{}'; {}", log.file, log.gpu, net::gpu_names_note(log.gpu)));
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
  const double launch = profile.get(net::launch_timings).host_cost.us();
  for (const MeasuredPoint& point : log.points) {
    if (!record_set.empty() && point.record_set != record_set) continue;
    if (point.kind == "copy") kernels.copies.push_back(point);
    const std::vector<work::Kernel> one = kernels_of(point);
    // Kernels of a graph wait for no launch.
    const double shortest = kLongerThanLaunch * std::max(point.graph ? 0.0 : launch, point.host_us);
    if (one.size() != 1 || point.sustained || point.median_us < shortest) continue;
    KernelRow row;
    row.kernel = one.front();
    row.us = point.median_us - (point.graph ? stream.graph_gap : stream.gap).us();
    row.line = point.line;
    kernels.kernels.push_back(row);
  }
  return kernels;
}

}  // namespace weft::measured
