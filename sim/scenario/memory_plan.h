// Predicts the memory of a run before it starts: counts of what it will hold, times the bytes of each.
//
// Bytes of each are sizes of the program's own structures.
//
// Model: an upper bound where all of a list is alive at once (flows, messages of an all-to-all); inference, NCCL's search and
// what the router keeps of a fabric beside ways between leaves are left out. Paths are as long as those of a sample of pairs;
// a program's loads as those of a sample of its groups and pairs, rings for all but exchanges. Of each group and pair one call
// is in flight.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace weft::scenario {

struct MemoryPart {
  std::string what;  // "ports"
  double count = 0;
  double each = 0;  // bytes
};

struct MemoryPlan {
  double resident = 0;  // bytes that this process holds already: the cluster, the workload, the program
  std::vector<MemoryPart> parts;

  [[nodiscard]] double added() const;
  [[nodiscard]] double total() const { return resident + added(); }
};

[[nodiscard]] MemoryPlan plan_memory(const Scenario& scenario);
// Plans a program that is replayed, whose ranks have their places.
[[nodiscard]] MemoryPlan plan_memory(const net::Cluster& cluster, const SimulationOptions& simulation,
                                     const work::Program& program);
// Plans one collective.
[[nodiscard]] MemoryPlan plan_memory(const net::Cluster& cluster, const SimulationOptions& simulation,
                                     const work::CollectiveItem& item);

// ConfigError where the plan is more than `limit` bytes in all, or without one adds more than the machine has left.
void check_memory(const MemoryPlan& plan, std::optional<std::uint64_t> limit);

// "1.20 GiB": 256 MiB now, 98304 ports of 176 B, ...
[[nodiscard]] std::string memory_text(const MemoryPlan& plan);

}  // namespace weft::scenario
