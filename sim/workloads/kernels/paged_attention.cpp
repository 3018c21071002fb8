#include "sim/workloads/kernels/paged_attention.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::work {
namespace {

constexpr double kPromptRows = 128;  // queries of a block, those of a group of heads together
constexpr double kHalfRows = 64;     // and of a block of fewer
constexpr double kAnswerRows = 16;   // queries of a group, decoding
constexpr double kKeyTile = 64;      // keys that a block meets at once
constexpr int kAmpere = 80;          // GpuSpec::sm
constexpr int kHopper = 90;
constexpr double kWidestAtFullLoad = 128;  // heads of an FP8 cache on Hopper
constexpr double kReferenceFlops = 512;    // of a query and a key, heads 128 wide
// Benchmarks put one call into a CUDA graph of its own. The least of those takes 8.5 to 10 us on Hopper and Blackwell
// (models/workloads §4.3), whatever it computes: the pace of launching graphs. Steps hold many calls in one graph, or launch
// kernels ahead.
constexpr double kGraphSeconds = 9e-6;
// Heads of 192 with a cache in FP8 have a kernel of Triton's outside Hopper. It computes as fast on L40S as on three
// Blackwells, about as an SM's FP32 lanes do: fitted to the half of the public tables that may be (models/workloads §4.3).
constexpr double kTritonWidth = 192;
constexpr double kTritonFlops = 250;    // of an SM, a clock
constexpr double kTritonEdgeKeys = 64;  // as PagedAttentionCosts::edge_keys
// vLLM's Triton kernel for MLA has num_kv_splits = 4 (vllm/v1/attention/backends/mla/triton_mla.py). TensorRT-LLM's does not
// split.
constexpr double kTritonLatentParts = 4;
constexpr double kQueryBytes = 2;
constexpr double kSumBytes = 4;
constexpr std::array<double, 8> kParts{1, 2, 4, 8, 16, 32, 64, 128};  // of the keys, decoding

double rounded_up(double value, double step) { return std::ceil(value / step) * step; }

// FLOPs at the rate of heads 128 wide.
double pair_flops(double widths, double softmax) {
  return (2 * widths + softmax) * kReferenceFlops / (kReferenceFlops + softmax);
}

struct PagedShape {
  double queries = 0;
  double keys = 0;
  double groups = 0;  // heads of keys, of all sequences
  double group = 0;
  double width = 0;
  double value_width = 0;
};

PagedShape paged_shape(const Kernel& kernel) {
  const auto group = static_cast<double>(std::max<std::int64_t>(kernel.kv_group, 1));
  return {.queries = static_cast<double>(kernel.m),
          .keys = static_cast<double>(kernel.n),
          .groups = static_cast<double>(kernel.batch) / group,
          .group = group,
          .width = static_cast<double>(kernel.k),
          .value_width = static_cast<double>(kernel.value_dim > 0 ? kernel.value_dim : kernel.k)};
}

bool is_before_hopper(const GpuSpec& gpu) { return gpu.sm >= kAmpere && gpu.sm < kHopper; }

// Its decoding kernel lets the heads of a group share a block, and splits keys, only where heads share keys and no window
// limits them (seqlenq_ngroups_swapped in csrc/flash_attn/flash_api.cpp of its source).
bool is_flash_2(const Kernel& kernel, const GpuSpec& gpu) {
  return is_before_hopper(gpu) && kernel.flash && !kernel.latent && kernel.cached_width >= kQueryBytes;
}

bool is_flash_3(const Kernel& kernel, const GpuSpec& gpu) { return gpu.sm == kHopper && kernel.flash && !kernel.latent; }

bool falls_back(const Kernel& kernel, const PagedShape& shape, const GpuSpec& gpu) {
  return kernel.flash && !kernel.latent && gpu.sm >= kAmpere && gpu.sm != kHopper && shape.width == kTritonWidth &&
         kernel.cached_width < kQueryBytes;
}

// Keys that a block of a decoding kernel meets at once. On Hopper that is FlashAttention-3, whose tiles follow from its source
// (hopper/tile_size.h) but for FP8 heads of 192: public tables (models/workloads §4.3) have steps of 96 keys there.
double answer_tile(const Kernel& kernel, const PagedShape& shape, const GpuSpec& gpu) {
  if (!is_flash_3(kernel, gpu) || shape.width > 256) return kKeyTile;
  if (shape.width <= 64) return 128;
  if (kernel.cached_width < kQueryBytes) return shape.width <= 192 ? 96 : kernel.window > 0 ? 64 : 128;
  if (shape.width <= 128) return 128;
  return shape.width <= 192 ? 96 : kernel.window > 0 ? 64 : 80;
}

// Time of the HBM for what the L2 does not hold.
double paged_reading(const Kernel& kernel, const GpuSpec& gpu, const PagedAttentionCosts& costs, double bytes) {
  if (kernel.bytes > 0) bytes = kernel.bytes;
  if (kernel.repeated) bytes *= 1 - held_in_l2(bytes, costs.l2_share * static_cast<double>(gpu.l2_bytes));
  return bytes / (gpu.hbm_bytes_per_second * costs.memory_efficiency);
}

// The heads of a group share a block of a prompt: in FlashAttention-3, and in FlashInfer, which takes caches in FP8 before
// Hopper (packed_qo_len in its prefill.cuh). Blocks of FlashAttention-2 and of Blackwell's kernels are of one head.
bool packs_heads(const Kernel& kernel, const GpuSpec& gpu) {
  return gpu.sm == kHopper || (is_before_hopper(gpu) && kernel.flash && kernel.cached_width < kQueryBytes);
}

// Blocks of 128 queries over all SMs.
double prompt_seconds(const Kernel& kernel, const GpuSpec& gpu, const PagedAttentionCosts& costs, double sm_rate, int sms) {
  const PagedShape shape = paged_shape(kernel);
  const double widths = shape.width + shape.value_width;
  const double together = packs_heads(kernel, gpu) ? shape.group : 1;
  const double packed = shape.queries * together;
  const double blocks = shape.groups * shape.group / together * std::ceil(packed / kPromptRows);
  const bool is_triton = falls_back(kernel, shape, gpu);
  const double a_pair =
      is_triton ? 2 * widths / (kTritonFlops * gpu.clock_ghz * 1e9) : pair_flops(widths, costs.softmax) / sm_rate;
  const double edge_keys = is_triton ? kTritonEdgeKeys : costs.edge_keys;
  const double a_key = std::min(kPromptRows, rounded_up(packed, kHalfRows)) * a_pair;
  const double most = rounded_up(shape.keys, kKeyTile);
  const double windowed = kernel.window > 0 ? static_cast<double>(kernel.window) + kPromptRows : most;
  const double longest = std::min(most, windowed) * a_key + costs.block_overhead.seconds();
  const double mean = std::min(kernel.keys_per_query() + edge_keys, most) * a_key + costs.block_overhead.seconds();
  const double tail = blocks > sms ? costs.tail * longest : 0;
  const double computing = std::max(blocks * mean / sms + tail, longest);
  const double bytes = shape.groups * widths * (shape.group * shape.queries * kQueryBytes + shape.keys * kernel.cached_width);
  const double reading = paged_reading(kernel, gpu, costs, bytes);
  return std::sqrt(computing * computing + reading * reading);
}

// Time to load a byte of the cache, over that of bf16. FP8 values are turned around within Hopper's SM, and the wider heads are
// the fewer of them are in flight: from 128 on a byte takes longer as heads are wider, on H100 and H200 alike.
double cache_load(const Kernel& kernel, const PagedShape& shape, const GpuSpec& gpu, const PagedAttentionCosts& costs) {
  if (kernel.cached_width >= kQueryBytes) return 1;
  if (is_flash_3(kernel, gpu)) return costs.fp8_load * std::max(shape.width / kWidestAtFullLoad, 1.0);
  // Model: XQA reads a byte of FP8 as fast as one of bf16. No table of it is public; published servings are met so.
  return gpu.sm == kHopper && !kernel.flash && !kernel.latent ? 1.0 : costs.fp8_load;
}

// One block a head of keys, or one for each part of them, whose results another kernel sums.
double answer_seconds(const Kernel& kernel, const GpuSpec& gpu, const PagedAttentionCosts& costs, double sm_rate, int sms) {
  const PagedShape shape = paged_shape(kernel);
  const double widths = shape.width + shape.value_width;
  const double keys = kernel.window > 0 ? std::min(static_cast<double>(kernel.window), shape.keys) : shape.keys;
  const double tile = answer_tile(kernel, shape, gpu);
  const double padded = rounded_up(keys, tile);
  const bool shares = !is_flash_2(kernel, gpu) || (shape.group > 1 && kernel.window == 0);
  // A window begins and ends within tiles, and both are masked.
  const double met = (is_flash_3(kernel, gpu) || !shares) && keys < shape.keys ? padded + tile : padded;
  const double cached = (kernel.latent ? shape.width : widths) * kernel.cached_width;
  const double load = cached * cache_load(kernel, shape, gpu, costs) / (costs.sm_bytes_per_clock * gpu.clock_ghz * 1e9);
  const double group = shares ? shape.group : 1;
  const double blocks = shape.groups * shape.group / group;
  const double a_key = std::max(rounded_up(group * shape.queries, kAnswerRows) * 2 * widths / sm_rate, load);
  const double block = costs.block_overhead.seconds();
  const double results = shape.groups * shape.group * shape.queries;
  const double latent_parts = kernel.flash ? kTritonLatentParts : 1;
  const double most_parts = kernel.latent && is_before_hopper(gpu) ? latent_parts : shares ? kParts.back() : 1;
  double computing = 0;
  for (const double parts : kParts) {
    if (parts > 1 && (met / parts < tile || parts > most_parts)) break;
    const double filled = blocks * parts / sms;
    const double waves = filled < 1 ? 1 : filled + (std::ceil(filled) - filled) * costs.tail;
    const double sums = parts > 1 ? parts * results * shape.value_width * 2 * kSumBytes / gpu.hbm_bytes_per_second + block : 0;
    const double time = waves * (rounded_up(met / parts, tile) * a_key + block) + sums;
    computing = parts > 1 ? std::min(computing, time) : time;
  }
  const double reading = paged_reading(kernel, gpu, costs, shape.groups * padded * cached + results * widths * kQueryBytes);
  return std::sqrt(computing * computing + reading * reading);
}

}  // namespace

double held_in_l2(double bytes, double share) { return std::clamp(3.0 - 2.0 * bytes / share, 0.0, 1.0); }

double paged_attention_seconds(const Kernel& kernel, const GpuSpec& gpu, const PagedAttentionCosts& costs, int sms) {
  const double scale = kernel.cached_width < kQueryBytes ? costs.fp8_rate : 1.0;
  const double sm_rate = peak(gpu, kernel.precision) * costs.efficiency * scale / gpu.sms;
  const double seconds = kernel.use == AttentionUse::kDecode ? answer_seconds(kernel, gpu, costs, sm_rate, sms)
                                                             : prompt_seconds(kernel, gpu, costs, sm_rate, sms);
  const double fixed = costs.fixed.seconds();
  return (kernel.repeated ? fixed : std::max(fixed - kGraphSeconds, 0.0)) + seconds +
         kernel.cache_written / (gpu.hbm_bytes_per_second * costs.write_efficiency);
}

}  // namespace weft::work
