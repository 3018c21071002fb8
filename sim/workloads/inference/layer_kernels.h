// The kernels of one layer's forward pass on one GPU of a serving engine, as serving engines fuse them (models/workloads §6):
// norm with the residual sum, products with weights, rotary embedding, a write of the cache, attention, activation. Messages
// between GPUs are not here (step_times.h).
//
// Model: kernels are fused as in vLLM and TensorRT-LLM; quantizing activations to fp8 is part of the kernel before. Library
// `torch` runs PyTorch's operators instead, a kernel each: the residual is added by itself, keys and values are copied to a
// cache that is not paged, SiLU and its product read halves of one tensor.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/workloads/inference/inference.h"
#include "sim/workloads/inference/step_mix.h"
#include "sim/workloads/kernels/experts.h"
#include "sim/workloads/kernels/kernel.h"

namespace weft::work {

struct NamedKernel : Kernel {
  std::string_view name = {};  // "qkv", "down": what of the layer it computes
};

// A step's tokens on one group of tensor-parallel GPUs.
struct GroupTokens {
  std::int64_t prefill = 0;       // new tokens of prompts
  std::int64_t prefill_rows = 0;  // the same with what their sequences have cached
  std::int64_t decode = 0;        // new tokens of answers
  std::int64_t stage = 0;         // new tokens of all groups of the stage, which its experts share

  [[nodiscard]] std::int64_t total() const { return prefill + decode; }
  friend auto operator<=>(const GroupTokens&, const GroupTokens&) = default;
};

// Model: requests are spread evenly over an engine's attention groups.
[[nodiscard]] GroupTokens group_tokens(const StepMix& mix, const EnginePlan& plan);

// All but attention's own kernels; they depend on the tokens only.
[[nodiscard]] std::vector<NamedKernel> linear_kernels(const InferenceSetup& setup, const EnginePlan& plan, std::int64_t layer,
                                                      const GroupTokens& tokens);

// Attention of prompts, then of answers: one kernel each, of all their sequences.
//
// Model: prompts of a step share a kernel whose longest block is of mean length. Windows cut the mean context of the decoding
// sequences, not each one's.
// A recurrent layer's state takes attention's place. Chunks cut the mean context, too.
[[nodiscard]] std::vector<NamedKernel> attention_kernels(const InferenceSetup& setup, const EnginePlan& plan,
                                                         const Mixer& mixer, const StepMix& mix);

// Bytes of a cached token on one of `tensor` GPUs: heads are spread, one at least each; latents and keys of an index are whole.
[[nodiscard]] std::int64_t local_cache_elements(const Mixer& mixer, int tensor);

// Model: routing is uniform. Expected experts of `experts` that `tokens` meet when each picks `per_token`:
// E (1 - (1 - k/E)^n), models/workloads §6.
[[nodiscard]] double experts_touched(double experts, double per_token, double tokens);
// Visits of the experts of the GPU with most to do, of `tokens` of a stage: with uniform routing times the setup's imbalance,
// or after its power law.
[[nodiscard]] ExpertVisits expert_load(const InferenceSetup& setup, const EnginePlan& plan, const MixtureOfExperts& moe,
                                       std::int64_t tokens);

}  // namespace weft::work
