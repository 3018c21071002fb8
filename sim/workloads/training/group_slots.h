// The groups a rank of a training step communicates in, by slot, and the table that says which ranks those are.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/workloads/parallel/plan.h"
#include "sim/workloads/program.h"

namespace weft::work {

enum class GroupSlot : std::uint8_t {
  kTensor,
  kContext,
  kData,          // dense gradients: data x context; of FSDP the ranks of one shard
  kReplica,       // HSDP: the same shard of every replica
  kExpert,        // dispatch and combine
  kExpertTensor,  // t_e
  kExpertData,    // gradients of experts
  kModel,         // the norm of all gradients
  kEmbedding,     // first and last stage, where they share the embedding. Last: stages between have none
};
inline constexpr std::size_t kGroupSlots = 9;
[[nodiscard]] std::string_view to_string(GroupSlot slot);

// Peers by slot of a send or receive: the stages before and after, around the ring.
inline constexpr std::uint16_t kPreviousStage = 0;
inline constexpr std::uint16_t kNextStage = 1;

// Sizes of a rank's groups and the indices of those that have more than one member.
class GroupSlots {
 public:
  // `shared_embedding`: the first and the last stage hold copies of one table.
  GroupSlots(const ParallelPlan& plan, bool shared_embedding);

  [[nodiscard]] int size(GroupSlot slot) const { return sizes_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] bool has(GroupSlot slot) const { return size(slot) > 1; }
  // Operation::slot of it; it must have more than one member.
  [[nodiscard]] std::uint16_t index(GroupSlot slot) const;

 private:
  std::array<int, kGroupSlots> sizes_{};
};

// Fills in groups, ranks and devices of a program with one RankProgram per stage.
void fill_rank_tables(const ParallelPlan& plan, const GroupSlots& slots, const std::vector<DeviceId>& endpoints, bool fold,
                      Program& program);

}  // namespace weft::work
