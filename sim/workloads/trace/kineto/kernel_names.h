// Says what a GPU's kernel does, by its name: as training and inference profiles are usually split. Names are demangled or not.
#pragma once

#include <string>
#include <string_view>

#include "sim/collectives/call.h"
#include "sim/workloads/program.h"

namespace weft::work::kineto {

// Attention, optimizer, gemm (matrix products and convolutions), else other. Of no communication kernel.
[[nodiscard]] Category kernel_category(std::string_view name);

// NCCL's, RCCL's and MSCCL's own.
[[nodiscard]] bool is_nccl_kernel(std::string_view name);

// Those, and kernels by which GPUs read and write each other's memory: all-reduces of vLLM, SGLang, TensorRT-LLM and aiter,
// PyTorch's symmetric memory, DeepEP, MORI, NVSHMEM, userbuffers.
[[nodiscard]] bool is_communication_kernel(std::string_view name);

// The kind of a communication kernel; kSendRecv where its name tells of messages, or nothing.
[[nodiscard]] coll::Collective collective_of_kernel(std::string_view name);

}  // namespace weft::work::kineto
