// Keeps flows on the router's present paths while links fail and come back.
//
// A footprint holds what the router answered when it was made, and often more: engines, memories, other paths coupled to it.
// When a link's state changes, the router's part is taken out of each footprint that this concerns and its new answer is put
// in; what moves goes on over the new resources with what it has left (FlowFabric::replace). A footprint that has no other
// path, or is not the sum of the router's answers, stays, and the fabric aborts what uses the link.
//
// Model: nothing under way is lost with the link, and flows change their paths at the instant of the failure.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "sim/core/ids.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "sim/network/router.h"

namespace weft::net {

class Rerouting {
 public:
  // Both must outlive it.
  Rerouting(Router& router, FlowFabric& fabric) : router_{router}, fabric_{fabric} {}

  // Of links of the fabric, for the router and the flows at once. Costs a route for every footprint that uses one of them, or
  // where they come back, that leaves its host.
  void set_link_state(std::span<const LinkId> links, bool up);

 private:
  // The router's present answer for all paths; nothing: one of them leads nowhere.
  [[nodiscard]] std::optional<Footprint> routed(const Footprint& footprint) const;
  // Takes the router's present answer out of the footprint, if it is in there.
  void take_apart(FootprintId id);
  [[nodiscard]] bool leaves_its_host(const Footprint& footprint) const;

  Router& router_;
  FlowFabric& fabric_;
  std::map<FootprintId, Footprint> rests_;  // of those that may change paths: what is not the router's
};

}  // namespace weft::net
