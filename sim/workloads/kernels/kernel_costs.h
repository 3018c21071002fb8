// Costs of kernels on a GPU beyond its data sheet: parameter groups of the profile, one for each class of kernels.
// kernel_times.h says how they are used. Efficiencies are shares of the GPU's own peaks. Costs per element are those of a GPU
// of 132 SMs at 1.83 GHz (H100, H200), and in inverse proportion to SMs x clock on others.
#pragma once

#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::work {

using namespace literals;

struct GemmCosts {
  double efficiency = 0.803;           // of the tensor cores' peak, in the main loop of a 128 x 256 tile
  double fp8_efficiency = 0.709;       // the same of the FP8 peak
  double fp4_efficiency = 0.7;         // and of the FP4 peak
  double tf32_rate = 0.9;              // of TF32 over that of bf16, where both operands lie by rows
  Duration fixed = 2_us;               // of a kernel: its prologue, and filling the pipeline
  Duration tile_overhead = 1'500_ns;   // of a tile of 128 x 256, in proportion to its area: its epilogue
  Duration split_overhead = 2'800_ns;  // of the kernel that sums the parts of a split inner dimension
  Duration loop_latency = 60_ns;       // of a step of the main loop, 128 bytes of k
  double sm_bytes_per_clock = 64;      // that an SM loads from the L2
  double wave_rounding = 0.6;          // of a last wave's idle SMs, what is lost: 1 without stream-K
  double memory_exposed = 1;           // of the shorter one of computing and reading, how much shows: 0 if it hides whole
  double memory_efficiency = 0.88;     // of the HBM bandwidth
  Duration memory_latency = 900_ns;    // before HBM delivers at that rate
  double l2_share = 0.5;               // of the L2, that operands of the kernel before stay in
};
extern const ParamGroup<GemmCosts> gemm_costs;

// GEMMs of low precision: what their library and their scales change.
struct ScaledGemmCosts {
  double rate = 1;                   // over that of one scale a tensor
  Duration loop_latency = 100_ns;    // of a step of the main loop, 128 bytes of k: in place of that of bf16
  Duration quantize_fixed = 4_us;    // of making A low-precision
  double quantize_efficiency = 0.4;  // of the HBM bandwidth, there
  Duration quantize_row = {};        // of a row of A, however short
};
extern const ParamGroup<ScaledGemmCosts> fp8_tensor_costs;
extern const ParamGroup<ScaledGemmCosts> fp8_row_costs;
extern const ParamGroup<ScaledGemmCosts> fp8_block_costs;
extern const ParamGroup<ScaledGemmCosts> fp4_costs;

// GEMMs with weights of integers, in place of what GemmCosts says of the same. Their libraries do not split the inner
// dimension. An SM turns weights alone into bf16 for each tile that needs them.
struct IntegerGemmCosts {
  double rate = 1;                    // share of the peak over that of bf16
  Duration fixed = {};                // of a kernel, beyond that of bf16
  Duration tile_overhead = 1'500_ns;  // of a tile of 128 x 256, in proportion to its area
  Duration loop_latency = 60_ns;      // of a step of the main loop, 128 bytes of A's k
  double memory_efficiency = 0.88;    // of the HBM bandwidth
  double weights_per_clock = 20;      // that an SM turns into bf16, of weight-only products
};
extern const ParamGroup<IntegerGemmCosts> int8_costs;
extern const ParamGroup<IntegerGemmCosts> weight_only_costs;

// A layer's experts in one call, by the libraries that serving engines use for a precision.
struct ExpertCosts {
  double efficiency = 0.8;           // of the tensor cores' peak, of a tile of 128 x 256
  double small_tile_penalty = 5;     // as GemmCosts has it
  Duration fixed = 30_us;            // of a call: choice, alignment, permutation, sum
  Duration block_overhead = 500_ns;  // of a tile
  Duration loop_latency = 60_ns;     // of a step of the main loop, 128 bytes of k
  double sm_bytes_per_clock = 40;    // that an SM loads from the L2
  double memory_efficiency = 0.95;   // of the HBM bandwidth
  double pass_efficiency = 0.7;      // the same of permutation, activation and sum
  double elsewhere = 0.5;            // of those passes, what a visit of an expert on another GPU still costs here
  double l2_share = 0.6;             // of the L2, that weights stay in until the next call
};
extern const ParamGroup<ExpertCosts> bf16_expert_costs;
extern const ParamGroup<ExpertCosts> fp8_expert_costs;
extern const ParamGroup<ExpertCosts> fp8_block_expert_costs;
extern const ParamGroup<ExpertCosts> fp4_expert_costs;

