// Small pieces from which algorithms put their steps together. Private to algorithms/.
#pragma once

#include <span>

#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

inline constexpr int kMostNvlsHeads = 32;              // NCCL_MAX_NVLS_ARITY
inline constexpr std::uint8_t kScatterConnection = 1;  // what comes back uses connection 0

[[nodiscard]] inline Step step_of(std::int64_t bytes) {
  Step step;
  step.bytes = Bytes{bytes};
  return step;
}
inline void read_from(Step& step, Buffer buffer, std::int64_t offset) {
  step.use_source = true;
  step.source = {buffer, offset};
}
inline void keep_at(Step& step, Buffer buffer, std::int64_t offset) {
  step.store = true;
  step.destination = {buffer, offset};
}

// To or from all of `peers` through a switch. A message to one alone needs no copying and is a plain one.
inline void multicast(Step& step, std::span<const Rank> peers) {
  step.send_to = Peers::view(peers);
  step.send_in_switch = peers.size() > 1;
}
inline void add_up_in_switch(Step& step, std::span<const Rank> peers) {
  step.receive_from = Peers::view(peers);
  step.receive_in_switch = !peers.empty();
}

}  // namespace weft::coll
