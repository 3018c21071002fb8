// How replicas keep parameters and gradients the same: what happens when a gradient is there, around the use of a unit of
// parameters, and before and after the optimizer. One implementation per way (plan.h, DataParallelism).
//
// A unit is a layer, or the root (kRootUnit): embedding, final norm and head of a chunk, which is entered before the first
// layer and left after the last; that the head comes next is said by kHeadUnit, in the forward pass only. The order of calls:
//
//   begin_step
//     per microbatch pass: before_forward(unit), after_forward(unit), before_backward(unit), gradient_ready(tensor)...,
//                          after_backward(unit)
//   before_optimizer, after_optimizer
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/workloads/training/stage_model.h"
#include "sim/workloads/training/step_emitter.h"

namespace weft::work {

inline constexpr std::int64_t kRootUnit = -1;
inline constexpr std::int64_t kHeadUnit = -2;

// Where a pass stands in the step, for those who act on the first or the last microbatch only.
struct PassPlace {
  bool first_of_chunk = true;  // first microbatch whose gradients these are
  bool last_of_chunk = true;   // last microbatch of this model chunk
  int chunk = 0;
};

class GradientSync {
 public:
  virtual ~GradientSync() = default;

  virtual void begin_step(StepEmitter&) {}
  virtual void before_forward(StepEmitter&, std::int64_t unit, int chunk) { static_cast<void>(unit), static_cast<void>(chunk); }
  virtual void after_forward(StepEmitter&, std::int64_t unit, int chunk) { static_cast<void>(unit), static_cast<void>(chunk); }
  virtual void before_backward(StepEmitter&, std::int64_t unit) { static_cast<void>(unit); }
  // The gradient of a tensor of the emitter's layer (-1: of the root) was made by the last kernel.
  virtual void gradient_ready(StepEmitter&, TensorKind kind) = 0;
  virtual void after_backward(StepEmitter&, std::int64_t unit) { static_cast<void>(unit); }
  virtual void before_optimizer(StepEmitter&) = 0;
  virtual void after_optimizer(StepEmitter&) {}

  // Operations from `begin` on have moved to to[i - begin] (weave.h).
  virtual void moved(OpIndex begin, const std::vector<OpIndex>& to) { static_cast<void>(begin), static_cast<void>(to); }

  // The optimizer updates 1/shards of a tensor's elements on each rank.
  [[nodiscard]] virtual int shards(const ParameterTensor& tensor) const { return static_cast<void>(tensor), 1; }
  // Gradients live all the step long, in buckets or a buffer.
  [[nodiscard]] virtual bool keeps_gradients() const { return false; }

  void set_place(PassPlace place) { place_ = place; }

 protected:
  [[nodiscard]] const PassPlace& place() const { return place_; }

 private:
  PassPlace place_;
};

// `chunks[c]`: tensors of model chunk c of the stage, in order of registration. `copies`: gradients are accumulated, scaled and
// copied by kernels of their own.
struct SyncedModel {
  int stage = 0;
  bool copies = false;
  std::vector<std::vector<ParameterTensor>> chunks;
};
[[nodiscard]] std::unique_ptr<GradientSync> make_gradient_sync(const TrainingSetup& setup, const GroupSlots& groups,
                                                               SyncedModel model);
[[nodiscard]] std::unique_ptr<GradientSync> make_ddp_sync(const TrainingSetup& setup, SyncedModel model);
[[nodiscard]] std::unique_ptr<GradientSync> make_buffer_sync(const TrainingSetup& setup, const GroupSlots& groups,
                                                             SyncedModel model);
[[nodiscard]] std::unique_ptr<GradientSync> make_fsdp_sync(const TrainingSetup& setup, const GroupSlots& groups,
                                                           SyncedModel model);
[[nodiscard]] std::unique_ptr<GradientSync> make_deepspeed_sync(const TrainingSetup& setup, const GroupSlots& groups,
                                                                const SyncedModel& model);

}  // namespace weft::work
