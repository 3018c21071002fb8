// How much each link of a machine has carried.
#pragma once

#include <string>
#include <vector>

#include "sim/core/digest.h"
#include "sim/core/units.h"
#include "sim/network/machine.h"

namespace weft::scenario {

struct LinkUse {
  std::string name;
  double bytes = 0;
  double utilization = 0;  // bytes over what its capacity carries in the run's time
  Duration busy;
};

// The busiest first, at most ten.
[[nodiscard]] std::vector<LinkUse> hottest_links(const net::Machine& machine, Duration makespan);
// Whole bytes of every link, in id order.
void add_link_bytes(Digest& digest, const net::Machine& machine);

}  // namespace weft::scenario
