// A described call of communication as Weft has it: kind, nccl-tests' size, peer; how it is counted.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/workloads/trace/kineto/rank_items.h"

namespace weft::work::kineto {

// False: no communication ("wait", "init", ...).
[[nodiscard]] bool part_of(const CommCall& call, CommPart& part);
[[nodiscard]] Category comm_category(const CommPart& part, const CommCall& call);

// Bytes that a rank of an all-to-all sends to others and receives from them. Without splits an even share is its own.
struct AllToAllTraffic {
  std::int64_t sent = 0;
  std::int64_t received = 0;
};
[[nodiscard]] AllToAllTraffic traffic_of(const CommCall& call, const CommPart& part, std::size_t self, std::size_t ranks);

// It says that it sends, or receives, more of one rank than of another.
[[nodiscard]] bool is_uneven(const CommCall& call);

// Bytes of an all-to-all in which every rank sends and receives as much as the busiest: nccl-tests' size.
[[nodiscard]] std::int64_t even_bytes(std::int64_t busiest, std::int64_t element_size, std::size_t ranks);

}  // namespace weft::work::kineto
