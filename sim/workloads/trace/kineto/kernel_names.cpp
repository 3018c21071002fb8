#include "sim/workloads/trace/kineto/kernel_names.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>

namespace weft::work::kineto {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
char lowered(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// "allreduce" is in "one_shot_all_reduce_kernel" and in "oneShotAllReduceKernel", but not in "small_reduce".
bool has_words(std::string_view name, std::string_view joined) {
  for (std::size_t begin = 0; begin < name.size(); ++begin) {
    if (lowered(name[begin]) != joined.front()) continue;
    if (begin > 0 && is_lower(name[begin]) && is_lower(name[begin - 1])) continue;
    std::size_t matched = 0;
    for (std::size_t i = begin; i < name.size() && matched < joined.size(); ++i) {
      if (name[i] == '_' && matched > 0) continue;
      if (lowered(name[i]) != joined[matched]) break;
      ++matched;
    }
    if (matched == joined.size()) return true;
  }
  return false;
}

constexpr std::array<std::pair<std::string_view, coll::Collective>, 8> kWords{{
    {"allreduce", coll::Collective::kAllReduce},
    {"reducescatter", coll::Collective::kReduceScatter},
    {"allgather", coll::Collective::kAllGather},
    {"alltoall", coll::Collective::kAllToAll},
    {"all2all", coll::Collective::kAllToAll},
    {"crossdevicereduce", coll::Collective::kAllReduce},
    {"broadcast", coll::Collective::kBroadcast},
    {"sendrecv", coll::Collective::kSendRecv},
}};

// Inductor names the kernels that it writes itself after the operators they stand for: their kind comes before that.
std::optional<Category> inductor_category(std::string_view lower) {
  if (lower.starts_with("triton_poi_") || lower.starts_with("triton_red_") || lower.starts_with("triton_per_"))
    return Category::kOtherCompute;
  if (lower.starts_with("triton_for_")) return has_any(lower, {"adam"}) ? Category::kOptimizer : Category::kOtherCompute;
  if (lower.starts_with("triton_tem_")) return has_any(lower, {"attention"}) ? Category::kAttention : Category::kGemm;
  return std::nullopt;
}

}  // namespace

Category kernel_category(std::string_view name) {
  std::string lower{name};
  std::ranges::transform(lower, lower.begin(), lowered);
  if (const std::optional<Category> category = inductor_category(lower)) return *category;
  // AMD's runtime copies by kernels where engines do not.
  if (lower.starts_with("__amd_rocclr_copy")) return Category::kIo;
  // FlashInfer has kernels of all kinds; its attention is by batches or single requests.
  if (const std::size_t library = lower.find("flashinfer"); library != std::string::npos) {
    if (has_any(lower, {"prefill", "decode", "mergestate"})) return Category::kAttention;
    lower.erase(library, std::string_view{"flashinfer"}.size());
  }
  // FlashAttention, cuDNN and CK (fmha), Triton's tutorial and what followed it, paged attention, MLA.
  if (has_any(lower, {"flash", "fmha", "attn_fwd", "attn_bwd", "attention", "sdpa", "_mla_", "::mla_", "sage_fwd", "sageattn",
                      "_fwd_kernel_stage", "_fwd_grouped_kernel_stage"})) {
    return Category::kAttention;
  }
  if (has_any(lower, {"adam", "fusedsgd", "sgdfunctor", "lambstage"})) return Category::kOptimizer;
  // cuBLAS, CUTLASS, cuDNN; rocBLAS and hipBLASLt (Tensile: Cijk_); CK (xdl: AMD's matrix cores); Triton and aiter (fmoe).
  if (has_any(lower, {"gemm", "gemv", "nvjet", "cutlass", "xmma", "matmul", "_mm_kernel", "bmm_", "splitkreduce", "xdl",
                      "fused_moe_kernel", "fmoe", "marlin", "wvsplitk", "scudnn", "winograd", "wgrad", "dgrad", "fprop"}) ||
      lower.starts_with("cijk_")) {
    return Category::kGemm;
  }
  return Category::kOtherCompute;
}

bool is_nccl_kernel(std::string_view name) {
  return name.starts_with("nccl") || has_any(name, {"ncclDevKernel", "ncclKernel"}) ||
         name.find("msccl") != std::string_view::npos;
}

bool is_communication_kernel(std::string_view name) {
  if (is_nccl_kernel(name)) return true;
  if (name.starts_with("triton_")) return false;
  // DeepEP's layouts are reckoned by each rank alone.
  if (has_any(name, {"deep_ep"})) return !has_any(name, {"get_dispatch_layout"});
  if (has_any(name, {"nvshmem", "rocshmem", "mori::", "userbuffers", "multimem_", "symmetric_memory", "symm_mem"})) return true;
  return std::ranges::any_of(std::span{kWords}.first(6), [&](const auto& word) { return has_words(name, word.first); });
}

coll::Collective collective_of_kernel(std::string_view name) {
  for (const auto& [word, collective] : kWords) {
    if (has_words(name, word)) return collective;
  }
  if (has_words(name, "reduce")) return coll::Collective::kReduce;
  return coll::Collective::kSendRecv;
}

}  // namespace weft::work::kineto
