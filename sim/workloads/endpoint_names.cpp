#include "sim/workloads/endpoint_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/core/config/nearest.h"

namespace weft::work {

std::optional<DeviceId> find_endpoint(const std::string& text, const net::Topology& topology) {
  if (const auto index = parse_integer(text)) {
    if (*index < 0 || static_cast<std::size_t>(*index) >= topology.endpoints().size()) return std::nullopt;
    return topology.endpoints()[static_cast<std::size_t>(*index)];
  }
  return topology.find(text);
}

std::string endpoint_note(const std::string& name, const net::Topology& topology) {
  const std::vector<DeviceId>& endpoints = topology.endpoints();
  if (endpoints.empty()) return "this cluster has no endpoints";
  constexpr std::size_t kNames = 1'000;  // enough to show how names are made
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(endpoints.size(), kNames); ++i) names.push_back(topology.name(endpoints[i]));
  const std::string near = nearest(name, names);
  return fmt::format("{}endpoints here: {} to {}, or their numbers 0 to {}",
                     near.empty() ? std::string{} : fmt::format("did you mean '{}'? ", near), names.front(),
                     topology.name(endpoints.back()), endpoints.size() - 1);
}

DeviceId read_endpoint(ParamReader& item, std::string_view key, const net::Topology& topology) {
  const std::string name = item.required<std::string>(key);
  const auto device = find_endpoint(name, topology);
  if (!device && !name.empty()) item.error(key, fmt::format("no device '{}'", name), endpoint_note(name, topology));
  if (device && topology.host_of(*device) < 0) {
    item.error(key, fmt::format("'{}' is a switch of the fabric, and flows go between hosts", name),
               endpoint_note(name, topology));
    return DeviceId{0};
  }
  return device.value_or(DeviceId{0});
}

}  // namespace weft::work
