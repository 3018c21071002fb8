// The parts of the plan, by kind. Sizes are bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "plan.h"

namespace weft::measure {

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;
inline constexpr std::int64_t kGiB = 1024 * kMiB;

[[nodiscard]] inline PointSet quick_if(bool is_quick) { return is_quick ? PointSet::kQuick : PointSet::kFull; }

// first, first * factor, ... up to and with last.
[[nodiscard]] std::vector<std::int64_t> powers(std::int64_t first, std::int64_t last, std::int64_t factor);

[[nodiscard]] std::vector<Point> launch_points(int gpus);
[[nodiscard]] std::vector<Point> memory_points();
[[nodiscard]] std::vector<Point> gemm_points();
[[nodiscard]] std::vector<Point> attention_points();
[[nodiscard]] std::vector<Point> host_copy_points(int gpus);
[[nodiscard]] std::vector<Point> peer_copy_points(const NodeFacts& node);
[[nodiscard]] std::vector<Point> overlap_points(int ranks, std::int64_t max_bytes);
// One group per NCCL setting. `forced`: settings from outside forbid others.
[[nodiscard]] std::vector<Group> collective_groups(const NodeFacts& node, bool forced);
// Returns one setting's sweep for `ranks` processes.
[[nodiscard]] Group mpi_group(int ranks, std::int64_t memory_bytes);

}  // namespace weft::measure
