#include "sim/collectives/libraries.h"

#include <gtest/gtest.h>

namespace weft::coll {
namespace {

using namespace weft::literals;

CollectiveCall bf16(Bytes bytes) { return {.kind = Collective::kAllReduce, .bytes = bytes, .element_size = 2}; }
LibraryGpus gpus(int ranks, int sm) { return {.ranks = ranks, .sm = sm, .has_nvlink = true, .has_switch = true}; }
std::string_view algorithm(std::string_view library, Bytes bytes, const LibraryGpus& of) {
  return library_choice(library, bf16(bytes), of).algorithm;
}

// 8 H100: custom below 256 KiB, symmetric memory to 64 MiB, NCCL above; boundaries from both sides.
TEST(LibrariesTest, VllmHasThreeRangesOn8Hopper) {
  EXPECT_EQ(algorithm("vllm", 256_KiB - 16_B, gpus(8, 90)), "custom_all_reduce");
  EXPECT_EQ(algorithm("vllm", 256_KiB, gpus(8, 90)), "symmetric_memory");
  EXPECT_EQ(algorithm("vllm", 64_MiB, gpus(8, 90)), "symmetric_memory");
  EXPECT_EQ(algorithm("vllm", 64_MiB + 16_B, gpus(8, 90)), "");
}

// 2 Hopper GPUs have no multimem kernel, and Blackwell has none of 4.
TEST(LibrariesTest, SymmetricMemoryIsTwoShotWhereNoMultimemIsBuilt) {
  EXPECT_EQ(library_choice("vllm", bf16(16_MiB), gpus(2, 90)).protocol, kTwoShot);
  EXPECT_EQ(library_choice("vllm", bf16(16_MiB), gpus(4, 90)).protocol, kMultimem);
  EXPECT_EQ(library_choice("vllm", bf16(16_MiB), gpus(4, 100)).protocol, kTwoShot);
  EXPECT_EQ(library_choice("vllm", bf16(16_MiB), gpus(8, 100)).protocol, kMultimem);
}

TEST(LibrariesTest, WithoutSymmetricMemoryCustomKernelsGoTo8MiB) {
  for (const std::string_view library : {"vllm_custom", "sglang"}) {
    EXPECT_EQ(algorithm(library, 8_MiB - 16_B, gpus(8, 90)), "custom_all_reduce");
    EXPECT_EQ(algorithm(library, 8_MiB, gpus(8, 90)), "");
  }
  EXPECT_EQ(algorithm("vllm", 8_MiB - 16_B, gpus(8, 80)), "custom_all_reduce");  // A100 is not on vLLM's list
}

// Custom kernels between 16 KiB and 512 KiB of 4 GPUs, and 128 KiB of 8; boundaries from both sides.
TEST(LibrariesTest, VllmOnNcclsSymmetricMemoryKeepsCustomKernelsInTheMiddle) {
  for (const auto& [ranks, end] : {std::pair{4, 512_KiB}, std::pair{8, 128_KiB}}) {
    EXPECT_EQ(algorithm("vllm_nccl_symm", 16_KiB, gpus(ranks, 90)), "nccl_symmetric");
    EXPECT_EQ(algorithm("vllm_nccl_symm", 16_KiB + 16_B, gpus(ranks, 90)), "custom_all_reduce");
    EXPECT_EQ(algorithm("vllm_nccl_symm", end - 16_B, gpus(ranks, 90)), "custom_all_reduce");
    EXPECT_EQ(algorithm("vllm_nccl_symm", end, gpus(ranks, 90)), "nccl_symmetric");
  }
  EXPECT_TRUE(library_choice("vllm_nccl_symm", bf16(1_MiB), gpus(8, 90)).copies_in);
  EXPECT_EQ(algorithm("vllm_nccl_symm", 1_MiB, gpus(2, 90)), "custom_all_reduce");
}

// 1 Mi elements of 4 Hopper GPUs are 2 MiB of bf16.
TEST(LibrariesTest, TensorRtHasItsOwnThresholds) {
  EXPECT_EQ(library_choice("tensorrt_llm", bf16(2_MiB - 16_B), gpus(4, 90)).protocol, kOneShot);
  EXPECT_EQ(library_choice("tensorrt_llm", bf16(2_MiB), gpus(4, 90)).protocol, kTwoShot);
  EXPECT_EQ(algorithm("tensorrt_llm", Bytes{8'000'000}, gpus(4, 90)), "custom_all_reduce");
  EXPECT_EQ(algorithm("tensorrt_llm", Bytes{8'000'016}, gpus(4, 90)), "");
}

// Calls that NCCL runs are said, with what the library would run itself. 8 MiB and more is NCCL's; vLLM's bf16 on 8 H100 go to
// 64 MiB, its floats to 256 KiB.
TEST(LibrariesTest, SaysWhatNcclRuns) {
  const LibraryGpus eight = gpus(8, 90);
  CollectiveCall gather = bf16(64_KiB);
  gather.kind = Collective::kAllGather;
  EXPECT_EQ(library_note("vllm", gather, eight), "vllm runs all_reduce alone: NCCL runs all_gather");
  LibraryGpus two_nodes = gpus(16, 90);
  two_nodes.nodes = 2;
  EXPECT_EQ(library_note("vllm", bf16(64_KiB), two_nodes), "vllm runs nothing over several nodes: NCCL runs this");
  EXPECT_EQ(library_note("sglang", bf16(64_KiB), gpus(3, 90)),
            "sglang has kernels for 2, 4, 6 and 8 GPUs: NCCL runs this on 3");
  LibraryGpus pcie = eight;
  pcie.has_nvlink = false;
  EXPECT_EQ(library_note("vllm", bf16(64_KiB), pcie),
            "vllm has kernels for more than 2 GPUs where NVLink joins each to each: NCCL runs this");
  const auto up_to = [](std::string_view library, std::string_view size) {
    return std::string{library} + " runs an all_reduce of multiples of 16 B up to " + std::string{size} +
           " here: NCCL runs the others";
  };
  EXPECT_EQ(library_note("vllm", bf16(128_MiB), eight), up_to("vllm", "64 MiB"));
  CollectiveCall floats = bf16(1_MiB);
  floats.element_size = 4;
  EXPECT_EQ(library_note("vllm", floats, eight), up_to("vllm", "262128 B"));
  EXPECT_EQ(library_note("vllm_custom", bf16(8_MiB), eight), up_to("vllm_custom", "8388592 B"));
  EXPECT_EQ(library_note("tensorrt_llm", bf16(16_MiB), eight), up_to("tensorrt_llm", "8 MB"));
}

TEST(LibrariesTest, NcclHasWhatNoKernelIsBuiltFor) {
  EXPECT_EQ(algorithm("vllm", 1_KiB, gpus(3, 90)), "");
  EXPECT_EQ(algorithm("vllm", 1_KiB + 8_B, gpus(8, 90)), "");  // not whole vectors of 16 bytes
  EXPECT_EQ(algorithm("vllm", 1_KiB, {.ranks = 8, .nodes = 2, .sm = 90, .has_nvlink = true}), "");
  EXPECT_EQ(algorithm("vllm", 1_KiB, {.ranks = 4, .sm = 89}), "");  // PCIe
  EXPECT_EQ(algorithm("vllm", 1_KiB, {.ranks = 2, .sm = 89}), "custom_all_reduce");
  EXPECT_EQ(library_choice("vllm", {.kind = Collective::kAllGather, .bytes = 1_KiB}, gpus(8, 90)).algorithm, "");
}

}  // namespace
}  // namespace weft::coll
