#include "sim/scenario/cluster_gpu.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/workloads/kernels/kernel_costs.h"

namespace weft::scenario {
namespace {

std::string label_of(const net::Topology& topology, std::string_view key) {
  return std::string{net::label_of(topology.labels(topology.endpoints().front()), key)};
}

}  // namespace

const work::GpuSpec& cluster_gpu(const net::Topology& topology, std::string_view what) {
  const DeviceId first = topology.endpoints().front();
  const work::GpuSpec* gpu = topology.gpu(first);
  if (gpu == nullptr) {
    throw ConfigError(
        fmt::format("{} has no 'model': {} needs to know its GPUs (h100_sxm, a100_sxm, ...)", topology.name(first), what));
  }
  work::check_computes(*gpu, what);
  return *gpu;
}

double gpu_memory(const net::Topology& topology, const work::GpuSpec& gpu) {
  const std::string memory = label_of(topology, "memory");
  const auto bytes = memory.empty() ? std::nullopt : parse_bytes(memory);
  if (!bytes) gpu.check_states({"memory"}, "what must fit its memory");
  return static_cast<double>(bytes ? bytes->count() : gpu.hbm_bytes);
}

double sm_memory_rate(const net::Topology& topology, const Profile& profile) {
  const work::GpuSpec* gpu = topology.gpu(topology.endpoints().front());
  if (gpu == nullptr || gpu->sms == 0) return 0;
  return gpu->hbm_bytes_per_second * profile.get(work::memory_costs).contiguous_efficiency / gpu->sms;
}

}  // namespace weft::scenario
