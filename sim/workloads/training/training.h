// A training step as a Program: model x plan x batch x framework, for every rank.
//
//   TrainingSetup setup = read_training(workload, ranks);      // training_reader.h
//   Program program = training_program(setup, kernel_times, topology, true);
//
// The operations of each microbatch follow models/workloads §2.10. A layer's parts are the framework's business
// (layer_operators.h): PyTorch eager runs every operator as its own kernel, Megatron fuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/network/topology.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/model/flops.h"
#include "sim/workloads/model/transformer.h"
#include "sim/workloads/parallel/plan.h"
#include "sim/workloads/program.h"
#include "sim/workloads/replay/storage.h"

namespace weft::work {

enum class OptimizerKind : std::uint8_t { kAdamFused, kAdamForeach, kSgd };

// A layer of Megatron-LM is made of modules of Transformer Engine, or of its own (--transformer-impl).
enum class TransformerImpl : std::uint8_t { kTransformerEngine, kLocal };

// Checkpoints of a step's end (checkpoint.h).
struct CheckpointPlan {
  int every = 1;  // steps
  bool to_file_system = true;
  bool gpu_direct = false;      // past the host's memory
  bool asynchronous = true;     // the next step begins when the GPU's memory is copied
  bool has_optimizer = true;    // or parameters alone
  bool restores_first = false;  // the first step begins with reading one
};

// How a step's sequences come to its ranks (data_loading.h).
struct DataLoading {
  Bytes per_sequence = {};
  bool from_file_system = true;
  bool prefetch = true;  // those of the next step are read beside this one
};

// Measured times of a stage's passes over one microbatch, in place of its layers' kernels; of each, one for all stages or one a
// stage. A stage of several chunks takes its time in equal parts.
struct StageTimes {
  std::vector<Duration> forward;
  std::vector<Duration> backward;  // of inputs alone where `weight` is given
  std::vector<Duration> weight;    // empty: in `backward`
};

// Kernels of flash attention. cuDNN's stand for FlashAttention-3's and Transformer Engine's too: all use what Hopper added.
enum class AttentionKernels : std::uint8_t { kCudnn, kFlash2 };

// Parts of Megatron-LM's layers that are CUDA graphs of their own.
struct ModuleGraphs {
  bool attention = false;
  bool router = false;  // of layers with experts, with the counts of tokens by expert
};

struct TrainingSetup {
  TransformerModel model;
  ParallelPlan plan;
  Batch batch;
  PrecisionPlan precision;
  ExpertLoad expert_load;
  LoraAdapters lora;
  std::string framework = "megatron";  // registered: pytorch_eager, pytorch_compile, megatron
  OptimizerKind optimizer = OptimizerKind::kAdamFused;
  bool momentum = false;       // of SGD
  bool clip_grad_norm = true;  // a 4-byte all-reduce over the model-parallel ranks before the optimizer
  bool cuda_graph = false;     // each pass over a microbatch
  ModuleGraphs graphs = {};
  bool fused_loss = true;
  // False: kernels of Megatron-LM before FlashAttention and Transformer Engine. Scores are written and read back, biases are
  // added and summed by kernels of their own, GeLU is compiled by torch.jit.
  bool flash_attention = true;
  TransformerImpl transformer_impl = TransformerImpl::kTransformerEngine;  // of framework megatron
  AttentionKernels attention = AttentionKernels::kCudnn;
  std::optional<StageTimes> stage_times = {};
  int expert_nodes = 1;  // hosts that an expert group spans; training_program() counts them
  Storage storage = {};
  std::optional<CheckpointPlan> checkpoint = {};
  std::optional<DataLoading> data_loading = {};
  FlopConvention convention = FlopConvention::kCausalAttention;

  // Tensors of the optimizer as large as the parameters.
  [[nodiscard]] int moments() const { return optimizer != OptimizerKind::kSgd ? 2 : momentum ? 1 : 0; }
};

// Why a setup cannot be run: sizes that do not divide, a schedule's shape, what the framework has no operators for. Empty where
// it can.
[[nodiscard]] std::string training_refusal(const TrainingSetup& setup);

[[nodiscard]] std::int64_t most_layers_of_a_chunk(const TrainingSetup& setup);

// Returns how much plan.recompute computes again of the layers that it could: less than 1 with recompute_layers.
[[nodiscard]] double recomputed_share(const TrainingSetup& setup);

// FLOPs that adapters (LoRA) save of a step of `tokens`: frozen matrices have no weight gradient. What adapters compute
// themselves is taken off. 0 without them.
[[nodiscard]] double flops_saved_by_lora(const TrainingSetup& setup, double tokens);

// A ConfigError says training_refusal(). Where `fold` is set, the ranks of a stage do the same at the same time, and the first
// of them is their leader (Program::ranks).
[[nodiscard]] Program training_program(const TrainingSetup& setup, const KernelTimes& times, const net::Topology& topology,
                                       bool fold);

}  // namespace weft::work
