#include "sim/workloads/kernels/kernel_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"
#include "sim/workloads/kernels/experts.h"
#include "sim/workloads/kernels/kernel_costs.h"
#include "sim/workloads/kernels/paged_attention.h"
#include "sim/workloads/kernels/product_residuals.h"

namespace weft::work {
namespace {

// Libraries choose from these tiles (names of their kernels in traces; 64 and fewer rows or columns: cuBLAS of decoding). On
// Blackwell a tile of 256 x 256 over two SMs is 128 x 256 to each.
constexpr std::array<TileShape, 17> kTiles{{{256, 128},
                                            {128, 256},
                                            {320, 128},
                                            {128, 320},
                                            {192, 192},
                                            {192, 128},
                                            {128, 192},
                                            {128, 128},
                                            {64, 256},
                                            {256, 64},
                                            {128, 64},
                                            {64, 128},
                                            {64, 64},
                                            {32, 128},
                                            {128, 32},
                                            {16, 64},
                                            {64, 16}}};
constexpr std::array<int, 6> kSplits{1, 2, 4, 8, 16, 32};  // of the inner dimension, for outputs of few tiles
constexpr double kLoopBytes = 128;                         // of k, a step of the main loop
constexpr double kLeastSplitBytes = 2 * kLoopBytes;        // and of k, a part's least
constexpr double kAccumulatorBytes = 4;
constexpr double kOutputBytes = 2;  // bf16 from FP8 operands too

// The GPU that costs per element are stated for (kernel_costs.h).
constexpr double kReferenceSmGhz = 132 * 1.83;

constexpr std::int64_t kAttentionRows = 128;  // queries of one block
constexpr double kBackwardProducts = 2.5;     // for each forward: five matrices for two

// Two limits that a kernel meets together: a fifth above both where they are alike (models/training_steps §4).
double smooth_max(double a, double b) { return std::sqrt(std::sqrt(a * a * a * a + b * b * b * b)); }

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How much longer a pair of query and key takes than its products do, over the same of heads 128 wide. Wider heads gain
// nothing: their accumulators fill the registers.
double softmax_stretch(double softmax, double per_width, double widths) {
  constexpr double kReferenceWidths = 256;  // of keys and values
  if (widths <= 0) return 1.0;
  return std::max(1.0, (1.0 + softmax / (per_width * widths)) / (1.0 + softmax / (per_width * kReferenceWidths)));
}

AttentionCosts as_flash2(AttentionCosts costs) {
  if (costs.flash2_forward_efficiency <= 0 || costs.flash2_backward_efficiency <= 0) return costs;
  costs.forward_efficiency = costs.flash2_forward_efficiency;
  costs.backward_efficiency = costs.flash2_backward_efficiency;
  costs.softmax = costs.flash2_softmax;
  return costs;
}

ExpertCosts weight_only_experts(const Profile& profile) {
  ExpertCosts costs = profile.get(bf16_expert_costs);
  costs.efficiency *= profile.get(weight_only_expert_costs).rate;
  return costs;
}

OperandBytes read_as(const GpuSpec& gpu, Precision precision) {
  return operand_bytes(is_weight_only(precision) ? precision : runs_as(gpu, precision));
}

}  // namespace

struct KernelTimes::Parameters {
  GpuSpec gpu;
  GemmCosts gemm;
  ScaledGemmCosts fp8_tensor;
  ScaledGemmCosts fp8_row;
  ScaledGemmCosts fp8_block;
  ScaledGemmCosts fp4;
  IntegerGemmCosts int8;
  IntegerGemmCosts weight_only;
  ExpertCosts bf16_experts;
  ExpertCosts fp8_experts;
  ExpertCosts fp8_block_experts;
  ExpertCosts fp4_experts;
  ExpertCosts weight_only_experts;
  AttentionCosts attention;
  PagedAttentionCosts prefill;
  PagedAttentionCosts decode;
  PagedAttentionCosts latent_prefill;
  PagedAttentionCosts latent_decode;
  MemoryCosts memory;
  OptimizerCosts optimizer;
  StreamCosts stream;
  ProductResiduals products;
};

GemmWaves gemm_waves(std::int64_t m, std::int64_t n, std::int64_t batch, TileShape tile, int sms) {
  const std::int64_t tiles = divided_up(m, tile.m) * divided_up(n, tile.n) * batch;
  return {.tiles = tiles, .waves = divided_up(tiles, sms)};
}

KernelTimes::KernelTimes(const GpuSpec& gpu, const Profile& profile)
    : parameters_{std::make_unique<Parameters>(Parameters{.gpu = gpu,
                                                          .gemm = profile.get(gemm_costs),
                                                          .fp8_tensor = profile.get(fp8_tensor_costs),
                                                          .fp8_row = profile.get(fp8_row_costs),
                                                          .fp8_block = profile.get(fp8_block_costs),
                                                          .fp4 = profile.get(fp4_costs),
                                                          .int8 = profile.get(int8_costs),
                                                          .weight_only = profile.get(weight_only_costs),
                                                          .bf16_experts = profile.get(bf16_expert_costs),
                                                          .fp8_experts = profile.get(fp8_expert_costs),
                                                          .fp8_block_experts = profile.get(fp8_block_expert_costs),
                                                          .fp4_experts = profile.get(fp4_expert_costs),
                                                          .weight_only_experts = weight_only_experts(profile),
                                                          .attention = profile.get(attention_costs),
                                                          .prefill = profile.get(prefill_costs),
                                                          .decode = profile.get(decode_costs),
                                                          .latent_prefill = profile.get(latent_prefill_costs),
                                                          .latent_decode = profile.get(latent_decode_costs),
                                                          .memory = profile.get(memory_costs),
                                                          .optimizer = profile.get(optimizer_costs),
                                                          .stream = profile.get(stream_costs),
                                                          .products = ProductResiduals{profile.products()}})} {
  check_computes(gpu, "the time of kernels");
}
KernelTimes::~KernelTimes() = default;
KernelTimes::KernelTimes(KernelTimes&&) noexcept = default;
KernelTimes& KernelTimes::operator=(KernelTimes&&) noexcept = default;

Duration KernelTimes::graph_gap() const { return parameters_->stream.graph_gap; }
Duration KernelTimes::gap() const { return parameters_->stream.gap; }
Duration KernelTimes::host_operator() const { return parameters_->stream.host_operator; }
const GpuSpec& KernelTimes::gpu() const { return parameters_->gpu; }

// FLOP/s that products of this precision reach, before the effects of their shapes.
double KernelTimes::matmul_rate(const GemmCosts& costs, Precision precision) const {
  const Precision used = runs_as(gpu(), precision);
  const auto efficiency = [&] {
    switch (used) {
      case Precision::kFp4:
        return costs.fp4_efficiency;
      case Precision::kFp8:
      case Precision::kMxfp8:
        return costs.fp8_efficiency;
      case Precision::kTf32:
        return costs.efficiency * costs.tf32_rate;
      default:
        return costs.efficiency;
    }
  };
  return peak(gpu(), used) * efficiency();
}

// Those of bf16, with what libraries of integers change.
GemmCosts KernelTimes::gemm_costs_of(const Kernel& kernel) const {
  GemmCosts costs = parameters_->gemm;
  if (!has_integer_weights(kernel.precision)) return costs;
  const IntegerGemmCosts& integers = is_weight_only(kernel.precision) ? parameters_->weight_only : parameters_->int8;
  costs.efficiency *= integers.rate;
  costs.fixed += integers.fixed;
  costs.tile_overhead = integers.tile_overhead;
  costs.loop_latency = integers.loop_latency;
  costs.memory_efficiency = integers.memory_efficiency;
  return costs;
}

// Null: of 16 bits and more, and of integers.
const ScaledGemmCosts* KernelTimes::scaled_costs_of(const Kernel& kernel) const {
  switch (runs_as(gpu(), kernel.precision)) {
    case Precision::kFp4:
      return &parameters_->fp4;
    case Precision::kMxfp8:
      return &parameters_->fp8_block;
    case Precision::kFp8:
      return kernel.scaling == Scaling::kTensor ? &parameters_->fp8_tensor
             : kernel.scaling == Scaling::kRow  ? &parameters_->fp8_row
                                                : &parameters_->fp8_block;
    default:
      return nullptr;
  }
}

const ExpertCosts& KernelTimes::expert_costs_of(const Kernel& kernel) const {
  if (is_weight_only(kernel.precision)) return parameters_->weight_only_experts;
  switch (runs_as(gpu(), kernel.precision)) {
    case Precision::kFp4:
      return parameters_->fp4_experts;
    case Precision::kMxfp8:
      return parameters_->fp8_block_experts;
    case Precision::kFp8:
      return kernel.scaling == Scaling::kBlock ? parameters_->fp8_block_experts : parameters_->fp8_experts;
    case Precision::kInt8:
      return parameters_->fp8_experts;
    default:
      return parameters_->bf16_experts;
  }
}

// cuBLAS splits the inner dimension, of bf16 and of FP8 with a scale for a tensor. The libraries of other scales do not: in the
// public tables of H200 and B200 their times follow no split, and neither do those of integers on A100.
bool KernelTimes::splits_inner(const Kernel& kernel) const {
  if (has_integer_weights(kernel.precision)) return false;
  const ScaledGemmCosts* scaled = scaled_costs_of(kernel);
  return scaled == nullptr || scaled == &parameters_->fp8_tensor;
}

// models/workloads §4.2: waves of tiles. A step of a tile's main loop takes what its products do at its SM's share of the peak,
// or what loading their operands from the L2 does, or what turning integers into bf16 does, or a latency. A tile of m x n loads
// m + n elements for m n multiplications; in products of weights alone no rows beyond the last.
double KernelTimes::tiled_seconds(const Kernel& kernel, int sms, double combine_bandwidth) const {
  const GemmCosts costs = gemm_costs_of(kernel);
  const ScaledGemmCosts* scaled = scaled_costs_of(kernel);
  const double sm_rate = matmul_rate(costs, kernel.precision) * (scaled != nullptr ? scaled->rate : 1.0) / gpu().sms;
  const double outputs = static_cast<double>(kernel.m) * static_cast<double>(kernel.n) * static_cast<double>(kernel.batch);
  const OperandBytes operand = operand_bytes(kernel.precision);
  const double width = operand.activation;
  const double sm_load = costs.sm_bytes_per_clock * gpu().clock_ghz * 1e9;
  const Duration step = scaled != nullptr ? scaled->loop_latency : costs.loop_latency;
  const double latency = step.seconds() * width / kLoopBytes;
  const double converting =
      is_weight_only(kernel.precision) ? 1.0 / (parameters_->weight_only.weights_per_clock * gpu().clock_ghz * 1e9) : 0.0;
  const double inner = std::ceil(static_cast<double>(kernel.k) * width / kLoopBytes) * kLoopBytes / width;
  double best = std::numeric_limits<double>::infinity();
  for (const TileShape tile : kTiles) {
    const double area = static_cast<double>(tile.m) * tile.n;
    const double rows = converting > 0 ? static_cast<double>(std::min<std::int64_t>(tile.m, kernel.m)) : tile.m;
    const double loading = (rows * width + tile.n * operand.weight) / sm_load;
    const double each = std::max({2.0 * area / sm_rate, loading, tile.n * converting, latency});
    const double overhead = costs.tile_overhead.seconds() * area / (128.0 * 256.0);
    for (const int split : kSplits) {
      if (split > 1 && (!splits_inner(kernel) || inner * width / split < kLeastSplitBytes)) break;
      const GemmWaves waves = gemm_waves(kernel.m, kernel.n, kernel.batch * split, tile, sms);
      const double filled = std::max(static_cast<double>(waves.tiles) / sms, 1.0);
      const double counted = filled + (static_cast<double>(waves.waves) - filled) * costs.wave_rounding;
      const double combine =
          split == 1 ? 0 : split * outputs * kAccumulatorBytes / combine_bandwidth + costs.split_overhead.seconds();
      best = std::min(best, counted * (inner / split * each + overhead) + combine);
    }
  }
  return best;
}

double KernelTimes::gemm_seconds(const Kernel& kernel, int sms) const {
  const GemmCosts costs = gemm_costs_of(kernel);
  const double bandwidth = gpu().hbm_bytes_per_second * costs.memory_efficiency;
  const OperandBytes operand = operand_bytes(kernel.precision);
  const double width = operand.activation;
  const auto batch = static_cast<double>(kernel.batch);
  const double activations = batch * static_cast<double>(kernel.m) * static_cast<double>(kernel.k);
  const double weights = batch * static_cast<double>(kernel.n) * static_cast<double>(kernel.k) * operand.weight;
  const double results = batch * static_cast<double>(kernel.m) * static_cast<double>(kernel.n) * std::max(width, kOutputBytes);
  const double other = activations * width + results;
  double bytes = kernel.bytes > 0 ? kernel.bytes : weights + other;
  double from_hbm = 1.0;  // part of the weights
  if (kernel.weight_copies > 0) {
    const double copies = static_cast<double>(kernel.weight_copies) * weights;
    from_hbm = 1.0 - held_in_l2(copies + other);
    bytes = from_hbm * weights + (1.0 - held_in_l2(weights + other)) * other;
  }
  const double reading = bytes / bandwidth + from_hbm * costs.memory_latency.seconds();
  const double computing = tiled_seconds(kernel, sms, 2 * bandwidth);
  const double longer = std::max(computing, reading);
  const double shorter = std::min(computing, reading);
  const double seconds = costs.fixed.seconds() + std::sqrt(longer * longer + costs.memory_exposed * shorter * shorter);
  // Activations become INT8 as they become FP8 with a scale for a row.
  const ScaledGemmCosts* scaled = kernel.precision == Precision::kInt8 ? &parameters_->fp8_row : scaled_costs_of(kernel);
  if (!kernel.quantizes || scaled == nullptr) return seconds;
  // Quantising kernels have a block for each row, which takes a time of its own however short the row is.
  const double moving = activations * (kOutputBytes + width) / (gpu().hbm_bytes_per_second * scaled->quantize_efficiency);
  const double blocks = batch * static_cast<double>(kernel.m) * scaled->quantize_row.seconds();
  return seconds + scaled->quantize_fixed.seconds() + std::sqrt(moving * moving + blocks * blocks);
}

double KernelTimes::corrected_gemm_seconds(const Kernel& kernel, int sms) const {
  const double seconds = gemm_seconds(kernel, sms);
  if (parameters_->products.is_empty()) return seconds;
  return seconds * parameters_->products.of(kernel, [&](const Kernel& row) { return gemm_seconds(row, gpu().sms); }).factor;
}

double KernelTimes::measured_share(const Kernel& kernel) const {
  if (parameters_->products.is_empty()) return 0;
  return parameters_->products.of(kernel, [&](const Kernel& row) { return gemm_seconds(row, gpu().sms); }).share;
}

double KernelTimes::held_in_l2(double bytes) const {
  return work::held_in_l2(bytes, parameters_->gemm.l2_share * static_cast<double>(gpu().l2_bytes));
}

bool KernelTimes::splits_statically(const Kernel& kernel) const {
  if (kernel.kind != KernelKind::kGemm) return false;
  const auto waves = [&](TileShape tile) { return gemm_waves(kernel.m, kernel.n, kernel.batch, tile, gpu().sms).waves; };
  return std::min(waves({256, 128}), waves({128, 256})) <= 2;
}

// Blocks of 128 queries share out over the SMs; the longest meets all keys, and part of its time is a tail. Decoding (few
// queries) splits the keys over the SMs instead, and reads them once.
double KernelTimes::attention_seconds(const Kernel& kernel, int sms) const {
  if (kernel.use != AttentionUse::kTraining) {
    const bool prompt = kernel.use == AttentionUse::kPrefill;
    const Parameters& p = *parameters_;
    const PagedAttentionCosts& paged =
        kernel.latent ? (prompt ? p.latent_prefill : p.latent_decode) : (prompt ? p.prefill : p.decode);
    return paged_attention_seconds(kernel, gpu(), paged, sms);
  }
  const AttentionCosts costs = kernel.flash2 ? as_flash2(parameters_->attention) : parameters_->attention;
  const bool forward = kernel.kind == KernelKind::kAttentionForward;
  const auto value_dim = static_cast<double>(kernel.value_dim > 0 ? kernel.value_dim : kernel.k);
  const double widths = static_cast<double>(kernel.k) + value_dim;
  // Products of a query and a key forward, and backward.
  const double products = forward ? 1.0 : kBackwardProducts;
  const double rate = peak(gpu(), kernel.precision) * sms / gpu().sms *
                      (forward ? costs.forward_efficiency : costs.backward_efficiency) /
                      softmax_stretch(costs.softmax, 2.0 * products, widths);
  const auto keys = static_cast<double>(kernel.window > 0 ? std::min(kernel.window, kernel.n) : kernel.n);
  const double overhead = costs.block_overhead.seconds() * products;
  const double blocks = static_cast<double>(kernel.batch) * static_cast<double>(ceil_div(kernel.m, kAttentionRows));
  const double block =
      overhead + (kernel.m < kAttentionRows ? 0 : 2.0 * kAttentionRows * keys * widths * products / (rate / sms));
  const double elements =
      static_cast<double>(kernel.batch) * (static_cast<double>(kernel.m) + static_cast<double>(kernel.n)) * widths;
  const double bytes = kernel.bytes > 0 ? kernel.bytes : (forward ? 1 : 2) * elements * bytes_per_element(kernel.precision);
  const double computing = std::max(kernel.flops() / rate + blocks * overhead / sms + costs.tail * block, block);
  return std::max(computing, bytes / (gpu().hbm_bytes_per_second * costs.memory_efficiency));
}

double KernelTimes::bounded_seconds(double bytes, double efficiency, double elements, double picoseconds, int sms) const {
  const double scale = kReferenceSmGhz / (sms * gpu().clock_ghz);
  return std::max(bytes / (gpu().hbm_bytes_per_second * efficiency), elements * picoseconds * 1e-12 * scale);
}

double KernelTimes::memory_seconds(const Kernel& kernel, int sms) const {
  const MemoryCosts& costs = parameters_->memory;
  const auto bytes = [&](double per_element) { return kernel.bytes > 0 ? kernel.bytes : per_element * kernel.elements; };
  const auto by_element = [&](double bytes_per_element, double picoseconds) {
    return bounded_seconds(bytes(bytes_per_element), costs.contiguous_efficiency, kernel.elements, picoseconds, sms);
  };
  const auto by_bytes = [&](double bytes_per_element, double efficiency) {
    return bounded_seconds(bytes(bytes_per_element), efficiency, 0, 0, sms);
  };
  switch (kernel.kind) {
    case KernelKind::kStrided:
      switch (kernel.strided) {
        case StridedKind::kForward:
          return by_element(4, costs.strided_forward_ps);
        case StridedKind::kActivationBackward:
          return by_element(6, costs.strided_activation_backward_ps);
        case StridedKind::kCopy:
          return by_element(4, costs.strided_copy_ps);
        case StridedKind::kStack:
          return by_element(4, costs.strided_stack_ps);
        case StridedKind::kAttentionEnds:
          return by_element(4, costs.attention_ends_ps);
        case StridedKind::kScoresSoftmax:
          return smooth_max(by_bytes(4, costs.contiguous_efficiency),
                            bounded_seconds(0, 1, kernel.elements, costs.scores_softmax_ps, sms));
        case StridedKind::kGelu:
          return by_element(4, costs.gelu_ps);
        case StridedKind::kGeluBackward:
          return by_element(6, costs.gelu_backward_ps);
      }
      break;
    case KernelKind::kNormForward: {
      // Bytes that the kernel before wrote and the L2 still holds go at twice the speed.
      const double total = bytes(4);
      const double cached = std::min(total, costs.l2_share * static_cast<double>(gpu().l2_bytes));
      const double weight = total > 0 ? 1.0 - 0.5 * cached / total : 1.0;
      return weight * by_element(4, costs.norm_forward_ps);
    }
    case KernelKind::kNormBackward:
      return by_element(6, costs.norm_backward_ps);
    case KernelKind::kNormWeightGradient:
      return by_element(4, costs.norm_weight_gradient_ps);
    case KernelKind::kSoftmaxLoss:
      return by_bytes(8, costs.softmax_efficiency);
    case KernelKind::kEmbeddingForward:
      return by_bytes(4, costs.gather_efficiency);
    case KernelKind::kEmbeddingBackward:
      return by_element(4, costs.embedding_backward_ps);
    case KernelKind::kMemset:
      return bounded_seconds(bytes(2), costs.fill_efficiency, kernel.elements, costs.fill_ps, sms);
    default: {  // kElementwise, kCopy
      // Benchmarks' calls find in the L2 what the call before used: twice the speed again.
      const double held =
          kernel.repeated ? work::held_in_l2(bytes(4), costs.l2_share * static_cast<double>(gpu().l2_bytes)) : 0;
      return (1.0 - 0.5 * held) * by_bytes(4, costs.contiguous_efficiency);
    }
  }
  throw InternalError("a strided kernel of no kind");
}

PowerLoad KernelTimes::load(const Kernel& kernel, Duration taken) const {
  if (taken <= Duration{}) return {};
  const double flops = kernel.flops();
  double bytes = kernel.bytes;
  if (bytes <= 0 && kernel.kind == KernelKind::kGemm) {
    const auto m = static_cast<double>(kernel.m);
    const auto n = static_cast<double>(kernel.n);
    const auto k = static_cast<double>(kernel.k);
    const OperandBytes operand = read_as(gpu(), kernel.precision);
    bytes = static_cast<double>(kernel.batch) * (m * k * operand.activation + k * n * operand.weight + m * n * kOutputBytes);
  } else if (bytes <= 0 && kernel.kind == KernelKind::kExperts) {
    const double matrix = static_cast<double>(kernel.n) * static_cast<double>(kernel.k);
    bytes = kernel.experts_used * (kernel.gated ? 3 : 2) * matrix * read_as(gpu(), kernel.precision).weight;
  } else if (bytes <= 0) {
    bytes = 2 * kOutputBytes * kernel.elements;  // read and written once
  }
  const double seconds = taken.seconds();
  return {.tensor = flops > 0 ? std::min(1.0, flops / (peak(gpu(), runs_as(gpu(), kernel.precision)) * seconds)) : 0.0,
          .memory = std::min(1.0, bytes / (gpu().hbm_bytes_per_second * seconds))};
}

Duration KernelTimes::alone(const Kernel& kernel, int sms) const {
  const int used = sms > 0 ? std::min(sms, gpu().sms) : gpu().sms;
  const auto seconds = [&] {
    switch (class_of(kernel.kind)) {
      case KernelClass::kGemm:
        if (kernel.kind == KernelKind::kGemm) return corrected_gemm_seconds(kernel, used);
        return experts_seconds(kernel, gpu(), expert_costs_of(kernel), peak(gpu(), kernel.precision), used);
      case KernelClass::kAttention:
        return attention_seconds(kernel, used);
      case KernelClass::kMemory:
        return parameters_->memory.fixed.seconds() + memory_seconds(kernel, used);
      case KernelClass::kOptimizer:
        break;
    }
    const OptimizerCosts& costs = parameters_->optimizer;
    constexpr double kBf16States = 14;  // gradient, two moments and parameter read, the last three written
    const double bytes = kernel.bytes > 0 ? kernel.bytes : kBf16States * kernel.elements;
    const double picoseconds = kernel.mostly_zero ? costs.mostly_zero_ps : costs.adam_ps;
    const double moving = bounded_seconds(bytes, costs.efficiency, 0, 0, used);
    const double computing = bounded_seconds(0, costs.efficiency, kernel.elements, picoseconds, used);
    return costs.fixed.seconds() + smooth_max(moving, computing);
  };
  return Duration::nearest_ps(seconds() * 1e12);
}

}  // namespace weft::work
