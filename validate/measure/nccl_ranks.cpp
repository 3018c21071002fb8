#include "nccl_ranks.h"

#include "cuda_check.h"

namespace weft::measure {

NcclRanks::NcclRanks(Team& team, const std::vector<int>& devices, std::int64_t buffer_bytes)
    : size_{team.size() * static_cast<int>(devices.size())}, members_{team.size()}, buffer_bytes_{buffer_bytes} {
  ncclUniqueId id{};
  if (team.rank() == 0) check(ncclGetUniqueId(&id), "NCCL's unique id");
  team.broadcast(&id, sizeof id);
  int rank = team.rank() * static_cast<int>(devices.size());
  for (const int device : devices) {
    check(cudaSetDevice(device), "device");
    NcclRank one{.device = device, .rank = rank++};
    one.stream = std::make_unique<Stream>();
    one.send = std::make_unique<Buffer>(buffer_bytes);
    one.receive = std::make_unique<Buffer>(buffer_bytes);
    one.wrong = std::make_unique<Buffer>(static_cast<std::int64_t>(sizeof(unsigned long long)));
    ranks_.push_back(std::move(one));
  }
  check(ncclGroupStart(), "communicator");
  for (NcclRank& one : ranks_) {
    check(cudaSetDevice(one.device), "device");
    check(ncclCommInitRank(&one.comm, size_, id, one.rank), "communicator");
  }
  check(ncclGroupEnd(), "communicator");
}

NcclRanks::~NcclRanks() {
  for (const NcclRank& one : ranks_) ncclCommAbort(one.comm);
}

std::vector<int> NcclRanks::all_gpus() const {
  std::vector<int> gpus;
  for (int gpu = 0; gpu < size_; ++gpu) gpus.push_back(gpu);
  return gpus;
}

void NcclRanks::synchronize() {
  for (const NcclRank& one : ranks_) {
    check(cudaSetDevice(one.device), "device");
    check(cudaStreamSynchronize(one.stream->get()), "collective");
  }
}

namespace {

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::kFloat:
      return ncclFloat32;
    case DataType::kBfloat16:
      return ncclBfloat16;
    case DataType::kHalf:
      return ncclFloat16;
  }
  return ncclFloat32;
}

// Sends and receives between two ranks, which NCCL joins in one kernel.
class PointToPoint {
 public:
  PointToPoint(const Call& call, const Buffers& buffers, ncclComm_t comm, cudaStream_t stream)
      : count_{static_cast<std::size_t>(call.count)},
        stride_{call.count * size_of(call.type)},
        type_{nccl_type(call.type)},
        buffers_{buffers},
        comm_{comm},
        stream_{stream} {}

  void send(int to, int part = 0) const {
    check(ncclSend(buffers_.send + part * stride_, count_, type_, to, comm_, stream_), "send");
  }
  void receive(int from, int part = 0) const {
    check(ncclRecv(buffers_.receive + part * stride_, count_, type_, from, comm_, stream_), "receive");
  }

 private:
  std::size_t count_;
  std::int64_t stride_;
  ncclDataType_t type_;
  Buffers buffers_;
  ncclComm_t comm_;
  cudaStream_t stream_;
};

void enqueue_point_to_point(Collective collective, int rank, int ranks, const PointToPoint& peer) {
  check(ncclGroupStart(), "group");
  for (int other = 0; other < ranks; ++other) {
    const bool gets_part = collective == Collective::kAlltoall || (collective == Collective::kGather && rank == kRoot);
    const bool gives_part = collective == Collective::kAlltoall || (collective == Collective::kScatter && rank == kRoot);
    if (gives_part) peer.send(other, other);
    if (gets_part) peer.receive(other, other);
  }
  if (collective == Collective::kGather) peer.send(kRoot);
  if (collective == Collective::kScatter) peer.receive(kRoot);
  if (collective == Collective::kSendrecv) peer.send((rank + 1) % ranks), peer.receive((rank + ranks - 1) % ranks);
  if (collective == Collective::kPair && rank == kRoot) peer.send(1);
  if (collective == Collective::kPair && rank == 1) peer.receive(kRoot);
  check(ncclGroupEnd(), "group");
}

}  // namespace

void enqueue_collective(const Call& call, int rank, int ranks, const Buffers& buffers, ncclComm_t comm, cudaStream_t stream) {
  const auto count = static_cast<std::size_t>(call.count);
  const ncclDataType_t type = nccl_type(call.type);
  switch (call.collective) {
    case Collective::kAllReduce:
      return check(ncclAllReduce(buffers.send, buffers.receive, count, type, ncclSum, comm, stream), "all-reduce");
    case Collective::kAllGather:
      return check(ncclAllGather(buffers.send, buffers.receive, count, type, comm, stream), "all-gather");
    case Collective::kReduceScatter:
      return check(ncclReduceScatter(buffers.send, buffers.receive, count, type, ncclSum, comm, stream), "reduce-scatter");
    case Collective::kBroadcast:
      return check(ncclBroadcast(buffers.send, buffers.receive, count, type, kRoot, comm, stream), "broadcast");
    case Collective::kReduce:
      return check(ncclReduce(buffers.send, buffers.receive, count, type, ncclSum, kRoot, comm, stream), "reduce");
    default:
      enqueue_point_to_point(call.collective, rank, ranks, PointToPoint{call, buffers, comm, stream});
  }
}

}  // namespace weft::measure
