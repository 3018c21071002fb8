// Attention, alone: one kernel forward (flash), or two GEMMs and a softmax between them.
#include <fmt/format.h>

#include "sim/measured/kinds/kernel_models.h"
#include "sim/measured/kinds/kinds.h"
#include "sim/measured/readers/json_record.h"

namespace weft::measured {
namespace {

using work::Kernel;
using work::KernelKind;

void read_attention(const detail::JsonRecord& record, MeasuredPoint& measured) {
  measured.m = measured.n = record.dimension("sequence_length");
  measured.k = record.dimension("head_size");
  measured.batch *= record.dimension("heads", 1);
  measured.causal = record.flag("causal", false);
}

std::optional<std::vector<Kernel>> attention_kernels(const MeasuredPoint& measured, work::Precision precision) {
  if (measured.m <= 0 || measured.n <= 0 || measured.k <= 0 || measured.batch <= 0) return std::nullopt;
  if (measured.what == "gemm_softmax_gemm") {
    // Scores are written, read and written again as probabilities, and read.
    const double scores =
        2.0 * static_cast<double>(measured.batch) * static_cast<double>(measured.m) * static_cast<double>(measured.n);
    return std::vector{detail::gemm_of(precision, measured.batch, measured.m, measured.n, measured.k),
                       detail::kernel_of_bytes(KernelKind::kSoftmaxLoss, 2 * scores),
                       detail::gemm_of(precision, measured.batch, measured.m, measured.k, measured.n)};
  }
  if (!measured.what.starts_with("flash")) return std::vector<Kernel>{};
  Kernel attention = detail::gemm_of(precision, measured.batch, measured.m, measured.n, measured.k);
  attention.kind = KernelKind::kAttentionForward;
  attention.causal = measured.causal;
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
  return {detail::fit_alone(data, "attention",
                            {"gpu.attention.forward_efficiency", "gpu.attention.backward_efficiency",
                             "gpu.attention.forward_fixed", "gpu.attention.backward_fixed", "gpu.attention.tail"},
                            [](const Kernel& kernel) { return work::class_of(kernel.kind) == work::KernelClass::kAttention; })};
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
