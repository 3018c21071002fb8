#include "sim/scenario/os_hosts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::scenario {
namespace {

// Returns the devices that a path inside the host joins to `endpoint` without an NVSwitch, and marks them as seen.
std::vector<DeviceId> joined_to(const net::Topology& topology, DeviceId endpoint, std::vector<bool>& seen) {
  std::vector<DeviceId> reached{endpoint};
  seen[endpoint.index()] = true;
  for (std::size_t next = 0; next < reached.size(); ++next) {
    for (const LinkId link : topology.out_links(reached[next])) {
      const DeviceId to = topology.link(link).to;
      if (seen[to.index()] || topology.host_of(to) != topology.host_of(endpoint) ||
          topology.kind(to) == net::DeviceKind::kNvSwitch)
        continue;
      seen[to.index()] = true;
      reached.push_back(to);
    }
  }
  return reached;
}

}  // namespace

std::vector<std::vector<DeviceId>> endpoints_by_os_host(const net::Topology& topology) {
  std::vector<std::vector<DeviceId>> machines;
  std::vector<bool> seen(topology.device_count(), false);
  std::int32_t host_without_cpu = -1;  // whose GPUs the last machine has
  for (const DeviceId endpoint : topology.endpoints()) {
    if (seen[endpoint.index()]) continue;
    const std::vector<DeviceId> joined = joined_to(topology, endpoint, seen);
    const auto is_cpu = [&](DeviceId device) { return topology.kind(device) == net::DeviceKind::kCpu; };
    const bool has_cpu = std::ranges::any_of(joined, is_cpu);
    const std::int32_t host = topology.host_of(endpoint);
    if (has_cpu || host != host_without_cpu) machines.emplace_back();
    host_without_cpu = has_cpu ? -1 : host;
    for (const DeviceId device : joined) {
      if (std::ranges::binary_search(topology.endpoints(), device)) machines.back().push_back(device);
    }
    std::ranges::sort(machines.back());
  }
  return machines;
}

}  // namespace weft::scenario
