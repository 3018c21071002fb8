// Keeps flows on the router's present paths while links fail and come back.
//
// A footprint holds what the router answered when it was made, and often more: engines, memories, other paths coupled to it.
// When a link's state changes, the router's part is taken out of each footprint that leaves its host and its new answer is put
// in; what moves goes on over the new resources with what it has left (FlowFabric::replace). The router's part is the sum of
// its answers for all paths, or, of a transfer that a switch adds up or copies, each resource once. A footprint that has no
// other path waits where a link that is down will be back; else, or where it is none of the two, the fabric aborts what uses
// the link.
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

  // Sets links of the fabric up or down, for the router and the flows at once. `returns`: these links are down for a time only.
  // Costs a route for every footprint that leaves its host: a switch that hashes flows over its links moves others too.
  void set_link_state(std::span<const LinkId> links, bool up, bool returns = false);

 private:
  struct Rest {
    Footprint footprint;  // less the router's part; its costs may be negative
    bool once = false;    // the router's part uses each resource once, however many paths do
  };
  // The router's present answer for all paths; nothing: one of them leads nowhere.
  [[nodiscard]] std::optional<Footprint> routed(const Footprint& footprint, bool once) const;
  // Takes the router's present answer out of the footprint, if it is in there.
  void take_apart(FootprintId id);
  void change_paths();
  [[nodiscard]] bool leaves_its_host(const Footprint& footprint) const;

  Router& router_;
  FlowFabric& fabric_;
  std::map<FootprintId, Rest> rests_;  // of those that may change paths
  int returning_ = 0;                  // changes of links that are down for a time
};

}  // namespace weft::net
