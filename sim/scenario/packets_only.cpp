#include "sim/scenario/packets_only.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace weft::scenario {
namespace {

bool is_on(const ConfigNode& section) {
  const std::optional<ConfigNode> enabled = section.find("enabled");
  return !section.is_null() && !(enabled && enabled->is_scalar() && enabled->scalar() == "false");
}

}  // namespace

std::vector<std::string> packets_only(const net::Cluster& cluster) {
  constexpr std::array<std::string_view, 7> kSections = {"pfc",       "ecn",      "fecn",          "credits",
                                                         "transport", "switches", "service_levels"};
  // Latency and forwarding are of both fidelities.
  constexpr std::array<std::string_view, 7> kOfSwitches = {"buffer",     "chip",    "egress_alpha",  "queue_limit",
                                                           "scheduling", "weights", "vl_arbitration"};
  std::vector<std::string> keys;
  const std::optional<ConfigNode> fabric = cluster.resolved.find("fabric");
  if (!fabric) return keys;
  if (const std::optional<ConfigNode> switches = fabric->find("switch")) {
    for (const std::string_view key : kOfSwitches) {
      if (switches->find(key)) keys.push_back(fmt::format("fabric.switch.{}", key));
    }
  }
  for (const std::string_view name : kSections) {
    const std::optional<ConfigNode> section = fabric->find(name);
    if (section && is_on(*section)) keys.push_back(fmt::format("fabric.{}", name));
  }
  if (cluster.routing == "ugal") keys.emplace_back("fabric.routing: ugal");
  return keys;
}

std::vector<std::string> packets_only(const net::Cluster& cluster, const work::Workload& workload) {
  std::vector<std::string> keys = packets_only(cluster);
  std::vector<const net::FlowTransport*> transports;
  for (const work::FlowOptions& options : workload.options) transports.push_back(&options.transport);
  for (const work::JobItem& job : workload.jobs) transports.push_back(&job.transport);
  const auto name = [&](std::string_view key, auto stated) {
    if (std::ranges::any_of(transports, stated)) keys.push_back(fmt::format("the flows' {}", key));
  };
  name("packet", [](const net::FlowTransport* own) { return own->payload.has_value(); });
  name("window", [](const net::FlowTransport* own) { return own->window.has_value(); });
  name("congestion_control", [](const net::FlowTransport* own) { return own->congestion != nullptr; });
  name("queue pairs' settings", [](const net::FlowTransport* own) { return own->settings != nullptr; });
  name("open_loop", [](const net::FlowTransport* own) { return own->open_loop; });
  return keys;
}

std::vector<std::string> approximated(const net::Cluster& cluster, bool any_cable_fails) {
  std::vector<std::string> notes;
  const net::Topology& topology = cluster.topology;
  const auto is_leaf = [&](DeviceId device) {
    return std::ranges::any_of(topology.out_links(device),
                               [&](LinkId link) { return topology.host_of(topology.link(link).to) >= 0; });
  };
  const auto joins_leaves = [&](DeviceId device) {
    return std::ranges::any_of(topology.out_links(device), [&](LinkId link) {
      const DeviceId to = topology.link(link).to;
      return topology.host_of(to) < 0 && is_leaf(to);
    });
  };
  if (cluster.routing == "adaptive" &&
      std::ranges::any_of(topology.fabric_switches(), [&](DeviceId device) { return is_leaf(device) && joins_leaves(device); }))
    notes.emplace_back(
        "flow fidelity spreads flows of routing: adaptive over the shortest ways by what their links carry; where switches of "
        "hosts are joined, packets go round busy ones, and can be 10 % and more faster or slower");
  if (any_cable_fails)
    notes.emplace_back(
        "flow fidelity loses nothing with a cable, and moves flows at that instant; packets are lost and sent again, which "
        "can take 10 % longer and more");
  return notes;
}

std::string ignored_note(net::Fidelity fidelity, const std::vector<std::string>& keys) {
  if (net::has_packets(fidelity) || keys.empty()) return {};
  const bool pauses = std::ranges::find(keys, "fabric.pfc") != keys.end();
  return fmt::format(
      "flow fidelity ignores {}{}; simulation: {{fidelity: packet}} heeds them", fmt::join(keys, ", "),
      pauses ? ": flows share links evenly, where pauses share them by ingress port and hold up bystanders" : "");
}

}  // namespace weft::scenario
