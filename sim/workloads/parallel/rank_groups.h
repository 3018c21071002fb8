// Which ranks form which groups: Megatron's order strings (models/workloads §2.8).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/ids.h"
#include "sim/workloads/parallel/plan.h"

namespace weft::work {

// groups({2, 2, 4}, {true, false, true}): all groups over the axes whose mask is set. Sizes fastest first; groups in order of
// their first rank, ranks of a group in order of the masked axes, fastest first.
[[nodiscard]] std::vector<std::vector<Rank>> groups_of(std::span<const int> sizes, const std::vector<bool>& mask);

enum class Axis : std::uint8_t { kTensor, kContext, kExpert, kData, kPipeline };

// Why the plan's order string or its sizes give no grids; empty where they do. An axis of size 1 may be left out of the order.
[[nodiscard]] std::string grid_problem(const ParallelPlan& plan);

// A plan's two grids: dense (tp, cp, dp, pp) and expert (t_e, ep, dp_e, pp), both in the plan's order, sharing the pp axis.
// Where no expert is split (e = 1, t_e = t) the expert grid is the dense one, and kData of it spans dp and cp.
class RankGrid {
 public:
  explicit RankGrid(const ParallelPlan& plan);  // a ConfigError says grid_problem()

  [[nodiscard]] int world() const { return world_; }
  // Position of a rank along an axis of the dense grid (kExpert: of the expert grid).
  [[nodiscard]] int position(Rank rank, Axis axis) const;
  // The group of `rank` over these axes of the dense grid, in group order.
  [[nodiscard]] std::vector<Rank> group(Rank rank, std::span<const Axis> axes) const;
  // Over the expert grid: kTensor is t_e, kExpert ep, kData dp_e.
  [[nodiscard]] std::vector<Rank> expert_group(Rank rank, std::span<const Axis> axes) const;

 private:
  friend std::string grid_problem(const ParallelPlan& plan);
  struct Grid {
    std::vector<int> sizes;  // fastest first
    std::vector<Axis> axes;
    [[nodiscard]] int stride(Axis axis) const;
  };
  [[nodiscard]] static Grid dense_grid(const ParallelPlan& plan);
  [[nodiscard]] static Grid expert_grid(const ParallelPlan& plan);
  [[nodiscard]] static std::vector<Rank> group_in(const Grid& grid, Rank rank, std::span<const Axis> axes);

  Grid dense_;
  Grid expert_;
  int world_ = 1;
};

}  // namespace weft::work
