// PyTorch in eager mode, as a base for the frameworks that differ from it in a layer's kernels alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/workloads/training/eager_matmul.h"
#include "sim/workloads/training/layer_operators.h"

namespace weft::work {

class PytorchEager : public LayerOperators {
 public:
  [[nodiscard]] std::string refusal(const TrainingSetup& setup) const override;
  [[nodiscard]] FrameworkTraits traits() const override { return {.replicates_vocabulary = true, .copies_gradients = true}; }

  void embedding_forward(StepEmitter& emit) const override;
  void layer_forward(StepEmitter& emit, std::int64_t layer) const override;
  void layer_again(StepEmitter& emit, std::int64_t layer) const override;
  void head_forward(StepEmitter& emit) const override;
  void head_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part) const override;
  void layer_backward(StepEmitter& emit, GradientSync& gradients, std::int64_t layer, BackwardPart part) const override;
  void embedding_backward(StepEmitter& emit, GradientSync& gradients) const override;
  void after_microbatches(StepEmitter& emit) const override;
  void optimizer(StepEmitter& emit, const std::vector<ParameterTensor>& tensors, const GradientSync& gradients) const override;
  [[nodiscard]] std::int64_t saved_by_layer(const StepEmitter& emit, std::int64_t layer) const override;

 protected:
  // The norm before the head, and bytes of its input and output that are kept.
  virtual void head_norm(StepEmitter& emit) const;
  virtual void head_norm_backward(StepEmitter& emit) const;
  [[nodiscard]] virtual std::int64_t kept_by_head_norm(const StepEmitter& emit) const;

 private:
  static Linear linear(const StepEmitter& emit, TensorKind kind);
  static void forward(StepEmitter& emit, std::int64_t layer, bool again);
  static void experts_forward(StepEmitter& emit);
  static void experts_backward(StepEmitter& emit, GradientSync& gradients);
};

namespace eager {

// Kernels whose time is their launch.
void tiny(StepEmitter& emit, std::string_view name);
// Writes `elements`, one by one; `bytes` an element, read and written, where they are not those of bf16.
void strided(StepEmitter& emit, StridedKind kind, std::int64_t elements, std::string_view name, double bytes = 0);
// Residual and gradient sums: two tensors read, one written.
void add(StepEmitter& emit, std::int64_t elements, std::string_view name = "add");
// The activation of an MLP whose halves are one tensor.
void activation_forward(StepEmitter& emit, std::int64_t elements);
void activation_backward(StepEmitter& emit, std::int64_t elements);

}  // namespace eager
}  // namespace weft::work
