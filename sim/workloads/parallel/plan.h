// How a model is spread over GPUs and over time: the parallel plan, the batch and the precisions of a training step. Names are
// Megatron-LM's and PyTorch's. What a plan means for a rank is in rank_groups.h; reading and checking it in plan_reader.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/workloads/model/transformer.h"

namespace weft::work {

// How replicas keep their parameters and gradients the same.
enum class DataParallelism : std::uint8_t {
  kNone,                  // not at all: replicas go their own ways, as benchmarks of one axis do
  kDdp,                   // PyTorch DDP: buckets all-reduced during the backward pass
  kMegatron,              // Megatron's DDP: one contiguous buffer, buckets of max(40e6, 1e6 d) parameters where they overlap
  kDistributedOptimizer,  // ZeRO-1 (zero: 1) and ZeRO-2 (zero: 2): gradients reduce-scattered, parameters all-gathered
  kFsdp,                  // ZeRO-3: units gathered before use, gradients reduce-scattered after it
  kDeepSpeed2021,         // ZeRO-3 matrix by matrix, the host waiting for each (deepspeed_sync.cpp)
};

enum class ContextKind : std::uint8_t { kRing, kAllGather, kUlysses };
enum class Recompute : std::uint8_t {
  kNone,
  kSelective,  // attention
  kFull,       // layers
  kOperators,  // all but attention and every second matrix product (torchtitan's "selective op")
};

// Megatron-LM's --recompute-method.
enum class RecomputeMethod : std::uint8_t {
  kBlock,    // the first recompute_layers of each chunk, one by one
  kUniform,  // all, in groups of recompute_layers whose first input alone is kept
};

struct ParallelPlan {
  int tensor = 1;
  int pipeline = 1;
  int data = 1;  // d: replicas of the dense part; groups of gradients span data x context
  int context = 1;
  int expert = 1;         // e: divides data x context x tensor / expert_tensor
  int expert_tensor = 0;  // t_e; 0: as `tensor`
  DataParallelism data_parallelism = DataParallelism::kDdp;
  int zero = 0;        // 0 .. 3: what is sharded over data (optimizer, gradients, parameters)
  int fsdp_shard = 0;  // HSDP: ranks of a shard group; 0: all of data x context
  bool reshard_after_forward = true;
  bool sequence_parallel = false;
  ContextKind context_kind = ContextKind::kAllGather;
  std::string schedule = "1f1b";  // registered name, see pipeline_schedule.h
  int virtual_stages = 1;         // v: model chunks per rank (interleaved)
  int microbatch_group = 0;       // interleaved: microbatches in a row of one chunk; 0: as many as stages
  // Layers of the first and of the last stage, over all their chunks; -1: an even share.
  std::int64_t first_stage_layers = -1;
  std::int64_t last_stage_layers = -1;
  Recompute recompute = Recompute::kNone;
  RecomputeMethod recompute_method = RecomputeMethod::kBlock;
  std::int64_t recompute_layers = 0;  // of kFull, as the method has it; 0: all of each chunk, one by one
  bool recompute_as_needed = false;   // kFull, of the fewest layers that fit; run_training() finds how many
  bool overlap_grad_reduce = true;
  bool overlap_param_gather = true;
  bool overlap_p2p = true;         // interleaved schedules: sends and receives beside compute
  bool overlap_tensor = false;     // userbuffers, async TP
  bool overlap_expert = false;     // expert all-to-all beside another microbatch's compute
  Bytes bucket = Bytes{25 << 20};  // of DDP
  Bytes first_bucket = Bytes{1 << 20};
  std::string order = "tp-cp-ep-dp-pp";     // leftmost varies fastest
  std::vector<std::int32_t> rank_map = {};  // endpoint index of each rank; empty: rank r on endpoint r

  [[nodiscard]] int world() const { return tensor * pipeline * data * context; }
  [[nodiscard]] int expert_tensor_size() const { return expert_tensor > 0 ? expert_tensor : tensor; }
  // Returns the recomputation of the layer that lies `index` behind its chunk's first one.
  [[nodiscard]] Recompute recompute_of(std::int64_t index) const {
    const bool is_kept = recompute == Recompute::kFull && recompute_method == RecomputeMethod::kBlock && recompute_layers > 0 &&
                         index >= recompute_layers;
    return is_kept ? Recompute::kNone : recompute;
  }
  // Returns how many layers are recomputed together.
  [[nodiscard]] std::int64_t recompute_group() const {
    return recompute_method == RecomputeMethod::kUniform && recompute_layers > 0 ? recompute_layers : 1;
  }
  [[nodiscard]] int expert_data() const { return world() / (expert_tensor_size() * expert * pipeline); }
};

struct Batch {
  std::int64_t global = 1;  // sequences per step
  std::int64_t micro = 1;   // sequences per microbatch and data-parallel rank
  std::int64_t sequence = 0;

  [[nodiscard]] std::int64_t microbatches(const ParallelPlan& plan) const { return global / (micro * plan.data); }
};

// Precision per tensor class.
struct PrecisionPlan {
  Precision compute = Precision::kBf16;  // of GEMMs in linear layers
  Precision activations = Precision::kBf16;
  Precision parameters = Precision::kBf16;
  Precision gradients = Precision::kBf16;  // that are communicated and kept
  Precision optimizer = Precision::kFp32;  // of each of the two moments
  bool master_parameters = true;           // an fp32 copy of the parameters in the optimizer
  Precision dispatch = Precision::kBf16;   // expert dispatch on the wire
  Precision combine = Precision::kBf16;
};

// How many of a token's copies travel between nodes.
enum class ExpertDispatch : std::uint8_t {
  kAsRouted,  // per node where routing is limited to some nodes, else per expert
  kPerExpert,
  kPerNode,  // one copy, made there for the experts on it (DeepEP)
};

// Tokens of experts, by rank of the expert group: how uneven routing is.
struct ExpertLoad {
  double imbalance = 1.0;  // most loaded rank's tokens over the mean; 1: balanced
  double power_law = 0;    // in its place: exponent of the experts' loads (kernels/experts.h); 0: none
  // An expert takes so many times the mean of a rank's copies, and drops the rest; 0: dropless. Each is padded to that, or not.
  double capacity_factor = 0;
  bool pads_to_capacity = true;
  ExpertDispatch dispatch = ExpertDispatch::kAsRouted;

  // Returns the share of the tokens' choices that a capacity leaves. Every expert is taken to be full where it is too small.
  [[nodiscard]] double computed_share() const { return capacity_factor > 0 && capacity_factor < 1 ? capacity_factor : 1; }
};
// The most that `imbalance` can be: a rank has at most all tokens of its group, and of each at most those of its experts that a
// token can choose.
[[nodiscard]] constexpr double most_imbalance(int ranks, std::int64_t experts, std::int64_t experts_per_token) {
  const double by_choice = static_cast<double>(experts) / static_cast<double>(experts_per_token);
  return by_choice < ranks ? by_choice : ranks;
}

}  // namespace weft::work
