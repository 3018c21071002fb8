// Writes the operations of one rank's step: kernels on the compute stream, communication on a stream per axis, and the waits
// between them. What is written in which order is the business of layer operators, gradient synchronisation and the pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/program.h"
#include "sim/workloads/training/group_slots.h"
#include "sim/workloads/training/stage_model.h"
#include "sim/workloads/training/training.h"

namespace weft::work {

// Which gradients a backward pass computes: zero-bubble schedules run them apart.
struct BackwardPart {
  bool input = true;
  bool weight = true;
};

// Traits that set frameworks apart beside the kernels they run.
struct FrameworkTraits {
  bool replicates_vocabulary = false;  // every tensor rank holds and computes the whole embedding, head and loss
  bool copies_gradients = false;       // gradients are accumulated, scaled and copied by kernels of their own; FSDP copies
  bool blocks_on_tensor = false;       // compute waits for every collective of the tensor group, unless overlap_tensor
  bool keeps_gathered = false;         // a linear layer's gathered input stays for its weight gradient
  bool host_of_hooks = false;          // the host's time for hooks of FSDP2 counts
  bool host_of_experts = false;        // and that for a layer of experts (megatron_host.h)
  bool scales_dynamically = false;     // operands in fp8 are scaled by the largest element of the tensor at hand
  bool megatron_modules = false;       // Megatron-LM's side kernels, gradient buffer and master weights (megatron_modules.h)
};

class StepEmitter {
 public:
  StepEmitter(const TrainingSetup& setup, const KernelTimes& times, const GroupSlots& groups, const FrameworkTraits& traits);

  [[nodiscard]] const TrainingSetup& setup() const { return setup_; }
  [[nodiscard]] const GroupSlots& groups() const { return groups_; }
  [[nodiscard]] const FrameworkTraits& traits() const { return traits_; }
  [[nodiscard]] const RankShapes& shapes() const { return shapes_; }
  [[nodiscard]] const ExpertShapes& experts() const { return experts_; }
  [[nodiscard]] const GpuSpec& gpu() const { return times_.gpu(); }

  // Tags of what follows.
  void set_microbatch(int microbatch) { microbatch_ = static_cast<std::int16_t>(microbatch); }
  void set_layer(std::int64_t layer) { layer_ = static_cast<std::int16_t>(layer); }
  [[nodiscard]] std::int64_t layer() const { return layer_; }
  // A pass over a microbatch begins: with CUDA graphs its first kernel is launched, the others are nodes.
  void begin_pass() { graph_started_ = false; }
  // All that follows is a CUDA graph of its own where `module` says so, until the end of it.
  void begin_graph(bool module) {
    in_graph_ = module;
    if (module) graph_started_ = false;
  }
  void end_graph() { in_graph_ = false; }

  // A kernel on the compute stream. It waits for what was joined since the last one.
  OpIndex kernel(const Kernel& kernel, std::string_view name, std::optional<Category> category = {});
  // All kernels of a pass, whose time is given.
  OpIndex pass(Duration duration, std::string_view name);
  // A kernel on another stream; it waits for `waits` only.
  OpIndex kernel_on(std::string_view stream, const Kernel& kernel, std::string_view name, std::span<const OpIndex> waits);

  // A collective on the group's own stream (or `stream`), after all compute so far (or after `waits`). kNoOp where the group is
  // one rank. Bytes are nccl-tests' (call.h).
  struct On {
    std::string_view stream = {};
    bool after_compute = true;
    std::span<const OpIndex> waits = {};
  };
  OpIndex collective(GroupSlot slot, coll::Collective kind, Bytes bytes, std::string_view name, On on);
  OpIndex collective(GroupSlot slot, coll::Collective kind, Bytes bytes, std::string_view name) {
    return collective(slot, kind, bytes, name, On{});
  }
  // The same, and compute goes on when it has ended.
  void blocking(GroupSlot slot, coll::Collective kind, Bytes bytes, std::string_view name) {
    join(collective(slot, kind, bytes, name));
  }
  OpIndex message(OpKind kind, std::uint16_t peer, Bytes bytes, std::uint8_t tag, std::string_view name);

  // The next compute kernel waits for it.
  void join(OpIndex op);
  // The last operation of the compute stream.
  [[nodiscard]] OpIndex computed() const { return builder_.last(compute_); }
  // A point of the compute stream that takes no time and waits for all that was joined.
  OpIndex marker(std::string_view name);

  // The host does nothing but this many operators of an eager framework, none of which is a kernel of the step.
  void host_delay(std::int64_t operators, std::string_view name);
  // It launches nothing more until all compute so far has ended.
  void host_sync(std::string_view name);

  // From the start of the next operation of the compute stream on, and until the end of its last one.
  void allocate(std::int64_t bytes);
  void release(std::int64_t bytes);

  [[nodiscard]] RankProgramBuilder& builder() { return builder_; }

 private:
  Operation tagged(Operation op) const;
  OpIndex compute(const Operation& op, std::string_view name);

  const TrainingSetup& setup_;
  const KernelTimes& times_;
  const GroupSlots& groups_;
  FrameworkTraits traits_;
  RankShapes shapes_;
  ExpertShapes experts_;
  RankProgramBuilder builder_;
  std::vector<OpIndex> joined_;
  std::int64_t to_allocate_ = 0;
  std::uint8_t compute_ = 0;
  std::int16_t microbatch_ = -1;
  std::int16_t layer_ = -1;
  bool graph_started_ = false;
  bool in_graph_ = false;
};

// Kernels of the compute stream that are told by the bytes they move, or by their elements.
void elementwise(StepEmitter& emit, double bytes, std::string_view name);
void of_elements(StepEmitter& emit, KernelKind kind, std::int64_t elements, std::string_view name);
// Attention of one layer over a rank's whole sequence.
[[nodiscard]] Kernel attention_kernel(const StepEmitter& emit, KernelKind kind, std::int64_t layer);

}  // namespace weft::work
