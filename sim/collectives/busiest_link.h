// The link that a run of calls keeps busy longest: what follows at the same pace takes no less.
#pragma once

#include <vector>

#include "sim/core/units.h"
#include "sim/network/machine.h"

namespace weft::coll {

class BusiestLink {
 public:
  // Counts from now on. The machine must outlive it.
  explicit BusiestLink(const net::Machine& machine);

  // How long the busiest link needs at least for what it has carried since then; `window`: the time since then.
  [[nodiscard]] Duration least_time(Duration window) const;

 private:
  struct Carried {
    double bytes = 0;
    Duration busy;
  };
  [[nodiscard]] Carried carried(LinkId link) const;

  const net::Machine& machine_;
  std::vector<Carried> before_;
};

}  // namespace weft::coll
