// Counts that every kind of run has, whatever it simulates.
#pragma once

#include <cstdint>

#include "sim/core/digest.h"
#include "sim/network/machine.h"

namespace weft::scenario {

struct RunStats {
  std::uint64_t digest = 0;  // of what ended when, and of the bytes on every link
  std::uint64_t events = 0;
  std::uint64_t transfers = 0;  // that were posted to the fabric
  std::uint64_t solves = 0;     // of the fair shares of flows
  std::uint64_t peak_live = 0;  // transfers at a time
};

// Adds the bytes on the links to the digest.
[[nodiscard]] RunStats run_stats(const net::Machine& machine, Digest& digest);

}  // namespace weft::scenario
