// Sizes of the launches of PyTorch's multi-tensor kernels: tensors are cut into chunks of 65,536 elements, 320 chunks a launch.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::work {

inline constexpr std::int64_t kMultiTensorChunk = 65'536;
inline constexpr std::int64_t kMultiTensorChunks = 320;

// Elements of each launch over tensors of these sizes, in order.
[[nodiscard]] inline std::vector<std::int64_t> multi_tensor_launches(const std::vector<std::int64_t>& tensors) {
  std::vector<std::int64_t> launches;
  std::int64_t chunks = kMultiTensorChunks;
  for (std::int64_t left : tensors) {
    while (left > 0) {
      const std::int64_t part = left < kMultiTensorChunk ? left : kMultiTensorChunk;
      if (chunks == kMultiTensorChunks) {
        launches.push_back(0);
        chunks = 0;
      }
      launches.back() += part;
      left -= part;
      ++chunks;
    }
  }
  return launches;
}

}  // namespace weft::work
