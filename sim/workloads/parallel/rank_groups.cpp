#include "sim/workloads/parallel/rank_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "sim/core/error.h"

namespace weft::work {
namespace {

struct AxisName {
  std::string_view name;
  Axis axis;
};
constexpr std::array kAxisNames{AxisName{"tp", Axis::kTensor}, AxisName{"cp", Axis::kContext}, AxisName{"ep", Axis::kExpert},
                                AxisName{"dp", Axis::kData}, AxisName{"pp", Axis::kPipeline}};

std::vector<std::string_view> parts_of_order(std::string_view order) {
  std::vector<std::string_view> words;
  for (std::size_t from = 0; from <= order.size();) {
    const std::size_t to = std::min(order.find('-', from), order.size());
    words.push_back(order.substr(from, to - from));
    from = to + 1;
  }
  return words;
}

std::optional<Axis> axis_named(std::string_view name) {
  const auto* at =
      std::find_if(kAxisNames.begin(), kAxisNames.end(), [&](const AxisName& entry) { return entry.name == name; });
  return at != kAxisNames.end() ? std::optional{at->axis} : std::nullopt;
}

// The axes of the order, fastest first; those it leaves out come last, as in Megatron. The order must be free of problems.
std::vector<Axis> axes_of(std::string_view order) {
  std::vector<Axis> axes;
  for (const std::string_view word : parts_of_order(order)) axes.push_back(axis_named(word).value());
  for (const AxisName& entry : kAxisNames) {
    if (std::find(axes.begin(), axes.end(), entry.axis) == axes.end()) axes.push_back(entry.axis);
  }
  return axes;
}

int size_of(const ParallelPlan& plan, Axis axis) {
  switch (axis) {
    case Axis::kTensor:
      return plan.tensor;
    case Axis::kContext:
      return plan.context;
    case Axis::kExpert:
      return plan.expert;
    case Axis::kData:
      return plan.data;
    case Axis::kPipeline:
      return plan.pipeline;
  }
  return 1;
}

bool splits_experts(const ParallelPlan& plan) { return plan.expert > 1 || plan.expert_tensor_size() != plan.tensor; }

// Checks the order string alone.
std::string order_problem(const ParallelPlan& plan) {
  std::vector<std::string_view> seen;
  for (const std::string_view word : parts_of_order(plan.order)) {
    if (!axis_named(word)) return fmt::format("'{}' is no axis; an order joins tp, cp, ep, dp and pp with '-'", word);
    if (std::find(seen.begin(), seen.end(), word) != seen.end()) return fmt::format("names {} twice", word);
    seen.push_back(word);
  }
  for (const AxisName& entry : kAxisNames) {
    const int size = size_of(plan, entry.axis);
    if (size > 1 && std::find(seen.begin(), seen.end(), entry.name) == seen.end()) {
      return fmt::format("leaves out {}, whose size is {}", entry.name, size);
    }
  }
  return {};
}

}  // namespace

std::vector<std::vector<Rank>> groups_of(std::span<const int> sizes, const std::vector<bool>& mask) {
  WEFT_CHECK(sizes.size() == mask.size());
  // Offsets of all positions along the axes whose mask is `wanted`, fastest axis first.
  const auto offsets = [&](bool wanted) {
    std::vector<Rank> found{0};
    Rank stride = 1;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (mask[axis] == wanted) {
        const std::size_t before = found.size();
        for (int step = 1; step < sizes[axis]; ++step) {
          for (std::size_t i = 0; i < before; ++i) found.push_back(found[i] + step * stride);
        }
      }
      stride *= sizes[axis];
    }
    return found;
  };
  const std::vector<Rank> members = offsets(true);
  std::vector<std::vector<Rank>> groups;
  for (const Rank base : offsets(false)) {
    std::vector<Rank>& group = groups.emplace_back(members);
    for (Rank& rank : group) rank += base;
  }
  return groups;
}

