// Small pieces from which algorithms put their steps together. Private to algorithms/.
#pragma once

#include <span>

#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/schedule.h"
#include "sim/core/model_text.h"

namespace weft::coll {

// nvls and nvls_tree share this text.
inline constexpr ModelText kNvlsText{
    .title = "NVLink SHARP: the switches of a domain add up and copy",
    .assumes =
        "Each head owns a chunk of every loop: all ranks of the domain give it to the switch, which adds up "
        "all copies and writes the sum to all ranks. Over several nodes nvls has the network's switches add "
        "up what the heads of one index hold, where NICs have SHARP and NCCL_COLLNET_ENABLE=1; nvls_tree has "
        "the double binary tree between them.",
    .leaves_out = {"nvls: never measured here; fitted to published tables of 8 H100 and 8 B200, which with 27 others "
                   "are in validate/published (all_reduce.md has the errors): 8 GPUs from 4 MiB within 5 % in the "
                   "median, domains of 64 and 72 6 and 15 % too fast, of 16 and 32, by one publisher, 10 to 18 %",
                   "nvls: scatter and gather move data as fast with 5 warps as with 8, as published tables of 4 to 8 "
                   "GPUs have it",
                   "nvls: the chunk and the fluid grain differ by up to 5 us a call (17 % at 1 MiB, 1 % from 64 MiB): "
                   "heads that all begin at once queue in one only",
                   "nvls: where a domain has more than 32 ranks the first 32 are heads, not those of NCCL's search",
                   "nvls_tree: switch, tree and switch are steps one after another, with the sum in scratch in "
                   "between; NCCL does them in one primitive",
                   "NCCL before 2.25 was not built for sm100 GPUs, and has 2.25.1's rules there"},
    .sources = {"models/nccl §3.4, §4.4", "nccl issue 1455, nccl-tests issue 309"},
    .files = {"collectives/algorithms/steps.h", "collectives/algorithms/nvls.cpp", "collectives/algorithms/nvls_tree.cpp",
              "collectives/algorithms/nvls_network.cpp", "collectives/nccl/view.cpp", "collectives/protocols/in_switch.cpp"}};

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
