// A layer's experts on one GPU in one call, as serving engines run them: the GPU with most to do.
#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/measured/readers/json_record.h"
#include "sim/workloads/kernels/experts.h"

namespace weft::measured {
namespace {

constexpr std::size_t kCallsForExperts = 100;  // fewer do not tell loads, passes and products apart

void read_moe(const detail::JsonRecord& record, MeasuredPoint& measured) {
  measured.m = record.dimension("tokens");
  measured.k = record.dimension("hidden");
  measured.experts = record.dimension("experts");
  measured.top_k = record.dimension("top_k");
  measured.expert_ranks = record.dimension("expert", 1);
  const std::int64_t tensor = record.dimension("tensor", 1);
  const std::int64_t columns = record.dimension("ffn");
  if (tensor == 0 || columns % tensor != 0) record.fail(fmt::format("tensor: {} do not share {} columns", tensor, columns));
  measured.n = columns / tensor;
  if (measured.expert_ranks == 0 || measured.experts % measured.expert_ranks != 0)
    record.fail(fmt::format("expert: {} do not share {} experts", measured.expert_ranks, measured.experts));
  if (measured.top_k > measured.experts) record.fail(fmt::format("top_k: {} of {} experts", measured.top_k, measured.experts));
  measured.power_law = record.number("power_law", 0);
  if (measured.power_law < 0 || measured.power_law > 10)
    record.fail(fmt::format("power_law: expected 0 to 10, got {}", measured.power_law));
  measured.gated = record.flag("gated", true);
  measured.scales = record.text("scales", "tensor");
  if (measured.scales != "tensor" && measured.scales != "block")
    record.fail(fmt::format("scales: expected 'tensor' or 'block', got '{}'", measured.scales));
}

std::optional<std::vector<work::Kernel>> moe_kernels(const MeasuredPoint& measured, work::Precision precision) {
  if (measured.m <= 0 || measured.n <= 0 || measured.k <= 0 || measured.experts <= 0 || measured.top_k <= 0)
    return std::nullopt;
  const auto tokens = static_cast<double>(measured.m);
  const auto top_k = static_cast<double>(measured.top_k);
  work::Kernel kernel =
      detail::gemm_of(precision, measured.experts / measured.expert_ranks, measured.m, measured.n, measured.k);
  kernel.kind = work::KernelKind::kExperts;
  kernel.scaling = measured.scales == "block" ? work::Scaling::kBlock : work::Scaling::kTensor;
  kernel.gated = measured.gated;
  kernel.uneven = measured.power_law > 0;
  kernel.repeated = true;
  kernel.visits = tokens * top_k;
  const work::ExpertVisits load =
      kernel.uneven ? work::heaviest_expert_load(tokens, top_k, measured.experts, measured.expert_ranks, measured.power_law)
                    : work::even_expert_load(tokens, top_k, measured.experts, measured.expert_ranks);
  kernel.expert_rows = load.rows;
  kernel.experts_used = load.experts;
  return std::vector{kernel};
}

std::string moe_label(const MeasuredPoint& measured) {
  return fmt::format("{} tokens, {} of {} experts, {} x {} {}", measured.m, measured.top_k, measured.experts, measured.k,
                     measured.n, measured.type);
}

// Weights of the experts here.
Bytes moe_bytes(const MeasuredPoint& measured) {
  return Bytes{detail::width_of(measured) * (measured.gated ? 3 : 2) * (measured.experts / measured.expert_ranks) * measured.n *
               measured.k};
}

std::vector<FitPart> moe_fits(const FitData& data) {
  using work::Kernel;
  using work::Precision;
  std::vector<FitPart> parts;
  const auto part = [&](const char* group, const std::vector<const char*>& keys, const detail::Wanted& wanted) {
    FitPart fitted{.id = fmt::format("moe_{}", group), .keys = {}, .samples = {}};
    for (const char* key : keys) fitted.keys.push_back(fmt::format("gpu.experts_{}.{}", group, key));
    fitted.samples = detail::fit_alone(data, fitted.id, {}, [&](const Kernel& kernel) {
                       return kernel.kind == work::KernelKind::kExperts && wanted(kernel);
                     }).samples;
    if (fitted.samples.size() >= kCallsForExperts) parts.push_back(std::move(fitted));
  };
  const std::vector<const char*> all{
      "efficiency",         "small_tile_penalty", "fixed",           "block_overhead", "loop_latency",
      "sm_bytes_per_clock", "memory_efficiency",  "pass_efficiency", "elsewhere",      "l2_share"};
  const auto is_fp8 = [](const Kernel& kernel, work::Scaling scaling) {
    return kernel.precision == Precision::kFp8 && kernel.scaling == scaling;
  };
  part("bf16", all, [](const Kernel& kernel) { return kernel.precision == Precision::kBf16; });
  part("fp8", all, [&](const Kernel& kernel) { return is_fp8(kernel, work::Scaling::kTensor); });
  part("fp8_block", all, [&](const Kernel& kernel) { return is_fp8(kernel, work::Scaling::kBlock); });
  part("fp4", all, [](const Kernel& kernel) { return kernel.precision == Precision::kFp4; });
  part("weight_only", {"rate"}, [](const Kernel& kernel) { return work::is_weight_only(kernel.precision); });
  return parts;
}

}  // namespace

const PointKind moe_kind{.name = "moe",
                         .read = read_moe,
                         .predict = detail::predict_kernels,
                         .kernels = moe_kernels,
                         .label = moe_label,
                         .bytes = moe_bytes,
                         .fits = moe_fits};

}  // namespace weft::measured
