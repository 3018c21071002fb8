// Whether a scenario's packets run in parts on several threads (network/parted_fabric.h), and in which. Decided by
// the scenario alone, never by the machine or by -j, so that the digest is the same everywhere.
//
// Where simulation.partitions does not say, a run takes parts if it has at least kPacketsForParts packets, if a window is
// likely to bring each part kPacketsAWindow of them, and if nothing in it looks as if it needed one part after all.
#pragma once

#include <string>

#include "sim/network/partition.h"
#include "sim/scenario/scenario.h"

namespace weft::scenario {

inline constexpr double kPacketsForParts = 500'000;
inline constexpr double kPacketsAWindow = 32;

struct PartsChoice {
  net::Partition partition = {};
  std::string why_one = {};  // where it is one part: the reason, for --verbose

  [[nodiscard]] bool in_parts() const { return partition.parts > 1; }
};

[[nodiscard]] PartsChoice choose_parts(const Scenario& scenario);

}  // namespace weft::scenario
