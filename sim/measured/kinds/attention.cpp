// Attention, alone: one kernel forward (flash), or two GEMMs and a softmax between them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/measured/readers/json_record.h"

namespace weft::measured {
namespace {

using work::Kernel;
using work::KernelKind;

constexpr std::size_t kRowsForPages = 150;  // fewer do not tell the costs of blocks, softmax and loads apart

void read_attention(const detail::JsonRecord& record, MeasuredPoint& measured) {
  measured.m = measured.n = record.dimension("sequence_length");
  measured.k = record.dimension("head_size");
  const std::int64_t heads = record.dimension("heads", 1);
  measured.heads = heads;
  measured.batch *= heads;
  measured.causal = record.flag("causal", false);
  measured.cache_type = record.text("cache_type");
  if (measured.cache_type.empty()) return;
  if (measured.cache_type != "bf16" && measured.cache_type != "fp8")
    record.fail(fmt::format("cache_type: expected 'bf16' or 'fp8', got '{}'", measured.cache_type));
  if (record.has("keys")) measured.n = record.dimension("keys");
  measured.value_width = record.has("value_head_size") ? record.dimension("value_head_size") : measured.k;
  measured.window = record.whole_within("window", 0, 0, detail::kMostElements);
  const std::int64_t shared = record.has("kv_heads") ? record.dimension("kv_heads") : heads;
  measured.latent = measured.value_width != measured.k;
  if (shared == 0 || heads % shared != 0) record.fail(fmt::format("kv_heads: {} do not share {} heads", shared, heads));
  measured.kv_group = heads / shared;
}

constexpr std::int64_t kOneRow = 16;     // queries that tensor cores take at once
constexpr double kQuery = 2;             // bytes of an element of bf16
constexpr double kLatentElements = 576;  // that MLA caches of a token (DeepSeek-V3)

Kernel paged_kernel(const MeasuredPoint& measured, Kernel kernel) {
  const bool prompt = measured.m > 1;
  kernel.use = prompt ? work::AttentionUse::kPrefill : work::AttentionUse::kDecode;
  kernel.value_dim = measured.value_width;
  kernel.window = measured.window;
  kernel.kv_group = measured.kv_group;
  kernel.latent = measured.latent;
  kernel.flash = !measured.latent;  // public tables of MLA are of TensorRT-LLM's kernels
  kernel.cached_width = measured.cache_type == "fp8" ? 1 : 2;
  kernel.repeated = true;
  if (!prompt) return kernel;
  const auto tokens = static_cast<double>(measured.m);
  const auto heads = static_cast<double>(measured.batch);
  const double keys = heads / static_cast<double>(measured.kv_group) * static_cast<double>(measured.k + measured.value_width);
  const double sequences = heads / static_cast<double>(std::max<std::int64_t>(measured.heads, 1));
  const double elements = tokens * (measured.latent ? sequences * kLatentElements : keys);
  kernel.cache_written = elements * (kQuery + kernel.cached_width);
  // FP8 is made of Q, K and V first, where their kernel takes it.
  if (measured.latent && kernel.cached_width < kQuery)
    kernel.cache_written += tokens * heads * static_cast<double>(2 * measured.k + measured.value_width) * (kQuery + 1);
  return kernel;
}

// The softmax of `weft measure` has a block for each row, which takes as long as so many elements however short the row is.
// Fitted to rows of 1,024 in validate/measured/h200x1_full.jsonl.
constexpr double kLeastRowOfSoftmax = 1600;

std::optional<std::vector<Kernel>> attention_kernels(const MeasuredPoint& measured, work::Precision precision) {
  if (measured.m <= 0 || measured.n <= 0 || measured.k <= 0 || measured.batch <= 0) return std::nullopt;
  if (measured.what == "gemm_softmax_gemm") {
    // Scores are written, read and written again as probabilities, and read. Under a causal mask the softmax reads and computes
    // half of them, and writes all.
    const double all = static_cast<double>(measured.batch) * static_cast<double>(measured.m) * static_cast<double>(measured.n);
    const double seen = measured.causal ? 0.5 * all : all;
    const double rows = static_cast<double>(measured.batch) * static_cast<double>(measured.m);
    Kernel softmax = detail::kernel_of_bytes(KernelKind::kStrided, 2 * (seen + all), std::max(seen, rows * kLeastRowOfSoftmax));
    softmax.strided = work::StridedKind::kScoresSoftmax;
    return std::vector{detail::gemm_of(precision, measured.batch, measured.m, measured.n, measured.k), softmax,
                       detail::gemm_of(precision, measured.batch, measured.m, measured.k, measured.n)};
  }
  if (!measured.what.starts_with("flash")) return std::vector<Kernel>{};
  Kernel attention = detail::gemm_of(precision, measured.batch, measured.m, measured.n, measured.k);
  attention.kind = KernelKind::kAttentionForward;
  attention.causal = measured.causal;
  if (!measured.cache_type.empty()) return std::vector{paged_kernel(measured, attention)};
  std::vector<Kernel> kernels{attention};
  if (!measured.backward) return kernels;
  attention.kind = KernelKind::kAttentionBackward;
  kernels.push_back(attention);
  // The dot product of dO and O before it, and the conversion of dQ after it.
  Kernel ends = detail::kernel_of_bytes(
      KernelKind::kStrided, 0,
      static_cast<double>(measured.batch) * static_cast<double>(measured.m) * static_cast<double>(measured.k));
  ends.strided = work::StridedKind::kAttentionEnds;
  kernels.insert(kernels.end(), 2, ends);
  return kernels;
}

std::string attention_label(const MeasuredPoint& measured) {
  return fmt::format("{}: {} x {} x {}", measured.what, measured.batch, measured.m, measured.k);
}

// Queries, keys, values and the result.
Bytes attention_bytes(const MeasuredPoint& measured) {
  return Bytes{4 * detail::width_of(measured) * measured.batch * measured.m * measured.k};
}

std::vector<FitPart> attention_fits(const FitData& data) {
  using work::AttentionUse;
  const auto is = [](const Kernel& kernel, AttentionUse use) {
    return work::class_of(kernel.kind) == work::KernelClass::kAttention && kernel.use == use;
  };
  std::vector<FitPart> parts{detail::fit_alone(data, "attention",
                                               {"gpu.attention.forward_efficiency", "gpu.attention.backward_efficiency",
                                                "gpu.attention.block_overhead", "gpu.attention.tail"},
                                               [is](const Kernel& kernel) { return is(kernel, AttentionUse::kTraining); })};
  const auto paged = [&](const char* group, AttentionUse use, bool latent, std::vector<std::string> names) {
    for (std::string& name : names) name = fmt::format("gpu.{}.{}", group, name);
    FitPart part = detail::fit_alone(data, group, std::move(names), [is, use, latent](const Kernel& kernel) {
      return is(kernel, use) && kernel.latent == latent;
    });
    if (part.samples.size() >= kRowsForPages) parts.push_back(std::move(part));
  };
  const std::vector<std::string> prompt{
      "efficiency",        "softmax",          "fixed",   "block_overhead", "tail", "edge_keys", "fp8_rate",
      "memory_efficiency", "write_efficiency", "l2_share"};
  // Groups of few queries take one row of the tensor cores. Alone they do not tell products from loads: rates of products stay.
  const auto answer = [&](bool latent) {
    std::vector<std::string> names{"fixed",   "block_overhead", "tail", "fp8_load", "sm_bytes_per_clock", "memory_efficiency",
                                   "l2_share"};
    const bool has_rows = std::ranges::any_of(data.logs, [&](const KernelLog& log) {
      return std::ranges::any_of(log.kernels, [&](const KernelRow& row) {
        return is(row.kernel, AttentionUse::kDecode) && row.kernel.latent == latent &&
               row.kernel.kv_group * row.kernel.m > kOneRow;
      });
    });
    if (has_rows) names.insert(names.end(), {"efficiency", "fp8_rate"});
    return names;
  };
  paged("prefill", AttentionUse::kPrefill, false, prompt);
  paged("decode", AttentionUse::kDecode, false, answer(false));
  paged("latent_prefill", AttentionUse::kPrefill, true, prompt);
  paged("latent_decode", AttentionUse::kDecode, true, answer(true));
  return parts;
}

}  // namespace

const PointKind attention_kind{.name = "attention",
                               .read = read_attention,
                               .predict = detail::predict_kernels,
                               .kernels = attention_kernels,
                               .label = attention_label,
                               .bytes = attention_bytes,
                               .fits = attention_fits};

}  // namespace weft::measured
