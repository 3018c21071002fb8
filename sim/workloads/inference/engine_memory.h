// An engine's GPUs hold weights, room for activations, what the runtime itself takes (context, communicators, workspaces), and
// the cache of keys and values in blocks (models/workloads §6). Engines size the cache when they start, each by its own rule.
//
// Model: weights, cache and activations of the fullest stage stand for all. What a runtime takes is one number for an engine of
// one GPU and one for more, fitted to logs of H100. CUDA graphs take nothing from the cache, as in vLLM before 0.21. Layers
// with a window cache as many tokens as the others.
#pragma once

#include <cstdint>
#include <string>

#include "sim/workloads/inference/inference.h"

namespace weft::work {

// Memory of the GPU that holds most.
struct EngineMemory {
  double capacity = 0;
  double usable = 0;  // by the cache and all that has room before it
  double weights = 0;
  double activations = 0;
  double runtime = 0;       // context, communicators, workspaces of libraries
  double states = 0;        // of recurrent layers, of a full batch
  double cache = 0;         // whole blocks
  double block_bytes = 0;   // of one GPU
  std::int64_t blocks = 0;  // of the engine: of all its attention groups
  [[nodiscard]] std::int64_t tokens(const KvCacheOptions& options) const { return blocks * options.block; }
};

// Returns a cached token's bytes on one GPU of the stage with most layers. MLA's latents are whole on every tensor-parallel
// GPU; so is a head where there are fewer heads than GPUs.
[[nodiscard]] double kv_bytes_on_gpu(const InferenceSetup& setup, const EnginePlan& plan);
// States of recurrent layers of a full batch, in fp32, of the stage with most.
[[nodiscard]] double state_bytes_on_gpu(const InferenceSetup& setup, const EnginePlan& plan);
// The weights of the GPU that holds most.
[[nodiscard]] double weight_bytes_on_gpu(const InferenceSetup& setup, const EnginePlan& plan);
// Hidden states, and the widest tensor between two kernels, of `token_budget` tokens; and what sampling of a full batch takes.
// vLLM keeps workspaces of experts from step to step; beside them there is one of the two at a time.
[[nodiscard]] double activation_reserve(const InferenceSetup& setup, const EnginePlan& plan);
// Bytes of each GPU that context, communicators and workspaces take, as far as the engine counts them.
[[nodiscard]] double runtime_bytes(const InferenceSetup& setup, const EnginePlan& plan);

// ConfigError where what comes before the cache leaves no room for `tokens` of one sequence: what it needs, and what would fit.
[[nodiscard]] EngineMemory engine_memory(const InferenceSetup& setup, const EnginePlan& plan, double capacity,
                                         const std::string& gpu, std::int64_t tokens);

}  // namespace weft::work
