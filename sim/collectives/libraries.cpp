#include "sim/collectives/libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/core/config/quantity.h"

namespace weft::coll {
namespace {

using namespace literals;

constexpr std::string_view kLibraryNames[] = {"nccl", "vllm", "vllm_custom", "vllm_nccl_symm", "sglang", "tensorrt_llm"};
constexpr LibraryChoice kNccl{};

// vLLM 0.24, vllm/distributed/device_communicators/all_reduce_utils.py: a custom all-reduce of fewer bytes than this where
// symmetric memory is used too (CUSTOM_ALL_REDUCE_MAX_SIZES), and the largest in symmetric memory
// (SYMM_MEM_ALL_REDUCE_MAX_SIZES); for 2, 4, 6 and 8 GPUs.
struct SymmetricLimits {
  int sm;
  std::array<Bytes, 4> custom;
  std::array<Bytes, 4> symmetric;
  int fewest_in_switch;  // GPUs: _WORLD_SIZES_MULTIMEM of symm_mem.py
};
constexpr SymmetricLimits kLimits[] = {
    {90, {64_MiB, 32_MiB, 512_KiB, 256_KiB}, {64_MiB, 32_MiB, 64_MiB, 64_MiB}, 4},
    {100, {2_MiB, 2_MiB, 1_MiB, 1_MiB}, {8_MiB, 32_MiB, 128_MiB, 128_MiB}, 6},
    {103, {4_MiB, 4_MiB, 8_MiB, 4_MiB}, {4_MiB, 32_MiB, 32_MiB, 64_MiB}, 6},
};
constexpr Bytes kLargestCustom = 8_MiB;  // custom_all_reduce.py: max_size of vLLM and SGLang

const SymmetricLimits* limits_of(const LibraryGpus& gpus) {
  const auto* found = std::ranges::find(kLimits, gpus.sm, &SymmetricLimits::sm);
  return gpus.has_switch && found != std::end(kLimits) ? found : nullptr;
}

// The kernels of vLLM are built for these; the Python before them asks for whole vectors of 16 bytes and NVLink beyond 2 GPUs.
bool takes_custom(const CollectiveCall& call, const LibraryGpus& gpus) {
  return gpus.ranks >= 2 && gpus.ranks <= 8 && gpus.ranks % 2 == 0 && (gpus.ranks == 2 || gpus.has_nvlink) &&
         call.bytes.count() % 16 == 0;
}

LibraryChoice choice_of_vllm(const CollectiveCall& call, const LibraryGpus& gpus, bool in_symmetric_memory) {
  if (!takes_custom(call, gpus)) return kNccl;
  const SymmetricLimits* limits = in_symmetric_memory ? limits_of(gpus) : nullptr;
  const auto count = static_cast<std::size_t>(gpus.ranks / 2 - 1);
  const Bytes custom = limits == nullptr ? kLargestCustom : std::min(limits->custom[count], kLargestCustom);
  if (call.bytes < custom) return {.algorithm = "custom_all_reduce", .protocol = custom_shot(gpus.ranks, call.bytes)};
  // Its buffer is of bf16, and so are the calls it takes.
  if (limits != nullptr && call.element_size == 2 && call.bytes <= limits->symmetric[count])
    return {.algorithm = "symmetric_memory", .protocol = gpus.ranks >= limits->fewest_in_switch ? kMultimem : kTwoShot};
  return kNccl;
}

// vLLM, vllm/distributed/device_communicators/all_reduce_utils.py (pull request 33839): with VLLM_USE_NCCL_SYMM_MEM NCCL's
// kernels for symmetric memory on 4 and 8 GPUs, but for the sizes between these, which are custom.
LibraryChoice choice_of_vllm_nccl(const CollectiveCall& call, const LibraryGpus& gpus) {
  const bool has_kernels = gpus.has_switch && gpus.sm >= 90 && (gpus.ranks == 4 || gpus.ranks == 8);
  const bool is_custom = call.bytes > 16_KiB && call.bytes < (gpus.ranks == 4 ? 512_KiB : 128_KiB);
  if (!has_kernels || is_custom) return choice_of_vllm(call, gpus, false);
  return {.algorithm = "nccl_symmetric", .protocol = {}, .copies_in = true};
}

// TensorRT-LLM, cpp/tensorrt_llm/kernels/customAllReduceUtils.h: elements from which it is two-shot (HeuristicThresholdLP), and
// bytes of its workspace (getMaxRequiredWorkspaceSize), beyond which it is NCCL's.
LibraryChoice choice_of_tensorrt(const CollectiveCall& call, const LibraryGpus& gpus) {
  if (!takes_custom(call, gpus)) return kNccl;
  const Bytes workspace{gpus.ranks == 2 ? 16'000'000 : 8'000'000};
  if (call.bytes > workspace) return kNccl;
  const bool is_hopper = gpus.sm < 100;
  std::int64_t two_shot = 4096 * 4096;
  if (gpus.ranks > 2) two_shot = 1024 * (is_hopper ? 1024 : 2048);
  if (gpus.ranks > 4) two_shot = is_hopper ? 512 * 512 : 1024 * 1024;
  return {.algorithm = "custom_all_reduce",
          .protocol = call.bytes.count() / call.element_size >= two_shot ? kTwoShot : kOneShot};
}

// The largest all-reduce that the library runs itself; 0: none. Every library takes sizes up to a limit.
Bytes largest_of(std::string_view library, CollectiveCall call, const LibraryGpus& gpus) {
  constexpr std::int64_t kVector = 16;
  const auto runs = [&](std::int64_t vectors) {
    call.bytes = Bytes{kVector * vectors};
    return !library_choice(library, call, gpus).algorithm.empty();
  };
  std::int64_t least = 0;
  std::int64_t most = std::int64_t{1} << 40;  // beyond any
  for (std::int64_t vectors = 1; vectors < most; vectors *= 2) {
    if (runs(vectors)) least = vectors;
  }
  if (least == 0) return {};
  most = std::min(most, 2 * least);
  while (most - least > 1) {
    const std::int64_t middle = least + (most - least) / 2;
    (runs(middle) ? least : most) = middle;
  }
  return Bytes{kVector * least};
}

}  // namespace

std::string library_note(std::string_view library, const CollectiveCall& call, const LibraryGpus& gpus) {
  if (call.kind != Collective::kAllReduce) return fmt::format("{} runs all_reduce alone: NCCL runs {}", library, name_of(call));
  if (gpus.nodes > 1) return fmt::format("{} runs nothing over several nodes: NCCL runs this", library);
  if (gpus.ranks < 2 || gpus.ranks > 8 || gpus.ranks % 2 != 0)
    return fmt::format("{} has kernels for 2, 4, 6 and 8 GPUs: NCCL runs this on {}", library, gpus.ranks);
  if (gpus.ranks > 2 && !gpus.has_nvlink)
    return fmt::format("{} has kernels for more than 2 GPUs where NVLink joins each to each: NCCL runs this", library);
  return fmt::format("{} runs an all_reduce of multiples of 16 B up to {} here: NCCL runs the others", library,
                     weft::to_string(largest_of(library, call, gpus)));
}

std::string_view custom_shot(int ranks, Bytes bytes) {
  if (ranks <= 2) return kOneShot;
  return bytes < (ranks <= 4 ? 512_KiB : 256_KiB) ? kOneShot : kTwoShot;
}

std::string_view peer_protocol(std::string_view algorithm, Bytes bytes, const LibraryGpus& gpus) {
  if (algorithm == "custom_all_reduce") return custom_shot(gpus.ranks, bytes);
  return gpus.has_switch ? kMultimem : kTwoShot;
}

std::span<const std::string_view> library_names() { return kLibraryNames; }

LibraryChoice library_choice(std::string_view library, const CollectiveCall& call, const LibraryGpus& gpus) {
  if (call.kind != Collective::kAllReduce || gpus.nodes > 1) return kNccl;
  if (library == "vllm") return choice_of_vllm(call, gpus, true);
  if (library == "vllm_nccl_symm") return choice_of_vllm_nccl(call, gpus);
  if (library == "vllm_custom" || library == "sglang") return choice_of_vllm(call, gpus, false);
  return library == "tensorrt_llm" ? choice_of_tensorrt(call, gpus) : kNccl;
}

}  // namespace weft::coll
