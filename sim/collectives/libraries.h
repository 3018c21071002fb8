// Libraries that run an all-reduce beside NCCL, and what each chooses by size, GPU count and GPU. A call that none of its
// kernels takes goes to NCCL.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/collectives/call.h"
#include "sim/core/units.h"

namespace weft::coll {

// Protocols of kernels that read and write peers' memory.
inline constexpr std::string_view kOneShot = "one-shot";
inline constexpr std::string_view kTwoShot = "two-shot";
inline constexpr std::string_view kMultimem = "multimem";

// vLLM's rule: one-shot for 2 GPUs, below 512 KiB for 4 and below 256 KiB for 8.
[[nodiscard]] std::string_view custom_shot(int ranks, Bytes bytes);

struct LibraryChoice {
  std::string_view algorithm;  // registered name; empty: NCCL's choice
  std::string_view protocol;   // empty: the algorithm's own choice
  bool copies_in = false;      // into a registered buffer, by a kernel before
};

// The GPUs of a call as libraries ask for them.
struct LibraryGpus {
  int ranks = 1;
  int nodes = 1;
  int sm = 0;               // compute capability x 10
  bool has_nvlink = false;  // each to every other
  bool has_switch = false;  // NVLink through switches, which add up and copy
};

// vllm, vllm_custom (with VLLM_ALLREDUCE_USE_SYMM_MEM=0), vllm_nccl_symm (with VLLM_USE_NCCL_SYMM_MEM=1), sglang, tensorrt_llm;
// and nccl, which is NCCL alone.
[[nodiscard]] std::span<const std::string_view> library_names();
// `library`: one of these.
[[nodiscard]] LibraryChoice library_choice(std::string_view library, const CollectiveCall& call, const LibraryGpus& gpus);

// Says that NCCL runs the call, and which ones the library runs itself: a size that it takes is told with its limits.
[[nodiscard]] std::string library_note(std::string_view library, const CollectiveCall& call, const LibraryGpus& gpus);

// The protocol of a kernel that is asked for by its algorithm's name.
[[nodiscard]] std::string_view peer_protocol(std::string_view algorithm, Bytes bytes, const LibraryGpus& gpus);

}  // namespace weft::coll
