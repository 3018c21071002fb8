// A layer of Hugging Face's models and what of it frameworks share that run its operators otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/workloads/training/eager_operators.h"

namespace weft::work {

class HuggingFace : public PytorchEager {
 public:
  [[nodiscard]] std::string refusal(const TrainingSetup& setup) const override;
  [[nodiscard]] FrameworkTraits traits() const override {
    return {.replicates_vocabulary = true, .copies_gradients = true, .host_of_hooks = true};
  }

  void embedding_forward(StepEmitter& emit) const override;
  void layer_forward(StepEmitter& emit, std::int64_t layer) const override { forward(emit, layer, false); }
  void layer_again(StepEmitter& emit, std::int64_t layer) const override { forward(emit, layer, true); }
  void layer_backward(StepEmitter& emit, GradientSync& gradients, std::int64_t layer, BackwardPart part) const override;
  void optimizer(StepEmitter& emit, const std::vector<ParameterTensor>& tensors, const GradientSync& gradients) const override;
  [[nodiscard]] std::int64_t saved_by_layer(const StepEmitter& emit, std::int64_t layer) const override;

 protected:
  void head_norm(StepEmitter& emit) const override;
  void head_norm_backward(StepEmitter& emit) const override;
  [[nodiscard]] std::int64_t kept_by_head_norm(const StepEmitter& emit) const override;

 private:
  static void forward(StepEmitter& emit, std::int64_t layer, bool again);
};

namespace huggingface_parts {

// The host issues so many operators or modules from Python, or nodes of autograd without it.
void python(StepEmitter& emit, std::int64_t operators);
void autograd(StepEmitter& emit, std::int64_t nodes);
// Kernels whose time is their launch.
void several(StepEmitter& emit, int kernels, std::string_view name);
// Contiguous tensors: `bytes` of each element, read and written.
void contiguous(StepEmitter& emit, std::int64_t elements, double bytes, std::string_view name);
void linear_gradients(StepEmitter& emit, const Linear& linear, BackwardPart part, std::string_view name);

// Matrices of grouped heads.
struct Matrices {
  Linear query;
  Linear key;  // and value
  Linear proj;
};
[[nodiscard]] Matrices matrices(const StepEmitter& emit);

// Elements of queries and of keys.
struct Heads {
  std::int64_t query = 0;
  std::int64_t key = 0;
};
[[nodiscard]] Heads head_elements(const StepEmitter& emit);

// SDPA and its backward pass, between projections.
void attention_scores(StepEmitter& emit, std::int64_t layer);
void attention_scores_backward(StepEmitter& emit, std::int64_t layer);

// Routed experts: with their router, without the norm before it.
void experts(StepEmitter& emit);
void experts_gradients(StepEmitter& emit, GradientSync& gradients);

}  // namespace huggingface_parts
}  // namespace weft::work
