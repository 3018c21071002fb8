// Times of an engine's collectives and of its messages between pipeline stages. They are NCCL's own choice on an idle machine
// (replay/group_costs.h), at sizes that are powers of two, and on a straight line between them.
//
// Over NVLink an all-reduce takes the serving engines' own kernel where that is faster: each GPU reads its peers' vectors,
// whole in one shot or an n-th of them in each of two (models/workloads §6).
//
// Model: an engine's messages meet no other traffic. Experts' tokens move by NCCL's all-to-all; kernels made for it (DeepEP)
// are not modelled.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/workloads/inference/inference.h"
#include "sim/workloads/inference/serving_costs.h"
#include "sim/workloads/replay/group_costs.h"

namespace weft::work {

class EngineMessages {
 public:
  // `devices`: the engine's GPUs in its own order. `costs` must outlive it.
  EngineMessages(GroupCosts& costs, const ServingCosts& engine, const EnginePlan& plan, std::vector<DeviceId> devices);

  // Over the tensor-parallel GPUs of a stage. `bytes`: the whole vector. No time where there is one GPU.
  Duration over_tensor(int stage, coll::Collective kind, double bytes);
  // Over all GPUs of a stage. `bytes`: what each of them sends.
  Duration to_experts(int stage, double bytes);
  // From a stage to the next one, each GPU to its own counterpart.
  Duration to_next(int stage, double bytes);

 private:
  using Key = std::pair<int, int>;  // what and where; size class
  Duration at_class(int what, int stage, int size_class);
  Duration between_classes(int what, int stage, double bytes, int least_class);

  [[nodiscard]] std::vector<DeviceId> tensor_group(int stage) const;
  // Bytes per picosecond between two GPUs of the group; 0: not all of them are joined by NVLink.
  double nvlink_rate(int stage);
  // The faster of both kernels of the engine's own.
  [[nodiscard]] Duration by_reading(double rate, double bytes) const;

  GroupCosts& costs_;
  ServingCosts engine_;
  EnginePlan plan_;
  std::vector<DeviceId> devices_;
  std::map<Key, Duration> known_;
  std::map<int, double> nvlink_rates_;  // by stage
};

}  // namespace weft::work
