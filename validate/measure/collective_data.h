// The data of checked collectives: small whole numbers that depend on the rank and the index, so that sums are exact in every
// type and a wrong, misplaced or missing element shows.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

namespace weft::measure {

enum class Collective {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAlltoall,
  kSendrecv,
  kGather,
  kScatter,
  kPair
};
// nccl-tests' names; throws std::runtime_error for others.
[[nodiscard]] Collective collective_of(const std::string& name);

enum class DataType { kFloat, kBfloat16, kHalf };
[[nodiscard]] DataType data_type_of(const std::string& name);
[[nodiscard]] std::int64_t size_of(DataType type);

// A rank's input and output, in elements.
struct Share {
  Collective collective = Collective::kAllReduce;
  int rank = 0;
  int ranks = 1;
  std::int64_t count = 0;  // as NCCL's call takes it
  [[nodiscard]] std::int64_t sent() const;
  [[nodiscard]] std::int64_t received() const;  // 0 on ranks that get nothing
};

inline constexpr int kRoot = 0;

// Writes the rank's input.
void write_input(DataType type, void* data, std::int64_t count, int rank, cudaStream_t stream);
// Adds to `*wrong` how many elements of the rank's output differ from what they should be.
void count_wrong(DataType type, const void* data, const Share& share, unsigned long long* wrong, cudaStream_t stream);

}  // namespace weft::measure
