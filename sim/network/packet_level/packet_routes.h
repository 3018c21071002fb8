// Which link a packet takes next: the router's answers (router.h) in a form that costs a packet a few loads. One path per flow
// where the policy says so; else a choice per packet among the equal-cost links.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/random.h"
#include "sim/network/router.h"

namespace weft::net {

using RouteId = std::uint32_t;

class PacketRoutes {
 public:
  // `queued`: bytes in front of each link, by link, kept by the network; the least loaded link is found there.
  PacketRoutes(const Router& router, std::uint64_t seed, const std::vector<std::int64_t>& queued);

  RouteId add(const PathEnds& ends);
  // Links that leave the source.
  [[nodiscard]] std::vector<LinkId> first_links(RouteId route) const;
  // At `device`, after `hop` links.
  [[nodiscard]] LinkId next(RouteId route, DeviceId device, unsigned hop);
  // Of the way back over the same links; only for a route that is fixed.
  [[nodiscard]] LinkId next_back(RouteId route, unsigned hop) const;
  [[nodiscard]] bool fixed(RouteId route) const { return routes_[route].fixed; }
  // Links of one of the ways, from end to end.
  [[nodiscard]] std::vector<LinkId> sample(RouteId route);
  // Routes are looked up again: a link has failed.
  void forget();

 private:
  struct Step {
    DeviceId from;
    LinkId link;
  };
  struct Route {
    PathEnds ends = {};
    std::uint32_t first = 0;  // of its steps
    std::uint32_t count = 0;
    bool fixed = false;         // each hop has one link, in order
    DeviceId fabric_exit = {};  // where not fixed: the NIC that the fabric's switches send to
  };

  void explore(Route& route);
  [[nodiscard]] LinkId choose(DeviceId device, std::span<const LinkId> links);
  RandomStream& random(DeviceId device);

  const Router& router_;
  const Topology& topology_;
  std::uint64_t seed_;
  const std::vector<std::int64_t>& queued_;
  PerPacket per_packet_;
  std::vector<Route> routes_;
  std::vector<Step> steps_;
  std::vector<std::optional<RandomStream>> random_;  // by device
  std::vector<LinkId> candidates_;
};

}  // namespace weft::net
