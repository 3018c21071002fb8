// How much each link of a machine has carried.
#pragma once

#include <cstdint>
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

// Sums up what links carried and how long they were busy, where more or fewer calls were simulated than there are.
class LinkTally {
 public:
  explicit LinkTally(const net::Machine& machine);
  // All that was counted since the last add() is of `simulated` calls, and stands for `calls`.
  void add(std::int64_t calls, std::int64_t simulated);
  // The busiest first, at most ten.
  [[nodiscard]] std::vector<LinkUse> hottest(Duration makespan) const;

 private:
  struct Count {
    double bytes = 0;
    double busy = 0;  // ps
  };

  const net::Machine& machine_;
  std::vector<Count> seen_;
  std::vector<Count> sums_;
};

// The same, where all that there is was simulated.
[[nodiscard]] std::vector<LinkUse> hottest_links(const net::Machine& machine, Duration makespan);
// Whole bytes of every link, in id order.
void add_link_bytes(Digest& digest, const net::Machine& machine);

}  // namespace weft::scenario
