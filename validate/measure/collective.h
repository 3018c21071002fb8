// One collective of a team: its data is checked, then it is timed as nccl-tests times it.
#pragma once

#include "nccl_ranks.h"
#include "point.h"
#include "record.h"

namespace weft::measure {

// The layout of a record: processes, threads of each, GPUs of a thread.
struct LayoutNumbers {
  int processes = 1;
  int threads = 1;
  int gpus_per_thread = 1;
  int nodes = 1;
};

// Collective over the team; the result is whole on member 0.
[[nodiscard]] Measurement measure_collective(const Point& point, const LayoutNumbers& layout, Team& team, NcclRanks& ranks);

[[nodiscard]] JsonObject layout_json(const LayoutNumbers& layout);

}  // namespace weft::measure
