#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <map>

#include "collective_data.h"
#include "cuda_check.h"

namespace weft::measure {
namespace {

constexpr int kThreads = 256;

// 0 to 3, so that the sum over 64 ranks is exact in bf16 (up to 256).
__host__ __device__ int value_at(int rank, std::int64_t index) {
  return static_cast<int>((index * 5 + index / 61 + rank * 3 + rank / 4) & 3);
}

template <class T>
__global__ void write_kernel(T* data, std::int64_t count, int rank) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = T(static_cast<float>(value_at(rank, i)));
  }
}

__device__ int sum_at(int ranks, std::int64_t index) {
  int sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += value_at(rank, index);
  return sum;
}

// By the definitions of NCCL's calls; `i` is the index in the output.
__device__ int expected_at(const Share& share, std::int64_t i) {
  switch (share.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      return sum_at(share.ranks, i);
    case Collective::kReduceScatter:
      return sum_at(share.ranks, share.rank * share.count + i);
    case Collective::kAllGather:
    case Collective::kGather:
      return value_at(static_cast<int>(i / share.count), i % share.count);
    case Collective::kAlltoall:
      return value_at(static_cast<int>(i / share.count), share.rank * share.count + i % share.count);
    case Collective::kScatter:
      return value_at(kRoot, share.rank * share.count + i);
    case Collective::kSendrecv:
      return value_at((share.rank + share.ranks - 1) % share.ranks, i);
    case Collective::kBroadcast:
    case Collective::kPair:
      return value_at(kRoot, i);
  }
  return -1;
}

template <class T>
__global__ void check_kernel(const T* data, Share share, std::int64_t count, unsigned long long* wrong) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    // Not equal, so that a NaN is wrong too.
    if (!(static_cast<float>(data[i]) == static_cast<float>(expected_at(share, i)))) ++mine;
  }
  if (mine > 0) atomicAdd(wrong, mine);
}

int blocks_for(std::int64_t count) {
  constexpr std::int64_t kMostBlocks = 2048;
  return static_cast<int>(std::clamp<std::int64_t>((count + kThreads - 1) / kThreads, 1, kMostBlocks));
}

template <class T>
void write_typed(void* data, std::int64_t count, int rank, cudaStream_t stream) {
  write_kernel<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<T*>(data), count, rank);
}

template <class T>
void check_typed(const void* data, const Share& share, std::int64_t count, unsigned long long* wrong, cudaStream_t stream) {
  check_kernel<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const T*>(data), share, count, wrong);
}

}  // namespace

Collective collective_of(const std::string& name) {
  static const std::map<std::string, Collective> kNames{{"all_reduce", Collective::kAllReduce},
                                                        {"all_gather", Collective::kAllGather},
                                                        {"reduce_scatter", Collective::kReduceScatter},
                                                        {"broadcast", Collective::kBroadcast},
                                                        {"reduce", Collective::kReduce},
                                                        {"alltoall", Collective::kAlltoall},
                                                        {"sendrecv", Collective::kSendrecv},
                                                        {"gather", Collective::kGather},
                                                        {"scatter", Collective::kScatter},
                                                        {"pair", Collective::kPair}};
  const auto found = kNames.find(name);
  if (found == kNames.end()) throw std::runtime_error("unknown collective " + name);
  return found->second;
}

DataType data_type_of(const std::string& name) {
  if (name == "float") return DataType::kFloat;
  if (name == "bfloat16") return DataType::kBfloat16;
  if (name == "half") return DataType::kHalf;
  throw std::runtime_error("unknown type " + name);
}

std::int64_t size_of(DataType type) { return type == DataType::kFloat ? 4 : 2; }

std::int64_t Share::sent() const {
  switch (collective) {
    case Collective::kReduceScatter:
    case Collective::kAlltoall:
    case Collective::kScatter:
      return ranks * count;
    default:
      return count;
  }
}

std::int64_t Share::received() const {
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kAlltoall:
      return ranks * count;
    case Collective::kGather:
      return rank == kRoot ? ranks * count : 0;
    case Collective::kReduce:
      return rank == kRoot ? count : 0;
    case Collective::kPair:
      return rank == 1 ? count : 0;
    default:
      return count;
  }
}

void write_input(DataType type, void* data, std::int64_t count, int rank, cudaStream_t stream) {
  switch (type) {
    case DataType::kFloat:
      write_typed<float>(data, count, rank, stream);
      break;
    case DataType::kBfloat16:
      write_typed<__nv_bfloat16>(data, count, rank, stream);
      break;
    case DataType::kHalf:
      write_typed<__half>(data, count, rank, stream);
      break;
  }
  check(cudaGetLastError(), "write the input");
}

void count_wrong(DataType type, const void* data, const Share& share, unsigned long long* wrong, cudaStream_t stream) {
  const std::int64_t count = share.received();
  if (count == 0) return;
  switch (type) {
    case DataType::kFloat:
      check_typed<float>(data, share, count, wrong, stream);
      break;
    case DataType::kBfloat16:
      check_typed<__nv_bfloat16>(data, share, count, wrong, stream);
      break;
    case DataType::kHalf:
      check_typed<__half>(data, share, count, wrong, stream);
      break;
  }
  check(cudaGetLastError(), "check the data");
}

}  // namespace weft::measure
