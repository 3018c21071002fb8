#include "sim/collectives/algorithms/rail_leaders.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/network/topology.h"

namespace weft::coll {
namespace {

constexpr int kFar = std::numeric_limits<int>::max();

// Links from a device of the host to every other one, by local index; kFar: there is no way.
std::vector<int> distances(const net::HostTemplate& host, std::uint32_t from) {
  std::vector<int> distance(host.devices.size(), kFar);
  std::vector<std::uint32_t> reached{from};
  distance[from] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const net::TemplateLink& link : host.links) {
      if (link.from != reached[i] || distance[link.to] != kFar) continue;
      distance[link.to] = distance[link.from] + 1;
      reached.push_back(link.to);
    }
  }
  return distance;
}

// The ranks of a node, its leaders first; `leaders`: how many.
std::vector<Rank> order_of(const Communicator& communicator, int node, std::size_t& leaders) {
  const net::Topology& topology = communicator.topology();
  const std::span<const Rank> ranks = communicator.node_ranks(node);
  const auto host = static_cast<std::size_t>(topology.host_of(communicator.device(ranks.front())));
  const net::HostTemplate& devices = topology.template_of_host(host);
  std::vector<Rank> order;
  std::vector<Rank> left(ranks.begin(), ranks.end());
  for (const std::uint32_t nic : devices.of_kind(net::DeviceKind::kNic)) {
    if (left.empty()) break;
    const std::vector<int> distance = distances(devices, nic);
    const auto from_nic = [&](Rank rank) { return distance[topology.local(communicator.device(rank))]; };
    const auto nearest = std::min_element(left.begin(), left.end(), [&](Rank a, Rank b) { return from_nic(a) < from_nic(b); });
    order.push_back(*nearest);
    left.erase(nearest);
  }
  leaders = order.empty() ? left.size() : order.size();
  order.insert(order.end(), left.begin(), left.end());
  return order;
}

}  // namespace

NodeLayout layout_by_rails(const Communicator& communicator) {
  std::vector<std::vector<Rank>> order;
  auto members = static_cast<std::size_t>(communicator.ranks());
  for (int node = 0; node < communicator.nodes(); ++node) {
    std::size_t leaders = 0;
    order.push_back(order_of(communicator, node, leaders));
    members = std::min(members, leaders);
  }
  return {std::move(order), static_cast<int>(members)};
}

}  // namespace weft::coll