// Experts in bf16 with weights of 8 or 4 bits, beside those in bf16.
struct WeightOnlyExpertCosts {
  double rate = 1;  // share of the peak over that of bf16
};
extern const ParamGroup<WeightOnlyExpertCosts> weight_only_expert_costs;

struct AttentionCosts {
  double forward_efficiency = 0.72;  // of the tensor cores' peak, of heads 128 wide
  double backward_efficiency = 0.65;
  double softmax = 390;               // FLOPs of the tensor cores that take as long as the softmax of a query and a key
  Duration block_overhead = 2600_ns;  // of a block of queries; 2.5 times that backward, as its products are
  double tail = 0.74;                 // of the longest block's time, in which the others have ended
  double memory_efficiency = 0.85;
  // FlashAttention-2, in place of the same above; its kernels use none of what Hopper added. 0: it reaches what the others do.
  double flash2_forward_efficiency = 0;
  double flash2_backward_efficiency = 0;
  double flash2_softmax = 84;
};
extern const ParamGroup<AttentionCosts> attention_costs;

// Attention over the paged cache of a serving engine. MLA has kernels of its own.
struct PagedAttentionCosts {
  double efficiency = 0.7;         // of the tensor cores' peak, of heads 128 wide
  double softmax = 70;             // FLOPs of the tensor cores that take as long as the softmax of a query and a key
  Duration fixed = 16_us;          // of a call
  Duration block_overhead = 2_us;  // of a block of queries, or of a part of the keys
  double tail = 0.4;               // of the longest block, in which the others have ended
  double edge_keys = 100;          // that a block of a prompt computes beyond those its queries meet
  double fp8_rate = 0.9;           // where the cache is in FP8, over that with bf16
  double fp8_load = 1.1;           // time to load a byte of such a cache, over that of bf16
  double sm_bytes_per_clock = 32;  // that an SM loads, decoding
  double memory_efficiency = 0.9;  // of the HBM bandwidth
  double write_efficiency = 0.3;   // the same of small rows written to the cache
  double l2_share = 0.45;          // of the L2, that data stay in until they are used again
};
extern const ParamGroup<PagedAttentionCosts> prefill_costs;
extern const ParamGroup<PagedAttentionCosts> decode_costs;
extern const ParamGroup<PagedAttentionCosts> latent_prefill_costs;
extern const ParamGroup<PagedAttentionCosts> latent_decode_costs;

struct MemoryCosts {
  Duration fixed = 1_us;
  double contiguous_efficiency = 0.85;  // of the HBM bandwidth
  double softmax_efficiency = 0.55;
  double gather_efficiency = 0.7;
  double fill_efficiency = 0.96;
  double strided_forward_ps = 2.83;  // per element, as all that follow
  double strided_activation_backward_ps = 3.4;
  double strided_copy_ps = 2.66;
  double strided_stack_ps = 4.2;
  double attention_ends_ps = 2.0;
  double scores_softmax_ps = 2.03;
  double gelu_ps = 4.0;
  double gelu_backward_ps = 4.16;
  double norm_forward_ps = 1.7;
  double norm_backward_ps = 2.3;
  double norm_weight_gradient_ps = 1.5;
  double embedding_backward_ps = 17;
  double fill_ps = 0.6;
  double l2_share = 0.6;  // of the L2, that holds what the kernel before a norm wrote, or the call before read and wrote
};
extern const ParamGroup<MemoryCosts> memory_costs;

struct OptimizerCosts {
  Duration fixed = 1_us;
  double efficiency = 0.78;     // of the HBM bandwidth
  double adam_ps = 4.3;         // of arithmetic per parameter
  double mostly_zero_ps = 8.3;  // per parameter of an embedding
};
extern const ParamGroup<OptimizerCosts> optimizer_costs;

struct StreamCosts {
  Duration gap = 1'700_ns;
  Duration graph_gap = 500_ns;
  Duration host_operator = 13_us;
};
extern const ParamGroup<StreamCosts> stream_costs;

// All groups under gpu.*: these, gpu.contention, gpu.copy, gpu.power, gpu.power_limit and gpu.binning.
[[nodiscard]] ParamGroups kernel_param_groups();

}  // namespace weft::work
