// Small pieces from which algorithms put their steps together. Private to algorithms/.
#pragma once

#include <span>

#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

inline constexpr int kMostNvlsHeads = 32;              // NCCL_MAX_NVLS_ARITY
inline constexpr std::uint8_t kScatterConnection = 1;  // what comes back uses connection 0

// Model: of a block's warps, what scatter counts for, and gather. NCCL gives them 5 to 8 of 20 (models/nccl §3.4), but they
// move as much: published all-reduces of 4 to 8 H100 (nccl issue 1455) and of two nodes fit one rate.
inline constexpr double kCopyShare = 7.0 / 20.0;

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

// Chunks of all peers, `bytes` together, of which the first has `peer_bytes` and the next one lies `offset` behind.
[[nodiscard]] inline Step spread_step(std::int64_t bytes, std::int64_t peer_bytes, std::int64_t offset) {
  Step step = step_of(bytes);
  step.peer_bytes = Bytes{peer_bytes};
  step.peer_offset = offset;
  return step;
}
// Chunks for all of `heads`, the first one's at `first`: put where a switch will add them up, or taken from what it has copied.
[[nodiscard]] inline Step scatter_to_switch(std::span<const Rank> heads, const Part& first, std::int64_t bytes,
                                            std::int64_t offset) {
  Step step = spread_step(bytes, first.bytes, offset);
  read_from(step, Buffer::kInput, first.offset);
  step.send_to = Peers::view(heads);
  step.send_in_switch = true;
  step.send_connection = kScatterConnection;
  return step;
}
[[nodiscard]] inline Step gather_from_switch(std::span<const Rank> heads, const Part& first, std::int64_t bytes,
                                             std::int64_t offset) {
  Step step = spread_step(bytes, first.bytes, offset);
  step.receive_from = Peers::view(heads);
  keep_at(step, Buffer::kOutput, first.offset);
  return step;
}

}  // namespace weft::coll
