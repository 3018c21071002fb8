// Answers for an architect before anything runs on a fabric: is it oversubscribed, what does it carry from one half to the
// other, and which part of it cuts off hosts when it fails. Hosts count as a whole here; they pass nothing on between switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/network/topology.h"

namespace weft::net {

// Switches of one tier: as many links below the nearest host. `down` and `up` are of the switch where their ratio is the
// largest.
struct TierBandwidth {
  std::int64_t switches = 0;
  Bandwidth down;                                  // to the tier below, or to hosts
  Bandwidth up;                                    // to the tier above; 0: there is none
  Bandwidth sideways;                              // to switches of the same tier
  [[nodiscard]] double oversubscription() const {  // 0: nothing leads up
    return up > Bandwidth{} ? down.gbps() / up.gbps() : 0;
  }
};

// Parts each of which cuts off hosts when it fails.
struct SinglePoints {
  std::string name;     // of the switches without their numbers, "leaf"; "cable" of cables
  std::string example;  // the first one's name
  std::int64_t count = 0;
  std::int64_t hosts = 0;  // that the worst of them cuts off from most of the others
};

struct FabricAudit {
  std::vector<TierBandwidth> tiers;  // from the hosts up
  bool has_single_points = true;     // false: too large a fabric to look for them
  std::vector<SinglePoints> single_points;
  std::int64_t half = 0;     // hosts of the first half, in order
  Bandwidth bisection;       // that the fabric carries at once from the first half of the hosts to the other (a maximum flow)
  Bandwidth half_bandwidth;  // of the first half's own ports
};

// A topology without fabric switches has nothing to tell.
[[nodiscard]] FabricAudit audit_fabric(const Topology& topology);

}  // namespace weft::net
