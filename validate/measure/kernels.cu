#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "cuda_check.h"
#include "kernels.h"

namespace weft::measure {
namespace {

constexpr int kThreads = 256;
using Vector = uint4;  // 16 bytes: eight bf16

__global__ void spin_kernel(std::int64_t nanoseconds) {
  std::int64_t begin = 0;
  std::int64_t now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

__global__ void nothing_kernel() {}

// A hash of the index (Wellons' lowbias32); its four bytes added are about normal.
__device__ float random_at(std::int64_t index, unsigned seed) {
  unsigned x = static_cast<unsigned>(index) ^ static_cast<unsigned>(index >> 32) * 0x9e3779b9U ^ seed * 0x85ebca6bU;
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  const int sum = static_cast<int>((x & 255U) + (x >> 8 & 255U) + (x >> 16 & 255U) + (x >> 24));
  return static_cast<float>(sum - 510) / 296.0F;
}

template <class T>
__global__ void fill_kernel(T* data, std::int64_t count, unsigned seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = T(random_at(i, seed));
  }
}

__device__ unsigned add_two(unsigned a, unsigned b) {
  const __nv_bfloat162 sum = __hadd2(*reinterpret_cast<__nv_bfloat162*>(&a), *reinterpret_cast<__nv_bfloat162*>(&b));
  return *reinterpret_cast<const unsigned*>(&sum);
}

__device__ float silu(float x) { return x / (1.0F + __expf(-x)); }

__device__ unsigned silu_two(unsigned a) {
  const float2 x = __bfloat1622float2(*reinterpret_cast<__nv_bfloat162*>(&a));
  const __nv_bfloat162 y = __floats2bfloat162_rn(silu(x.x), silu(x.y));
  return *reinterpret_cast<const unsigned*>(&y);
}

template <MemoryOp op>
__global__ void elementwise_kernel(const Vector* a, const Vector* b, Vector* out, std::int64_t vectors) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned seen = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < vectors; i += step) {
    if constexpr (op == MemoryOp::kWrite) {
      out[i] = Vector{1, 2, 3, 4};
      continue;
    }
    const Vector x = a[i];
    if constexpr (op == MemoryOp::kRead) {
      seen |= x.x & x.y & x.z & x.w;
    } else if constexpr (op == MemoryOp::kCopy) {
      out[i] = x;
    } else if constexpr (op == MemoryOp::kAdd) {
      const Vector y = b[i];
      out[i] = Vector{add_two(x.x, y.x), add_two(x.y, y.y), add_two(x.z, y.z), add_two(x.w, y.w)};
    } else if constexpr (op == MemoryOp::kSilu) {
      out[i] = Vector{silu_two(x.x), silu_two(x.y), silu_two(x.z), silu_two(x.w)};
    }
  }
  // Never true of random data in every bit; keeps the reads.
  if (op == MemoryOp::kRead && seen == 0xdeadbeefU) out[0] = Vector{seen, 0, 0, 0};
}

template <bool maximum>
__device__ float reduce_block(float value) {
  __shared__ float partial[32];
  const auto combine = [](float x, float y) { return maximum ? fmaxf(x, y) : x + y; };
  for (int offset = 16; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(0xffffffffU, value, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) value = combine(value, partial[warp]);
  return value;
}

// One block per row; the row stays in shared memory.
__global__ void rmsnorm_rows(const __nv_bfloat16* in, const __nv_bfloat16* weight, __nv_bfloat16* out, int columns) {
  extern __shared__ Vector row[];
  const auto* source = reinterpret_cast<const Vector*>(in + static_cast<std::int64_t>(blockIdx.x) * columns);
  auto* target = reinterpret_cast<Vector*>(out + static_cast<std::int64_t>(blockIdx.x) * columns);
  const auto* scale = reinterpret_cast<const Vector*>(weight);
  float squares = 0;
  for (int i = threadIdx.x; i < columns / 8; i += blockDim.x) {
    row[i] = source[i];
    const auto* values = reinterpret_cast<const __nv_bfloat162*>(&row[i]);
    for (int j = 0; j < 4; ++j) {
      const float2 x = __bfloat1622float2(values[j]);
      squares += x.x * x.x + x.y * x.y;
    }
  }
  const float inverse = rsqrtf(reduce_block<false>(squares) / columns + 1e-6F);
  for (int i = threadIdx.x; i < columns / 8; i += blockDim.x) {
    const Vector factors = scale[i];
    Vector result;
    for (int j = 0; j < 4; ++j) {
      const float2 x = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(&row[i])[j]);
      const float2 w = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162*>(&factors)[j]);
      reinterpret_cast<__nv_bfloat162*>(&result)[j] = __floats2bfloat162_rn(x.x * inverse * w.x, x.y * inverse * w.y);
    }
    target[i] = result;
  }
}

