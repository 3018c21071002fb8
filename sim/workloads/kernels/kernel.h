// One GPU kernel as a workload describes it: what it computes, not how long it takes. KernelTimes (kernel_times.h) turns it
// into a duration on a GPU.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/workloads/model/transformer.h"

namespace weft::work {

// Classes of kernels whose time follows one rule each (models/training_steps §3).
enum class KernelKind : std::uint8_t {
  kGemm,               // batch x (m x k) (k x n)
  kAttentionForward,   // flash attention
  kAttentionBackward,  // its main kernel
  kElementwise,        // contiguous: `bytes` read and written
  kStrided,            // halves of a chunk, permuted views, widening casts: `elements` written, by element and not by byte
  kNormForward,        // `elements` of tokens x width
  kNormBackward,
  kNormWeightGradient,  // gamma's reduction over the tokens
  kSoftmaxLoss,         // one pass of the softmax, forward or backward, over logits: `bytes`
  kEmbeddingForward,    // `elements` of tokens x width gathered
  kEmbeddingBackward,   // scatter of `elements` gradients
  kOptimizer,           // fused Adam over `elements` parameters; `bytes` where the states are not all bf16
  kCopy,                // device to device: `bytes` read and written
  kMemset,              // `bytes`; of `elements`, where a kernel fills them
  kExperts,             // a layer's experts in one call, from the tokens' choices to their weighted sum (experts.h)
};

// Breakdowns count a kernel by its class, and communication beside it slows it by its class (models/training_steps §6).
enum class KernelClass : std::uint8_t { kGemm, kAttention, kMemory, kOptimizer };
[[nodiscard]] KernelClass class_of(KernelKind kind);
[[nodiscard]] std::string_view to_string(KernelClass kernel_class);
[[nodiscard]] std::string_view to_string(KernelKind kind);  // "gemm", "attention_forward", ...

// How the strided kernel of eager frameworks reads and writes (models/training_steps §3: ps per element differ).
enum class StridedKind : std::uint8_t {
  kForward,  // SiLU, multiply, a cast from bf16 to fp32
  kActivationBackward,
  kCopy,           // to a contiguous tensor
  kStack,          // of dQ, dK and dV
  kAttentionEnds,  // around attention's backward: the rows' sums of dO O, and dQ's conversion to bf16
  kScoresSoftmax,  // over written scores, before FlashAttention
  kGelu,           // with the bias, compiled by torch.jit
  kGeluBackward,
};

[[nodiscard]] std::string_view to_string(StridedKind kind);  // "forward", "activation_backward", ...

// How many elements of a low-precision operand share a scale, and with that which library multiplies it: one scale a tensor
// (cuBLAS), one a row (CUTLASS), one for a block of 128 (DeepGEMM; CUTLASS).
enum class Scaling : std::uint8_t { kTensor, kRow, kBlock };
[[nodiscard]] std::string_view to_string(Scaling scaling);  // "tensor", "row", "block"

// Attention of training has its sequences at hand; serving engines read a paged cache, with kernels of their own.
enum class AttentionUse : std::uint8_t { kTraining, kPrefill, kDecode };

struct Kernel {
  KernelKind kind = KernelKind::kElementwise;
  Precision precision = Precision::kBf16;  // GEMM and attention: of the tensor cores
  // kGemm: m rows (tokens) by n columns, inner dimension k, `batch` of them in one kernel (grouped GEMM of experts).
  // kAttention*: m = n = tokens of a query's and of the key's sequence; k = head width; batch = sequences x heads.
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  bool causal = true;          // attention: half of the tiles
  std::int64_t window = 0;     // attention: keys per query; 0: all
  std::int64_t value_dim = 0;  // attention: width of a value head; 0: k
  AttentionUse use = AttentionUse::kTraining;
  bool flash2 = false;                 // attention of training: by FlashAttention-2
  std::int64_t kv_group = 1;           // attention of serving: query heads that share a key's
  bool latent = false;                 // and: MLA; when decoding, keys hold the values and are read once
  double cached_width = 2;             // and: bytes of a cached element
  bool flash = true;                   // and: by FlashAttention where it is the fastest, not by TensorRT-LLM's XQA
  double cache_written = 0;            // and: bytes that the same call writes to the cache
  bool repeated = false;               // and: of a benchmark, that uses the same data again
  bool weight_gradient = false;        // GEMM: sums over tokens
  Scaling scaling = Scaling::kTensor;  // GEMM in FP8
  bool quantizes = false;              // GEMM: A is bf16 and made low-precision first, by a kernel whose time counts
  // GEMM of a benchmark: so many weights are used in turn, and A and C are always the same. 0: none of them is in the L2.
  std::int64_t weight_copies = 0;
  StridedKind strided = StridedKind::kForward;
  bool mostly_zero = false;  // optimizer: of gradients, as an embedding's are
  // kExperts: m tokens, of k hidden values each; n columns of each matrix of an expert here; `batch` experts here.
  double visits = 0;        // of experts anywhere by these tokens
  double expert_rows = 0;   // of those, of experts here
  double experts_used = 0;  // experts here that any token visits
  bool uneven = false;      // they do not have as many rows each
  bool gated = true;        // three matrices, not two
  double elements = 0;
  double bytes = 0;  // through HBM; 0 of GEMM and attention: from their shapes

  // Multiply and add counted apart; 0 of memory-bound kernels. Causal attention counts the half it computes; its backward
  // counts the scores that it computes again (models/workloads §1.2: 2.5 times the forward).
  [[nodiscard]] double flops() const;
  // Attention: keys that a query meets, on average.
  [[nodiscard]] double keys_per_query() const;
};

}  // namespace weft::work
