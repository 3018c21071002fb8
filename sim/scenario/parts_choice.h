// Whether a scenario's packets run in parts on several threads (network/parted_fabric.h), and in which. Decided by
// the scenario alone, never by the machine or by -j, so that the digest is the same everywhere.
#pragma once

#include <string>

#include "sim/network/partition.h"
#include "sim/scenario/scenario.h"

namespace weft::scenario {

struct PartsChoice {
  net::Partition partition = {};
  std::string why_one = {};  // where it is one part: the reason, for --verbose

  [[nodiscard]] bool in_parts() const { return partition.parts > 1; }
};

[[nodiscard]] PartsChoice choose_parts(const Scenario& scenario);

}  // namespace weft::scenario
