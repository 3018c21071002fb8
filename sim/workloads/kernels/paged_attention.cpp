#include "sim/workloads/kernels/paged_attention.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::work {
namespace {

constexpr double kPromptRows = 128;      // queries of a block, those of a group of heads together
constexpr double kHalfRows = 64;         // and of a block of fewer
constexpr double kAnswerRows = 16;       // queries of a group, decoding
constexpr double kKeyTile = 64;          // keys that a block meets at once
constexpr double kReferenceFlops = 512;  // of a query and a key, heads 128 wide
// Benchmarks put one call into a CUDA graph of its own. The least of those takes 8.5 to 10 us on Hopper and Blackwell
// (models/workloads §4.3), whatever it computes: the pace of launching graphs. Steps hold many calls in one graph, or launch
// kernels ahead.
constexpr double kGraphSeconds = 9e-6;
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

// Time of the HBM for what the L2 does not hold.
double paged_reading(const Kernel& kernel, const GpuSpec& gpu, const PagedAttentionCosts& costs, double bytes) {
  if (kernel.bytes > 0) bytes = kernel.bytes;
  if (kernel.repeated) bytes *= 1 - held_in_l2(bytes, costs.l2_share * static_cast<double>(gpu.l2_bytes));
  return bytes / (gpu.hbm_bytes_per_second * costs.memory_efficiency);
}

// Blocks of 128 queries, which the heads of a group share, over all SMs.
double prompt_seconds(const Kernel& kernel, const GpuSpec& gpu, const PagedAttentionCosts& costs, double sm_rate, int sms) {
  const PagedShape shape = paged_shape(kernel);
  const double widths = shape.width + shape.value_width;
  const double packed = shape.queries * shape.group;
  const double blocks = shape.groups * std::ceil(packed / kPromptRows);
  const double a_key = std::min(kPromptRows, rounded_up(packed, kHalfRows)) * pair_flops(widths, costs.softmax) / sm_rate;
  const double most = rounded_up(shape.keys, kKeyTile);
  const double windowed = kernel.window > 0 ? static_cast<double>(kernel.window) + kPromptRows : most;
  const double longest = std::min(most, windowed) * a_key + costs.block_overhead.seconds();
  const double mean = std::min(kernel.keys_per_query() + costs.edge_keys, most) * a_key + costs.block_overhead.seconds();
  const double tail = blocks > sms ? costs.tail * longest : 0;
  const double computing = std::max(blocks * mean / sms + tail, longest);
  const double bytes = shape.groups * widths * (shape.group * shape.queries * kQueryBytes + shape.keys * kernel.cached_width);
  const double reading = paged_reading(kernel, gpu, costs, bytes);
  return std::sqrt(computing * computing + reading * reading);
}

// One block a head of keys, or one for each part of them, whose results another kernel sums.
double answer_seconds(const Kernel& kernel, const GpuSpec& gpu, const PagedAttentionCosts& costs, double sm_rate, int sms) {
  const PagedShape shape = paged_shape(kernel);
  const double widths = shape.width + shape.value_width;
  const double keys = kernel.window > 0 ? std::min(static_cast<double>(kernel.window), shape.keys) : shape.keys;
  const double padded = rounded_up(keys, kKeyTile);
  const double cached = (kernel.latent ? shape.width : widths) * kernel.cached_width;
  const double load =
      cached * (kernel.cached_width < kQueryBytes ? costs.fp8_load : 1.0) / (costs.sm_bytes_per_clock * gpu.clock_ghz * 1e9);
  const double a_key = std::max(rounded_up(shape.group * shape.queries, kAnswerRows) * 2 * widths / sm_rate, load);
  const double block = costs.block_overhead.seconds();
  const double results = shape.groups * shape.group * shape.queries;
  double computing = 0;
  for (const double parts : kParts) {
    if (parts > 1 && padded / parts < kKeyTile) break;
    const double filled = shape.groups * parts / sms;
    const double waves = filled < 1 ? 1 : filled + (std::ceil(filled) - filled) * costs.tail;
    const double sums = parts > 1 ? parts * results * shape.value_width * 2 * kSumBytes / gpu.hbm_bytes_per_second + block : 0;
    const double time = waves * (rounded_up(padded / parts, kKeyTile) * a_key + block) + sums;
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
