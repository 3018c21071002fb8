// The kernels that points launch and that support them. All are asynchronous in `stream` on the current device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace weft::measure {

enum class Element { kFloat, kBfloat16, kHalf, kFp8 };
[[nodiscard]] std::int64_t size_of(Element element);

// Keeps `stream` busy for about `nanoseconds`, so that the host can queue work behind it.
void spin(std::int64_t nanoseconds, cudaStream_t stream);
void empty_kernel(cudaStream_t stream);

// About normal, of standard deviation 1/2: what data looks like decides how much power it costs.
void fill_random(Element element, void* data, std::int64_t count, unsigned seed, cudaStream_t stream);

// Memory-bound kernels on bf16 data of 16-byte alignment; `count` is a multiple of 8.
enum class MemoryOp { kRead, kWrite, kCopy, kAdd, kSilu };
void memory_kernel(MemoryOp op, const void* a, const void* b, void* out, std::int64_t count, cudaStream_t stream);
// Rows of bf16, `columns` a multiple of 8 and at most kMaxColumns. Softmax of a causal mask if `causal_rows` > 0: row r of
// every `causal_rows` sees columns 0 to r; scores are scaled by `scale` first.
inline constexpr int kMaxColumns = 16384;
void rmsnorm_kernel(const void* in, const void* weight, void* out, int rows, int columns, cudaStream_t stream);
void softmax_kernel(const void* in, void* out, std::int64_t rows, int columns, int causal_rows, float scale,
                    cudaStream_t stream);

// A copy by `blocks` thread blocks; either side may be a peer's memory. `bytes` is a multiple of 16.
void copy_kernel(const void* from, void* to, std::int64_t bytes, int blocks, cudaStream_t stream);

}  // namespace weft::measure