std::string grid_problem(const ParallelPlan& plan) {
  if (std::string problem = order_problem(plan); !problem.empty()) return problem;
  const std::int64_t shards = std::int64_t{plan.expert_tensor_size()} * plan.expert * plan.pipeline;
  if (plan.world() % shards != 0) {
    return fmt::format(
        "expert groups need a multiple of expert tensor {} x expert {} x pipeline {} = {} ranks, the plan has {}",
        plan.expert_tensor_size(), plan.expert, plan.pipeline, shards, plan.world());
  }
  // The stages of experts and of all else must be the same ranks.
  const auto dense = RankGrid::dense_grid(plan);
  const auto expert = RankGrid::expert_grid(plan);
  if (plan.pipeline > 1 && dense.stride(Axis::kPipeline) != expert.stride(Axis::kPipeline)) {
    return fmt::format(
        "neighbouring stages are {} ranks apart for dense layers and {} for experts; put pp last, or make the axes before it "
        "equal",
        dense.stride(Axis::kPipeline), expert.stride(Axis::kPipeline));
  }
  return {};
}

int RankGrid::Grid::stride(Axis axis) const {
  int stride = 1;
  for (std::size_t i = 0; i < axes.size() && axes[i] != axis; ++i) stride *= sizes[i];
  return stride;
}

RankGrid::Grid RankGrid::dense_grid(const ParallelPlan& plan) {
  Grid grid;
  for (const Axis axis : axes_of(plan.order)) {
    if (axis == Axis::kExpert) continue;
    grid.axes.push_back(axis);
    grid.sizes.push_back(size_of(plan, axis));
  }
  return grid;
}

RankGrid::Grid RankGrid::expert_grid(const ParallelPlan& plan) {
  if (!splits_experts(plan)) {
    Grid grid = dense_grid(plan);
    std::replace(grid.axes.begin(), grid.axes.end(), Axis::kContext, Axis::kData);
    return grid;
  }
  Grid grid;
  for (const Axis axis : axes_of(plan.order)) {
    if (axis == Axis::kContext) continue;
    grid.axes.push_back(axis);
    grid.sizes.push_back(axis == Axis::kTensor ? plan.expert_tensor_size()
                         : axis == Axis::kData ? plan.expert_data()
                                               : size_of(plan, axis));
  }
  return grid;
}

RankGrid::RankGrid(const ParallelPlan& plan) : world_{plan.world()} {
  if (const std::string problem = grid_problem(plan); !problem.empty()) {
    throw ConfigError{fmt::format("parallelism '{}': {}", plan.order, problem)};
  }
  dense_ = dense_grid(plan);
  expert_ = expert_grid(plan);
}

int RankGrid::position(Rank rank, Axis axis) const {
  const Grid& grid = axis == Axis::kExpert ? expert_ : dense_;
  int rest = rank;
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    if (grid.axes[i] == axis) return rest % grid.sizes[i];
    rest /= grid.sizes[i];
  }
  return 0;
}

std::vector<Rank> RankGrid::group(Rank rank, std::span<const Axis> axes) const { return group_in(dense_, rank, axes); }

std::vector<Rank> RankGrid::expert_group(Rank rank, std::span<const Axis> axes) const { return group_in(expert_, rank, axes); }

std::vector<Rank> RankGrid::group_in(const Grid& grid, Rank rank, std::span<const Axis> axes) {
  std::vector<Rank> offsets{0};
  Rank base = rank;
  Rank stride = 1;
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), grid.axes[i]) != axes.end()) {
      base -= rank / stride % grid.sizes[i] * stride;
      const std::size_t before = offsets.size();
      for (int step = 1; step < grid.sizes[i]; ++step) {
        for (std::size_t j = 0; j < before; ++j) offsets.push_back(offsets[j] + step * stride);
      }
    }
    stride *= grid.sizes[i];
  }
  for (Rank& offset : offsets) offset += base;
  return offsets;
}

}  // namespace weft::work
