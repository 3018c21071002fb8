// Places of a host that collectives do not tell apart, because the host looks the same from each: GPUs behind the same kind of
// NVSwitches with the same kind of links to CPUs, PCIe switches and NICs. Groups that differ only in which of them they use
// take the same time, and what one loads in its host the other loads on the links that correspond.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/network/routing/host_routes.h"
#include "sim/network/topology.h"

namespace weft::work {

class HostPlaces {
 public:
  // Both must outlive it.
  HostPlaces(const net::Topology& topology, const net::HostRoutes& routes) : topology_{topology}, routes_{routes} {}

  // Neighbours of a place that it may share with others. Local indices, in the host's order.
  static constexpr std::size_t kRings = 4;
  struct Standing {
    // Same kind of links to the same kinds of neighbours, and to the same kinds of NICs. None: it stands by itself.
    std::optional<std::int32_t> kind = std::nullopt;
    // NVSwitches; PCIe switches and CPUs beside it; CPUs beside those PCIe switches; NICs it uses.
    std::array<std::vector<std::uint32_t>, kRings> rings = {};
  };
  [[nodiscard]] const Standing& of(std::uint32_t host_template, std::uint32_t local) const;

 private:
  [[nodiscard]] Standing find(std::uint32_t host_template, std::uint32_t local) const;

  const net::Topology& topology_;
  const net::HostRoutes& routes_;
  mutable std::map<std::pair<std::uint32_t, std::uint32_t>, Standing> standings_;
  mutable std::map<std::vector<std::uint32_t>, std::int32_t> kinds_;
};

}  // namespace weft::work
