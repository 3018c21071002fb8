// One GPU kernel as a workload describes it: what it computes, not how long it takes. KernelTimes (kernel_times.h) turns it
// into a duration on a GPU.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/workloads/model/transformer.h"

namespace weft::work {

// Classes of kernels whose time follows one rule each (training-step-notes §3).
enum class KernelKind : std::uint8_t {
  kGemm,               // batch x (m x k) (k x n)
  kAttentionForward,   // flash attention
  kAttentionBackward,  // its main kernel
  kElementwise,        // contiguous: `bytes` read and written
  kStrided,            // halves of a chunk, permuted views: `elements` written, by element and not by byte
  kNormForward,        // `elements` of tokens x width
  kNormBackward,
  kNormWeightGradient,  // gamma's reduction over the tokens
  kSoftmaxLoss,         // one pass over logits: `bytes`
  kEmbeddingForward,
  kEmbeddingBackward,  // scatter of `elements` gradients
  kOptimizer,          // fused Adam over `elements` parameters
  kCopy,               // device to device: `bytes` read and written
  kMemset,             // `bytes`
};

// What it is counted as in breakdowns and where communication beside it slows it (training-step-notes §6).
enum class KernelClass : std::uint8_t { kGemm, kAttention, kMemory, kOptimizer };
[[nodiscard]] KernelClass class_of(KernelKind kind);
[[nodiscard]] std::string_view to_string(KernelClass kernel_class);

// How the strided kernel of eager frameworks reads and writes (training-step-notes §3: ps per element differ).
enum class StridedKind : std::uint8_t { kForward, kActivationBackward, kCopy, kStack };

struct Kernel {
  KernelKind kind = KernelKind::kElementwise;
  Precision precision = Precision::kBf16;  // GEMM and attention: of the tensor cores
  // kGemm: m rows (tokens) by n columns, inner dimension k, `batch` of them in one kernel (grouped GEMM of experts).
  // kAttention*: m = n = tokens of a query's and of the key's sequence; k = head width; batch = sequences x heads.
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  bool causal = true;            // attention: half of the tiles
  std::int64_t window = 0;       // attention: keys per query; 0: all
  std::int64_t value_dim = 0;    // attention: width of a value head; 0: k
  bool weight_gradient = false;  // GEMM: splits its work statically (training-step-notes §6)
  StridedKind strided = StridedKind::kForward;
  double elements = 0;
  double bytes = 0;  // through HBM; 0 of GEMM and attention: from their shapes

  // Multiply and add counted apart; 0 of memory-bound kernels. Causal attention counts the half it computes.
  [[nodiscard]] double flops() const;
};

}  // namespace weft::work
