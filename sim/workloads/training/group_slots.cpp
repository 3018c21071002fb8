#include "sim/workloads/training/group_slots.h"

#include <algorithm>
#include <string>

#include "sim/core/error.h"
#include "sim/workloads/parallel/rank_groups.h"

namespace weft::work {

std::string_view to_string(GroupSlot slot) {
  static constexpr std::array<std::string_view, kGroupSlots> kNames = {"tp",        "cp",        "dp",    "dp replica", "ep",
                                                                       "expert tp", "expert dp", "model", "embedding"};
  return kNames[static_cast<std::size_t>(slot)];
}

namespace {

// Ranks of different shards or experts hold different gradients: the norm of all is known to all ranks only together.
bool norm_spans_world(const ParallelPlan& plan) {
  return plan.expert > 1 || plan.data_parallelism == DataParallelism::kDistributedOptimizer ||
         plan.data_parallelism == DataParallelism::kFsdp || plan.data_parallelism == DataParallelism::kDeepSpeed2021;
}

int shard_ranks(const ParallelPlan& plan) {
  const int all = plan.data * plan.context;
  return plan.data_parallelism == DataParallelism::kFsdp && plan.fsdp_shard > 0 ? plan.fsdp_shard : all;
}

std::vector<Rank> group_of(const RankGrid& grid, const ParallelPlan& plan, GroupSlot slot, Rank rank) {
  static constexpr std::array kDataAxes = {Axis::kContext, Axis::kData};
  static constexpr std::array kModelAxes = {Axis::kTensor, Axis::kPipeline};
  static constexpr std::array kAllAxes = {Axis::kTensor, Axis::kContext, Axis::kData, Axis::kPipeline};
  const auto one = [](Axis axis) { return std::array{axis}; };
  switch (slot) {
    case GroupSlot::kTensor:
      return grid.group(rank, one(Axis::kTensor));
    case GroupSlot::kContext:
      return grid.group(rank, one(Axis::kContext));
    case GroupSlot::kData:
    case GroupSlot::kReplica: {
      // Neighbours of the group share a model; the same place in every such run is a replica.
      const std::vector<Rank> all = grid.group(rank, kDataAxes);
      const auto shard = static_cast<std::size_t>(shard_ranks(plan));
      const auto at = static_cast<std::size_t>(std::find(all.begin(), all.end(), rank) - all.begin());
      std::vector<Rank> group;
      if (slot == GroupSlot::kData) {
        for (std::size_t i = 0; i < shard; ++i) group.push_back(all[at / shard * shard + i]);
      } else {
        for (std::size_t i = at % shard; i < all.size(); i += shard) group.push_back(all[i]);
      }
      return group;
    }
    case GroupSlot::kExpert:
      return grid.expert_group(rank, one(Axis::kExpert));
    case GroupSlot::kExpertTensor:
      return grid.expert_group(rank, one(Axis::kTensor));
    case GroupSlot::kExpertData:
      return grid.expert_group(rank, one(Axis::kData));
    case GroupSlot::kModel:
      return norm_spans_world(plan) ? grid.group(rank, kAllAxes) : grid.group(rank, kModelAxes);
    case GroupSlot::kEmbedding: {
      const std::vector<Rank> stages = grid.group(rank, one(Axis::kPipeline));
      return {stages.front(), stages.back()};
    }
  }
  return {};
}

}  // namespace

GroupSlots::GroupSlots(const ParallelPlan& plan, bool shared_embedding) {
  const auto set = [&](GroupSlot slot, int size) { sizes_[static_cast<std::size_t>(slot)] = size; };
  const int shard = shard_ranks(plan);
  set(GroupSlot::kTensor, plan.tensor);
  set(GroupSlot::kContext, plan.context);
  set(GroupSlot::kData, shard);
  set(GroupSlot::kReplica, plan.data * plan.context / shard);
  set(GroupSlot::kExpert, plan.expert);
  set(GroupSlot::kExpertTensor, plan.expert_tensor_size());
  set(GroupSlot::kExpertData, plan.expert_data());
  set(GroupSlot::kModel, norm_spans_world(plan) ? plan.world() : plan.tensor * plan.pipeline);
  set(GroupSlot::kEmbedding, shared_embedding && plan.pipeline > 1 ? 2 : 1);
}

std::uint16_t GroupSlots::index(GroupSlot slot) const {
  WEFT_CHECK(has(slot));
  std::uint16_t index = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(slot); ++i) index = static_cast<std::uint16_t>(index + (sizes_[i] > 1));
  return index;
}

void fill_rank_tables(const ParallelPlan& plan, const GroupSlots& slots, const std::vector<DeviceId>& endpoints, bool fold,
                      Program& program) {
  const RankGrid grid{plan};
  const int world = grid.world();
  if (static_cast<std::size_t>(world) > endpoints.size() && plan.rank_map.empty()) {
    throw ConfigError{"the parallel plan needs " + std::to_string(world) + " ranks, the cluster has " +
                      std::to_string(endpoints.size()) + " endpoints"};
  }
  std::vector<Rank> leaders(static_cast<std::size_t>(plan.pipeline), -1);
  for (Rank rank = 0; rank < world; ++rank) {
    const int stage = grid.position(rank, Axis::kPipeline);
    Rank& leader = leaders[static_cast<std::size_t>(stage)];
    if (leader < 0) leader = rank;
    const std::vector<Rank> stages = grid.group(rank, std::array{Axis::kPipeline});
    const auto p = stages.size();
    const auto at = static_cast<std::size_t>(stage);
    ProgramRank entry{.program = static_cast<std::uint32_t>(stage), .leader = fold ? leader : rank};
    if (p > 1) entry.peers = {stages[(at + p - 1) % p], stages[(at + 1) % p]};
    program.ranks.push_back(std::move(entry));

    const auto endpoint = plan.rank_map.empty() ? rank : plan.rank_map[static_cast<std::size_t>(rank)];
    WEFT_CHECK(static_cast<std::size_t>(endpoint) < endpoints.size());
    program.devices.push_back(endpoints[static_cast<std::size_t>(endpoint)]);
  }
  for (std::size_t i = 0; i < kGroupSlots; ++i) {
    const auto slot = static_cast<GroupSlot>(i);
    if (!slots.has(slot)) continue;
    std::vector<bool> placed(static_cast<std::size_t>(world), false);
    int number = 0;
    for (Rank rank = 0; rank < world; ++rank) {
      if (placed[static_cast<std::size_t>(rank)]) continue;
      const int stage = grid.position(rank, Axis::kPipeline);
      if (slot == GroupSlot::kEmbedding && stage != 0 && stage != plan.pipeline - 1) continue;
      std::vector<Rank> ranks = group_of(grid, plan, slot, rank);
      for (const Rank member : ranks) {
        WEFT_CHECK(!placed[static_cast<std::size_t>(member)]);
        placed[static_cast<std::size_t>(member)] = true;
        program.ranks[static_cast<std::size_t>(member)].groups.push_back(static_cast<std::uint32_t>(program.groups.size()));
      }
      program.groups.push_back(
          {.name = std::string{to_string(slot)} + " " + std::to_string(number++), .ranks = std::move(ranks)});
    }
  }
}

}  // namespace weft::work
