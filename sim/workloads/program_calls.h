// The calls that programs make, each once.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/workloads/program.h"

namespace weft::work {

// Collectives and messages sent of one rank's program that cost alike.
struct SlotCall {
  OpKind kind = OpKind::kCollective;  // or kSend
  std::uint16_t slot = 0;
  coll::Collective collective = coll::Collective::kAllReduce;
  std::int64_t bytes = 0;
  std::uint8_t element_size = 1;

  auto operator<=>(const SlotCall&) const = default;
};
[[nodiscard]] std::vector<SlotCall> calls_of(const RankProgram& program);

// A collective of one group.
struct CallOfGroup {
  std::uint32_t group = 0;  // into Program::groups
  coll::CollectiveCall call;
};
// Those of the groups of leaders that have at least `members`, by the first leader that calls them.
[[nodiscard]] std::vector<CallOfGroup> calls_of_large_groups(const Program& program, std::size_t members);

}  // namespace weft::work
