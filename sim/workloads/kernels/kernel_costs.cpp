#include "sim/workloads/kernels/kernel_costs.h"

#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/contention.h"
#include "sim/workloads/kernels/copy_costs.h"
#include "sim/workloads/kernels/launch_costs.h"

namespace weft::work {
namespace {

constexpr Origin kSteps{.source = ParamSource::kFitted, .reference = "models/training_steps §3", .gpu = "H200"};
constexpr Origin kMatmul{.source = ParamSource::kLiterature,
                         .reference = "models/workloads §4.1: most that matmul was seen to reach",
                         .gpu = "H100"};
constexpr Origin kMemory{.source = ParamSource::kLiterature, .reference = "models/workloads §1.3: 0.75 to 0.9 above 10 MB"};

constexpr Origin kAdam{
    .source = ParamSource::kFitted,
    .reference = "models/training_steps §4: fp32 states, 28 bytes a parameter (validate/measured/h100x1_torch.json)",
    .gpu = "H100"};

template <class S>
Param<S> share(const char* name, double S::*member, const Origin& from, const char* description) {
  return from_origin(param<S>(name, member, {.unit = "ratio", .min = 0.01, .max = 1.0, .description = description}), from);
}

template <class S>
Param<S> time(const char* name, Duration S::*member, const char* description) {
  return from_origin(param<S>(name, member, {.max = 1_ms, .description = description}), kSteps);
}

template <class S>
Param<S> per_element(const char* name, double S::*member, const char* description) {
  return from_origin(param<S>(name, member, {.unit = "ps", .min = 0.0, .max = 1000.0, .description = description}), kSteps);
}

constexpr Origin kMegatronKernels{.source = ParamSource::kMeasured,
                                  .reference = "validate/measured/h200x1_megatron_kernels.json, at 1.98 GHz",
                                  .gpu = "H200"};

Param<MemoryCosts> of_megatron(const char* name, double MemoryCosts::*member, const char* description) {
  return from_origin(param<MemoryCosts>(name, member, {.unit = "ps", .min = 0.0, .max = 1000.0, .description = description}),
                     kMegatronKernels);
}

constexpr Origin kTables{.source = ParamSource::kFitted, .reference = "models/workloads §4.2: public tables", .gpu = "H100"};

constexpr Origin kIntegerTables{.source = ParamSource::kFitted,
                                .reference = "models/workloads §4.2: public tables of A100, taken over by other GPUs",
                                .gpu = "A100"};
// The late start of A100's plug-ins holds for no other library.
constexpr Origin kIntegerKernels{.source = ParamSource::kFitted,
                                 .reference =
                                     "models/workloads §4.2: kernels of PyTorch and Triton in one to sixteen rows "
                                     "(validate/measured/h200x1_integer_products.ndjson), taken over by other GPUs",
                                 .gpu = "H200"};

struct IntegerOrigins {
  const Origin& large;  // rate and a tile's overhead, which products of many rows tell
  const Origin& small;
};

std::vector<Param<IntegerGemmCosts>> integer_costs(const IntegerGemmCosts& defaults, const IntegerOrigins& origins) {
  using C = IntegerGemmCosts;
  const auto with_default = [&defaults](Param<C> made, auto C::*member, const Origin& origin) {
    made.info.default_value = defaults.*member;
    return from_origin(std::move(made), origin);
  };
  const auto duration = [&](const char* name, Duration C::*member, const Origin& origin, const char* text) {
    return with_default(param<C>(name, member, {.max = 100_us, .description = text}), member, origin);
  };
  return {with_default(param("rate", &C::rate,
                             {.unit = "ratio", .min = 0.01, .max = 2.0, .description = "share of the peak over that of bf16"}),
                       &C::rate, origins.large),
          duration("fixed", &C::fixed, origins.small, "of a kernel, beyond that of bf16"),
          duration("tile_overhead", &C::tile_overhead, origins.large, "of a tile of 128 x 256, in proportion to its area"),
          duration("loop_latency", &C::loop_latency, origins.small, "of a step of the main loop, 128 bytes of A's k"),
          with_default(share("memory_efficiency", &C::memory_efficiency, origins.small, "of the HBM bandwidth"),
                       &C::memory_efficiency, origins.small)};
}

std::vector<Param<IntegerGemmCosts>> weight_only_params(const IntegerGemmCosts& defaults) {
  std::vector<Param<IntegerGemmCosts>> params = integer_costs(defaults, {.large = kIntegerTables, .small = kIntegerKernels});
  params.push_back(
      from_origin(param("weights_per_clock", &IntegerGemmCosts::weights_per_clock,
                        {.unit = "1/clock", .min = 1.0, .max = 1000.0, .description = "weights that an SM turns into bf16"}),
                  kIntegerKernels));
  return params;
}

constexpr Origin kPaged{.source = ParamSource::kFitted, .reference = "models/workloads §4.3: public tables", .gpu = "H100"};

template <class S>
Param<S> table_time(const char* name, Duration S::*member, const char* description) {
  return from_origin(param<S>(name, member, {.max = 100_us, .description = description}), kTables);
}

ParamGroup<ScaledGemmCosts> scaled_costs(const char* path, const char* description, const ScaledGemmCosts& defaults) {
  using C = ScaledGemmCosts;
  const auto duration = [&defaults](const char* name, Duration C::*member, const char* text) {
    Param<C> made = table_time(name, member, text);
    made.info.default_value = defaults.*member;
    return made;
  };
  return {path,
          description,
          {from_origin(param("rate", &C::rate,
                             {.unit = "ratio", .min = 0.01, .max = 2.0, .description = "over that of one scale a tensor"}),
                       kTables),
           duration("loop_latency", &C::loop_latency, "of a step of the main loop, 128 bytes of k: in place of that of bf16"),
           duration("quantize_fixed", &C::quantize_fixed, "of making A low-precision"),
           share("quantize_efficiency", &C::quantize_efficiency, kTables, "of the HBM bandwidth, there"),
           duration("quantize_row", &C::quantize_row, "of a row of A, however short")}};
}

template <class S>
Param<S> table_value(const char* name, double S::*member, double max, const char* unit, const char* description) {
  return from_origin(param<S>(name, member, {.unit = unit, .min = 0.0, .max = max, .description = description}), kPaged);
}

constexpr Origin kExpertTables{
    .source = ParamSource::kFitted, .reference = "models/workloads §4.7: public tables", .gpu = "H100"};

ParamGroup<ExpertCosts> expert_costs(const char* path, const char* description) {
  using C = ExpertCosts;
  const auto number = [](const char* name, double C::*member, double min, double max, const char* unit, const char* text) {
    return from_origin(param<C>(name, member, {.unit = unit, .min = min, .max = max, .description = text}), kExpertTables);
  };
  const auto duration = [](const char* name, Duration C::*member, const char* text) {
    return from_origin(param<C>(name, member, {.max = 200_us, .description = text}), kExpertTables);
  };
  return {
      path,
      description,
      {share("efficiency", &C::efficiency, kExpertTables, "share of the tensor cores' peak in the main loop of a large tile"),
       number("small_tile_penalty", &C::small_tile_penalty, 0, 100, "FLOP/element",
              "intensity m n / (m + n) of a tile at which it would run at half its rate"),
       duration("fixed", &C::fixed, "of a call, beyond its products and passes"),
       duration("block_overhead", &C::block_overhead, "of a tile"),
       duration("loop_latency", &C::loop_latency, "of a step of the main loop, 128 bytes of k"),
       number("sm_bytes_per_clock", &C::sm_bytes_per_clock, 1, 1000, "B/clock", "that an SM loads from the L2"),
       number("memory_efficiency", &C::memory_efficiency, 0.01, 1.2, "ratio", "of the HBM bandwidth, of weights"),
       number("pass_efficiency", &C::pass_efficiency, 0.01, 2, "ratio",
              "of the HBM bandwidth, of permutation, activation and sum"),
       number("elsewhere", &C::elsewhere, 0, 2, "ratio",
              "of those passes, what a visit of an expert on another GPU costs here"),
       number("l2_share", &C::l2_share, 0.01, 2, "ratio", "of the L2, that weights stay in until the next call")}};
}

ParamGroup<PagedAttentionCosts> paged_costs(const char* path, const char* description) {
  using C = PagedAttentionCosts;
  return {
      path,
      description,
      {share("efficiency", &C::efficiency, kPaged, "share of the tensor cores' peak, of heads 128 wide"),
       table_value("softmax", &C::softmax, 2000, "FLOP", "of a query and a key, as FLOPs of the tensor cores"),
       from_origin(param<C>("fixed", &C::fixed, {.max = 100_us, .description = "of a call"}), kPaged),
       from_origin(param<C>("block_overhead", &C::block_overhead, {.max = 100_us, .description = "of a block"}), kPaged),
       table_value("tail", &C::tail, 1, "ratio", "part of the longest block's time in which the other SMs have nothing left"),
       table_value("edge_keys", &C::edge_keys, 512, "keys", "that a block of a prompt computes beyond those its queries meet"),
       from_origin(param<C>("fp8_rate", &C::fp8_rate,
                            {.unit = "ratio", .min = 0.1, .max = 2.0, .description = "with a cache in FP8, over bf16"}),
                   kPaged),
       from_origin(
           param<C>("fp8_load", &C::fp8_load,
                    {.unit = "ratio", .min = 0.5, .max = 4.0, .description = "time a byte of a cache in FP8, over bf16"}),
           kPaged),
       from_origin(param<C>("sm_bytes_per_clock", &C::sm_bytes_per_clock,
                            {.unit = "B/clock", .min = 1.0, .max = 1000.0, .description = "that an SM loads, decoding"}),
                   kPaged),
       share("memory_efficiency", &C::memory_efficiency, kPaged, "of the HBM bandwidth"),
       share("write_efficiency", &C::write_efficiency, kPaged, "the same of rows written to the cache"),
       share("l2_share", &C::l2_share, kPaged, "of the L2, that data stay in until they are used again")}};
}

}  // namespace

const ParamGroup<GemmCosts> gemm_costs{
    "gpu.gemm",
    "matrix products",
    {share("efficiency", &GemmCosts::efficiency, kMatmul, "share of the tensor cores' peak in the main loop of a large tile"),
     share("fp8_efficiency", &GemmCosts::fp8_efficiency, kMatmul, "the same of the FP8 peak"),
     param("fp4_efficiency", &GemmCosts::fp4_efficiency,
           {.unit = "ratio", .min = 0.01, .max = 1.0, .description = "the same of the FP4 peak; as FP8"}),
     param("tf32_rate", &GemmCosts::tf32_rate,
           {.unit = "ratio",
            .min = 0.01,
            .max = 1.0,
            .source = ParamSource::kFitted,
            .reference = "20 products of H200 that lie by rows, which the tensor cores of Hopper take in 16 bits alone "
                         "(validate/measured/h200x2_full.jsonl)",
            .description = "share of the TF32 peak over that of bf16",
            .gpu = "H200"}),
     table_time("fixed", &GemmCosts::fixed, "of a kernel, beyond its tiles"),
     table_time("tile_overhead", &GemmCosts::tile_overhead, "of a tile of 128 x 256, in proportion to its area"),
     table_time("split_overhead", &GemmCosts::split_overhead, "of the kernel that sums the parts of a split inner dimension"),
     table_time("loop_latency", &GemmCosts::loop_latency, "of a step of the main loop, 128 bytes of k"),
     from_origin(param("sm_bytes_per_clock", &GemmCosts::sm_bytes_per_clock,
                       {.unit = "B/clock", .min = 1.0, .max = 1000.0, .description = "that an SM loads from the L2"}),
                 kTables),
     share("wave_rounding", &GemmCosts::wave_rounding, kTables, "of a last wave's idle SMs, what is lost: 1 without stream-K"),
     from_origin(
         param("memory_exposed", &GemmCosts::memory_exposed,
               {.unit = "ratio",
                .min = 0.0,
                .max = 4.0,
                .description =
                    "of the shorter one of computing and reading, squared, what adds to the longer one: 0 if it hides whole"}),
         kTables),
     share("memory_efficiency", &GemmCosts::memory_efficiency, kTables, "of the HBM bandwidth"),
     table_time("memory_latency", &GemmCosts::memory_latency, "before HBM delivers weights at that rate"),
     from_origin(param("l2_share", &GemmCosts::l2_share,
                       {.unit = "ratio", .min = 0.01, .max = 2.0, .description = "of the L2, that operands stay in"}),
                 kTables)}};

const ParamGroup<ScaledGemmCosts> fp8_tensor_costs =
    scaled_costs("gpu.fp8_tensor", "FP8 products with a scale for a tensor", {.loop_latency = 60_ns, .quantize_row = 100_ps});
const ParamGroup<ScaledGemmCosts> fp8_row_costs =
    scaled_costs("gpu.fp8_row", "FP8 products with a scale for a row", {.quantize_row = 7_ns});
const ParamGroup<ScaledGemmCosts> fp8_block_costs =
    scaled_costs("gpu.fp8_block", "FP8 products with a scale for 128 elements", {.quantize_row = 1_ns});
const ParamGroup<ScaledGemmCosts> fp4_costs =
    scaled_costs("gpu.fp4", "FP4 products", {.loop_latency = 200_ns, .quantize_row = 700_ps});

const ParamGroup<IntegerGemmCosts> int8_costs{
    "gpu.int8", "INT8 products (W8A8)",
    integer_costs({.rate = 0.905, .fixed = 5'580_ns, .tile_overhead = 3'680_ns, .memory_efficiency = 1},
                  {.large = kIntegerTables, .small = kIntegerTables})};
const ParamGroup<IntegerGemmCosts> weight_only_costs{
    "gpu.weight_only", "bf16 products with weights of 8 or 4 bits",
    weight_only_params(
        {.rate = 0.914, .fixed = 2_us, .tile_overhead = 1'280_ns, .loop_latency = 34_ns, .memory_efficiency = 0.866})};

const ParamGroup<ExpertCosts> bf16_expert_costs = expert_costs("gpu.experts_bf16", "a layer's experts in bf16");
const ParamGroup<ExpertCosts> fp8_expert_costs = expert_costs("gpu.experts_fp8", "experts in FP8 with a scale for a tensor");
const ParamGroup<ExpertCosts> fp8_block_expert_costs =
    expert_costs("gpu.experts_fp8_block", "experts in FP8 with a scale for 128 elements");
const ParamGroup<ExpertCosts> fp4_expert_costs = expert_costs("gpu.experts_fp4", "experts in FP4");
const ParamGroup<WeightOnlyExpertCosts> weight_only_expert_costs{
    "gpu.experts_weight_only",
    "experts in bf16 with weights of 8 or 4 bits",
    {param("rate", &WeightOnlyExpertCosts::rate,
           {.unit = "ratio", .min = 0.01, .max = 2.0, .description = "share of the peak over that of experts in bf16"})}};

namespace {

Param<AttentionCosts> flash2(const char* name, double AttentionCosts::*member, const char* description) {
  return param<AttentionCosts>(name, member,
                               {.unit = "ratio",
                                .min = 0.0,
                                .max = 1.0,
                                .source = ParamSource::kLiterature,
                                .reference = "models/workloads §4.3: before Hopper the fastest kernels are FlashAttention-2's",
                                .description = description});
}

Param<AttentionCosts> softmax_of(const char* name, double AttentionCosts::*member, const std::string& kernels,
                                 const char* description) {
  return param<AttentionCosts>(
      name, member,
      {.unit = "FLOP",
       .min = 0.0,
       .max = 10'000.0,
       .source = ParamSource::kLiterature,
       .reference = "FlashAttention-3 (arXiv:2407.08608), figure 5: " + kernels + " at head widths of 64 and 128",
       .description = description,
       .gpu = "H100"});
}

}  // namespace

const ParamGroup<AttentionCosts> attention_costs{
    "gpu.attention",
    "flash attention",
    {share("forward_efficiency", &AttentionCosts::forward_efficiency, kSteps, "share of the tensor cores' peak"),
     share("backward_efficiency", &AttentionCosts::backward_efficiency, kSteps, "the same of the backward kernel"),
     softmax_of("softmax", &AttentionCosts::softmax, "cuDNN",
                "of the tensor cores, that take as long as the softmax of a query and a key"),
     time("block_overhead", &AttentionCosts::block_overhead, "of a block of 128 queries; 2.5 times that backward"),
     param("tail", &AttentionCosts::tail,
           {.unit = "ratio",
            .min = 0.0,
            .max = 1.0,
            .source = kSteps.source,
            .reference = std::string{kSteps.reference},
            .description = "part of the longest block's time in which the other SMs have nothing left",
            .gpu = std::string{kSteps.gpu}}),
     share("memory_efficiency", &AttentionCosts::memory_efficiency, kMemory, "of the HBM bandwidth, of decoding"),
     flash2("flash2_forward_efficiency", &AttentionCosts::flash2_forward_efficiency,
            "FlashAttention-2's share of the peak; 0: as forward_efficiency"),
     flash2("flash2_backward_efficiency", &AttentionCosts::flash2_backward_efficiency, "the same of its backward kernel"),
     softmax_of("flash2_softmax", &AttentionCosts::flash2_softmax, "FlashAttention-2",
                "softmax of FlashAttention-2, where it has rates of its own")}};

const ParamGroup<PagedAttentionCosts> prefill_costs = paged_costs("gpu.prefill", "attention of prompts over a paged cache");
const ParamGroup<PagedAttentionCosts> decode_costs = paged_costs("gpu.decode", "attention of answers over a paged cache");
const ParamGroup<PagedAttentionCosts> latent_prefill_costs = paged_costs("gpu.latent_prefill", "MLA of prompts");
const ParamGroup<PagedAttentionCosts> latent_decode_costs = paged_costs("gpu.latent_decode", "MLA of answers, absorbed");

const ParamGroup<MemoryCosts> memory_costs{
    "gpu.memory",
    "kernels bound by memory or by the work on each element",
    {time("fixed", &MemoryCosts::fixed, "of a kernel"),
     share("contiguous_efficiency", &MemoryCosts::contiguous_efficiency, kMemory, "of the HBM bandwidth: elementwise, copies"),
     share("softmax_efficiency", &MemoryCosts::softmax_efficiency, kSteps, "the same of softmax passes over logits"),
     share("gather_efficiency", &MemoryCosts::gather_efficiency, kSteps, "the same of an embedding's rows"),
     share("fill_efficiency", &MemoryCosts::fill_efficiency, kSteps, "the same of writing constants"),
     per_element("strided_forward_ps", &MemoryCosts::strided_forward_ps, "strided SiLU, multiply, cast to fp32"),
     per_element("strided_activation_backward_ps", &MemoryCosts::strided_activation_backward_ps, "strided SiLU backward"),
     per_element("strided_copy_ps", &MemoryCosts::strided_copy_ps, "copy of a permuted view"),
     per_element("strided_stack_ps", &MemoryCosts::strided_stack_ps, "stack of dQ, dK and dV"),
     per_element("attention_ends_ps", &MemoryCosts::attention_ends_ps, "before and after attention's backward"),
     of_megatron("scores_softmax_ps", &MemoryCosts::scores_softmax_ps, "softmax of scores that were written"),
     of_megatron("gelu_ps", &MemoryCosts::gelu_ps, "bias and GeLU, compiled by torch.jit"),
     of_megatron("gelu_backward_ps", &MemoryCosts::gelu_backward_ps, "gradient of that"),
     per_element("norm_forward_ps", &MemoryCosts::norm_forward_ps, "RMSNorm"),
     per_element("norm_backward_ps", &MemoryCosts::norm_backward_ps, "gradient of a norm's input"),
     per_element("norm_weight_gradient_ps", &MemoryCosts::norm_weight_gradient_ps, "gradient of a norm's weight"),
     per_element("embedding_backward_ps", &MemoryCosts::embedding_backward_ps, "scatter of gradients into an embedding"),
     per_element("fill_ps", &MemoryCosts::fill_ps, "constant written by a kernel"),
     share("l2_share", &MemoryCosts::l2_share, kSteps, "of the L2, that still holds a norm's input")}};

const ParamGroup<OptimizerCosts> optimizer_costs{
    "gpu.optimizer",
    "fused Adam",
    {time("fixed", &OptimizerCosts::fixed, "of a kernel"),
     share("efficiency", &OptimizerCosts::efficiency, kAdam, "of the HBM bandwidth"),
     per_element("adam_ps", &OptimizerCosts::adam_ps, "a parameter"),
     per_element("mostly_zero_ps", &OptimizerCosts::mostly_zero_ps, "a parameter whose gradients are mostly zeros")}};

const ParamGroup<StreamCosts> stream_costs{
    "gpu.stream",
    "the order of kernels in a stream",
    {param("gap", &StreamCosts::gap,
           {.max = 100_us,
            .source = ParamSource::kMeasured,
            .reference = "models/training_steps §2",
            .description = "from the end of a kernel to the start of the next that was issued in time",
            .gpu = "H200"}),
     param("graph_gap", &StreamCosts::graph_gap,
           {.max = 100_us,
            .source = ParamSource::kLiterature,
            .reference = "models/workloads §4.4: 0.5 to 1 us a node",
            .description = "the same between kernels of a CUDA graph"}),
     param("host_operator", &StreamCosts::host_operator,
           {.max = 1_ms,
            .source = ParamSource::kFitted,
            .reference = "a small step of Hugging Face's Llama that the host paces (validate/measured/h100x2_hf_steps.json); "
                         "models/workloads §4.4: an operator of eager PyTorch costs 5 to 15 us",
            .description = "of the host for an operator, where it alone decides the pace (lists of a tensor per rank)",
            .gpu = "H100"})}};

ParamGroups kernel_param_groups() {
  return {&gemm_costs,           &fp8_tensor_costs,    &fp8_row_costs,
          &fp8_block_costs,      &fp4_costs,           &attention_costs,
          &bf16_expert_costs,    &fp8_expert_costs,    &fp8_block_expert_costs,
          &int8_costs,           &weight_only_costs,   &weight_only_expert_costs,
          &fp4_expert_costs,     &prefill_costs,       &decode_costs,
          &latent_prefill_costs, &latent_decode_costs, &memory_costs,
          &optimizer_costs,      &stream_costs,        &launch_costs,
          &contention_costs,     &copy_costs,          &power_costs,
          &power_limit,          &power_spread};
}

}  // namespace weft::work
