// The NCCL ranks of one member of a team: one or several GPUs, each with a communicator, a stream and two buffers.
#pragma once

#include <nccl.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "collective_data.h"
#include "team.h"
#include "timing.h"

namespace weft::measure {

struct NcclRank {
  int device = 0;
  int rank = 0;
  ncclComm_t comm = nullptr;
  std::unique_ptr<Stream> stream = {};
  std::unique_ptr<Buffer> send = {};
  std::unique_ptr<Buffer> receive = {};
  std::unique_ptr<Buffer> wrong = {};  // one counter
};

// Where a rank's part lies.
struct Buffers {
  const char* send = nullptr;
  char* receive = nullptr;
};

class NcclRanks {
 public:
  // Collective over the team: member i takes ranks i * devices.size() and on. Buffers of `buffer_bytes` each.
  NcclRanks(Team& team, const std::vector<int>& devices, std::int64_t buffer_bytes);
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  [[nodiscard]] std::vector<NcclRank>& ranks() { return ranks_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] std::int64_t buffer_bytes() const { return buffer_bytes_; }
  // All members' GPUs.
  [[nodiscard]] std::vector<int> all_gpus() const;
  void synchronize();

 private:
  std::vector<NcclRank> ranks_;
  int size_;
  int members_;
  std::int64_t buffer_bytes_;
};

struct Call {
  Collective collective = Collective::kAllReduce;
  DataType type = DataType::kFloat;
  std::int64_t count = 0;
};
// One operation of one rank, asynchronous in `stream`. Calls of several GPUs by one thread stand in an NCCL group.
void enqueue_collective(const Call& call, int rank, int ranks, const Buffers& buffers, ncclComm_t comm, cudaStream_t stream);

}  // namespace weft::measure
