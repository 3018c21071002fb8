// Times of an engine's collectives and of its messages between pipeline stages. They are the choice of the engine's library on
// an idle machine (replay/group_costs.h), at sizes that are powers of two, and on a straight line between them.
//
// Experts' tokens move by DeepEP: its low-latency kernels in steps of answers alone, its normal ones in others. Where it does
// not run (experts in shards, or not as many on every rank) they move by NCCL's all-to-all.
//
// Model: an engine's messages meet no other traffic.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sim/collectives/expert_costs.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/workloads/inference/inference.h"
#include "sim/workloads/replay/group_costs.h"

namespace weft::work {

class EngineMessages {
 public:
  // `devices`: the engine's GPUs in its own order. `costs` and `setup` must outlive it.
  EngineMessages(GroupCosts& costs, const InferenceSetup& setup, const EnginePlan& plan, std::vector<DeviceId> devices);

  // Over the tensor-parallel GPUs of a stage. `bytes`: the whole vector. No time where there is one GPU.
  Duration over_tensor(int stage, coll::Collective kind, double bytes);
  // Over all GPUs of a stage, of `tokens` each. `low_latency`: of a step of answers alone.
  Duration to_experts(int stage, coll::ExpertStep step, double tokens, bool low_latency);
  // From a stage to the next one, each GPU to its own counterpart.
  Duration to_next(int stage, double bytes);

 private:
  using Key = std::pair<int, int>;  // what and where; size class, of bytes or tokens
  Duration at_class(int what, int stage, int size_class);
  Duration between_classes(int what, int stage, double size, int least_class);

  [[nodiscard]] std::vector<DeviceId> tensor_group(int stage) const;
  [[nodiscard]] std::vector<DeviceId> stage_group(int stage) const;
  [[nodiscard]] bool runs_deepep() const;

  GroupCosts& costs_;
  const InferenceSetup& setup_;
  EnginePlan plan_;
  std::vector<DeviceId> devices_;
  std::map<Key, Duration> known_;
  bool runs_deepep_ = false;
};

}  // namespace weft::work
