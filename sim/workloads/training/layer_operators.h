// The kernels that a framework runs for each part of a model on one rank, and the collectives inside the model. One
// implementation per framework, registered by name (`workload.framework`); to add one write its file and list it in
// frameworks.def.
//
// The order of calls for a microbatch on a stage with embedding and head:
//
//   embedding_forward, layer_forward(0) .. layer_forward(L - 1), head_forward,
//   head_backward, layer_backward(L - 1) .. layer_backward(0), embedding_backward
//
// Where recomputation is full, layer_again(i) comes right before layer_backward(i). A gradient is handed to `gradients`
// when the kernel that makes it has been written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/core/registry.h"
#include "sim/workloads/training/gradient_sync.h"
#include "sim/workloads/training/step_emitter.h"

namespace weft::work {

class LayerOperators {
 public:
  virtual ~LayerOperators() = default;
  // Why this setup cannot be run so; empty where it can.
  [[nodiscard]] virtual std::string refusal(const TrainingSetup& setup) const = 0;
  [[nodiscard]] virtual FrameworkTraits traits() const = 0;

  virtual void embedding_forward(StepEmitter& emit) const = 0;
  virtual void layer_forward(StepEmitter& emit, std::int64_t layer) const = 0;
  // Computes a whole layer again before layer_backward: what the backward pass reads of it, or all.
  virtual void layer_again(StepEmitter& emit, std::int64_t layer) const { layer_forward(emit, layer); }
  // Computes again before layer_backward what plan.recompute == kOperators asks for.
  virtual void operators_again(StepEmitter& emit, std::int64_t layer) const {
    static_cast<void>(emit), static_cast<void>(layer);
  }
  virtual void head_forward(StepEmitter& emit) const = 0;
  virtual void head_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part) const = 0;
  virtual void layer_backward(StepEmitter& emit, GradientSync& gradients, std::int64_t layer, BackwardPart part) const = 0;
  virtual void embedding_backward(StepEmitter& emit, GradientSync& gradients) const = 0;
  // After the last microbatch of the step.
  virtual void after_microbatches(StepEmitter& emit) const { static_cast<void>(emit); }
  // Updates the rank's share of these tensors (GradientSync::shards).
  virtual void optimizer(StepEmitter& emit, const std::vector<ParameterTensor>& tensors,
                         const GradientSync& gradients) const = 0;

  // Bytes a layer's forward pass leaves for its backward pass. Embedding and head tell the emitter of theirs themselves.
  [[nodiscard]] virtual std::int64_t saved_by_layer(const StepEmitter& emit, std::int64_t layer) const = 0;
};

[[nodiscard]] const Registry<LayerOperators>& training_frameworks();
#define WEFT_FRAMEWORK(name) extern const Registration<LayerOperators> name;
#include "sim/workloads/training/frameworks.def"

}  // namespace weft::work
