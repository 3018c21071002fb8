// How NCCL cuts the bytes of collectives over its channels ("continuous byte distribution", models/nccl §4.6): the calls of a
// group are laid end to end and cut in cells of 32 KiB of traffic, so channels get whole cells and the last one less. Older
// releases had smaller cells, or cut evenly (release_rules.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {

// One collective of a plan. Elements of each rank's block for all-gather and reduce-scatter, of the vector otherwise.
struct SplitTask {
  std::int64_t elements = 0;
  std::int64_t element_size = 4;
  std::int64_t traffic_per_byte = 1;  // all-reduce 2, all-gather and reduce-scatter n, others 1; LL split_ll_factor times that
  int channels = 1;                   // that its size is worth (planner.h)
};

struct ChannelPart {
  int channel = 0;
  std::int64_t elements = 0;
  bool operator==(const ChannelPart&) const = default;
};

[[nodiscard]] std::int64_t split_ll_factor(NcclVersion version);

// For each task its parts, in channel order. A task without elements has none. `max_channels` is what the communicator has;
// tasks of NVLS and of the other kinds are laid out separately.
[[nodiscard]] std::vector<std::vector<ChannelPart>> split_over_channels(std::span<const SplitTask> tasks, int max_channels,
                                                                        NcclVersion version);

}  // namespace weft::coll::nccl