__global__ void softmax_rows(const __nv_bfloat16* in, __nv_bfloat16* out, int columns, int causal_rows, float scale) {
  extern __shared__ Vector row[];
  const auto* source = reinterpret_cast<const Vector*>(in + static_cast<std::int64_t>(blockIdx.x) * columns);
  auto* target = reinterpret_cast<Vector*>(out + static_cast<std::int64_t>(blockIdx.x) * columns);
  const int seen = causal_rows > 0 ? static_cast<int>(blockIdx.x % causal_rows) + 1 : columns;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < (seen + 7) / 8; i += blockDim.x) {
    row[i] = source[i];
    const auto* values = reinterpret_cast<const __nv_bfloat16*>(&row[i]);
    for (int j = 0; j < 8 && 8 * i + j < seen; ++j) largest = fmaxf(largest, scale * __bfloat162float(values[j]));
  }
  largest = reduce_block<true>(largest);
  float total = 0;
  for (int i = threadIdx.x; i < (seen + 7) / 8; i += blockDim.x) {
    const auto* values = reinterpret_cast<const __nv_bfloat16*>(&row[i]);
    for (int j = 0; j < 8 && 8 * i + j < seen; ++j) total += __expf(scale * __bfloat162float(values[j]) - largest);
  }
  const float inverse = 1.0F / reduce_block<false>(total);
  for (int i = threadIdx.x; i < columns / 8; i += blockDim.x) {
    Vector result;
    auto* outputs = reinterpret_cast<__nv_bfloat16*>(&result);
    const auto* values = reinterpret_cast<const __nv_bfloat16*>(&row[i]);
    for (int j = 0; j < 8; ++j) {
      const bool visible = 8 * i + j < seen;
      outputs[j] = __float2bfloat16(visible ? inverse * __expf(scale * __bfloat162float(values[j]) - largest) : 0.0F);
    }
    target[i] = result;
  }
}

__global__ void copy_vectors(const Vector* from, Vector* to, std::int64_t vectors) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  constexpr int kUnroll = 4;  // loads in flight of one thread
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + (kUnroll - 1) * step < vectors; i += kUnroll * step) {
    Vector held[kUnroll];
    for (int j = 0; j < kUnroll; ++j) held[j] = from[i + j * step];
    for (int j = 0; j < kUnroll; ++j) to[i + j * step] = held[j];
  }
  for (; i < vectors; i += step) to[i] = from[i];
}

int blocks_for(std::int64_t items) {
  constexpr std::int64_t kMostBlocks = 132 * 16;
  return static_cast<int>(std::clamp<std::int64_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks));
}

template <class T>
void fill(void* data, std::int64_t count, unsigned seed, cudaStream_t stream) {
  fill_kernel<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<T*>(data), count, seed);
}

template <MemoryOp op>
void launch_elementwise(const void* a, const void* b, void* out, std::int64_t vectors, cudaStream_t stream) {
  elementwise_kernel<op><<<blocks_for(vectors), kThreads, 0, stream>>>(
      static_cast<const Vector*>(a), static_cast<const Vector*>(b), static_cast<Vector*>(out), vectors);
}

}  // namespace

std::int64_t size_of(Element element) {
  switch (element) {
    case Element::kFloat:
      return 4;
    case Element::kBfloat16:
    case Element::kHalf:
      return 2;
    case Element::kFp8:
      return 1;
  }
  return 0;
}

void spin(std::int64_t nanoseconds, cudaStream_t stream) { spin_kernel<<<1, 1, 0, stream>>>(nanoseconds); }

void empty_kernel(cudaStream_t stream) { nothing_kernel<<<1, 1, 0, stream>>>(); }

void fill_random(Element element, void* data, std::int64_t count, unsigned seed, cudaStream_t stream) {
  switch (element) {
    case Element::kFloat:
      fill<float>(data, count, seed, stream);
      break;
    case Element::kBfloat16:
      fill<__nv_bfloat16>(data, count, seed, stream);
      break;
    case Element::kHalf:
      fill<__half>(data, count, seed, stream);
      break;
    case Element::kFp8:
      fill<__nv_fp8_e4m3>(data, count, seed, stream);
      break;
  }
  check(cudaGetLastError(), "fill with random numbers");
}

void memory_kernel(MemoryOp op, const void* a, const void* b, void* out, std::int64_t count, cudaStream_t stream) {
  const std::int64_t vectors = count / 8;
  switch (op) {
    case MemoryOp::kRead:
      launch_elementwise<MemoryOp::kRead>(a, b, out, vectors, stream);
      break;
    case MemoryOp::kWrite:
      launch_elementwise<MemoryOp::kWrite>(a, b, out, vectors, stream);
      break;
    case MemoryOp::kCopy:
      launch_elementwise<MemoryOp::kCopy>(a, b, out, vectors, stream);
      break;
    case MemoryOp::kAdd:
      launch_elementwise<MemoryOp::kAdd>(a, b, out, vectors, stream);
      break;
    case MemoryOp::kSilu:
      launch_elementwise<MemoryOp::kSilu>(a, b, out, vectors, stream);
      break;
  }
}

void rmsnorm_kernel(const void* in, const void* weight, void* out, int rows, int columns, cudaStream_t stream) {
  rmsnorm_rows<<<rows, kThreads, static_cast<std::size_t>(columns) * 2, stream>>>(static_cast<const __nv_bfloat16*>(in),
                                                                                  static_cast<const __nv_bfloat16*>(weight),
                                                                                  static_cast<__nv_bfloat16*>(out), columns);
}

void softmax_kernel(const void* in, void* out, std::int64_t rows, int columns, int causal_rows, float scale,
                    cudaStream_t stream) {
  softmax_rows<<<static_cast<unsigned>(rows), kThreads, static_cast<std::size_t>(columns) * 2, stream>>>(
      static_cast<const __nv_bfloat16*>(in), static_cast<__nv_bfloat16*>(out), columns, causal_rows, scale);
}

void copy_kernel(const void* from, void* to, std::int64_t bytes, int blocks, cudaStream_t stream) {
  copy_vectors<<<blocks, 512, 0, stream>>>(static_cast<const Vector*>(from), static_cast<Vector*>(to), bytes / 16);
}

}  // namespace weft::measure
