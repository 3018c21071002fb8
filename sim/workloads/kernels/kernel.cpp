#include "sim/workloads/kernels/kernel.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft::work {
namespace {

constexpr std::array<std::string_view, 4> kClassNames{"gemm", "attention", "memory", "optimizer"};
constexpr std::array<std::string_view, 15> kKindNames{"gemm",
                                                      "attention_forward",
                                                      "attention_backward",
                                                      "elementwise",
                                                      "strided",
                                                      "norm_forward",
                                                      "norm_backward",
                                                      "norm_weight_grad",
                                                      "softmax_loss",
                                                      "embedding_forward",
                                                      "embedding_backward",
                                                      "optimizer",
                                                      "copy",
                                                      "memset",
                                                      "experts"};
constexpr std::array<std::string_view, 3> kScalingNames{"tensor", "row", "block"};
constexpr std::array<std::string_view, 8> kStridedNames{"forward",        "activation_backward", "copy", "stack",
                                                        "attention_ends", "scores_softmax",      "gelu", "gelu_backward"};

}  // namespace

KernelClass class_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::kGemm:
    case KernelKind::kExperts:
      return KernelClass::kGemm;
    case KernelKind::kAttentionForward:
    case KernelKind::kAttentionBackward:
      return KernelClass::kAttention;
    case KernelKind::kOptimizer:
      return KernelClass::kOptimizer;
    default:
      return KernelClass::kMemory;
  }
}

std::string_view to_string(KernelClass kernel_class) { return kClassNames[static_cast<std::size_t>(kernel_class)]; }
std::string_view to_string(KernelKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
std::string_view to_string(Scaling scaling) { return kScalingNames[static_cast<std::size_t>(scaling)]; }
std::string_view to_string(StridedKind kind) { return kStridedNames[static_cast<std::size_t>(kind)]; }

// Causal: the queries stand at the end of the keys, and the one at position p meets p keys of them, a window's width at most.
// The sum over queries is taken as an integral, so that m = n gives the customary half.
double Kernel::keys_per_query() const {
  const auto keys = static_cast<double>(n);
  const double width = window > 0 ? std::min(static_cast<double>(window), keys) : keys;
  if (!causal) return width;
  const auto queries = static_cast<double>(m);
  const double first = std::max(keys - queries, 0.0);
  if (width <= first || queries <= 0) return width;
  const double growing = width - first;  // queries that the window does not limit yet
  return (growing * (first + width) / 2 + (keys - width) * width) / (keys - first);
}

double Kernel::flops() const {
  const auto count = static_cast<double>(batch);
  if (kind == KernelKind::kGemm) return 2.0 * count * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (kind == KernelKind::kExperts)
    return 2.0 * expert_rows * (gated ? 3 : 2) * static_cast<double>(n) * static_cast<double>(k);
  if (class_of(kind) != KernelClass::kAttention) return 0;
  const auto widths = static_cast<double>(k + (value_dim > 0 ? value_dim : k));
  const double forward = 2.0 * count * static_cast<double>(m) * keys_per_query() * widths;
  return kind == KernelKind::kAttentionForward ? forward : 2.5 * forward;
}

}  // namespace weft::work
