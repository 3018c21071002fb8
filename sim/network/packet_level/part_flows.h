// The flows of a fabric in parts (parted_fabric.h), found once and read by all: where the packets of each go, whichever part
// they are in. Nothing changes while the parts run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/fabric.h"
#include "sim/network/packet_level/packet_routes.h"
#include "sim/network/packet_level/settings.h"
#include "sim/network/router.h"

namespace weft::net {

// Ends of a queue pair's data [1], and of what comes back [0]: looked up by that, since no processor foresees which of them a
// packet is.
struct FlowEnds {
  std::array<DeviceId, 2> to;
  std::array<RouteId, 2> route;
  RouteId back = kNoRoute;  // made when first needed; a fixed route goes back the way it came
  bool fixed = false;       // so is the route
};

class PartFlows {
 public:
  // One queue pair a flow, of its number; CannotRunInParts where one has several. The router and the flows must outlive it.
  PartFlows(const Router& router, const PacketSettings& settings, std::uint64_t seed, const std::vector<Footprint>& flows);

  [[nodiscard]] const std::vector<Footprint>& footprints() const { return footprints_; }
  [[nodiscard]] const std::vector<FlowEnds>& ends() const { return ends_; }
  [[nodiscard]] const PacketRoutes& routes() const { return routes_; }
  // Between which NICs it goes.
  [[nodiscard]] const NicWay& way(std::size_t flow) const { return ways_[flow]; }
  // The links of one of its paths.
  [[nodiscard]] std::span<const LinkId> path(std::size_t flow) const {
    return {path_links_.data() + path_ends_[flow], path_links_.data() + path_ends_[flow + 1]};
  }

 private:
  void add(const Router& router, const PacketSettings& settings, const PathEnds& ends);

  const std::vector<Footprint>& footprints_;
  std::vector<std::int64_t> no_loads_;  // by link: nothing waits before the run
  PacketRoutes routes_;
  std::vector<FlowEnds> ends_;
  std::vector<NicWay> ways_;
  std::vector<LinkId> path_links_;
  std::vector<std::size_t> path_ends_{0};
};

}  // namespace weft::net
