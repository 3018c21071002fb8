// Ranks execute programs: streams of operations, with waits between them. Generators (training/) and trace readers make
// programs, and the Replayer (replayer.h) runs them.
//
// Ranks that behave alike share one RankProgram: an operation names its group and its peers by slot, and each rank's table says
// which group or rank a slot is. A program of 16,384 ranks of a pipeline of 16 stages stores 16 lists of operations.
//
// Operations of one stream run in order, each when the one before it has ended, all operations it waits for have ended and the
// host has issued it. Collectives of one group start when every member has reached it, in the order each member issues them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel.h"

namespace weft::work {

enum class OpKind : std::uint8_t {
  kKernel,      // `duration` alone on the GPU
  kCollective,  // `collective` of `bytes` (nccl-tests' size) on the group in `slot`; of no known size: see takes_its_time()
  kSend,        // `bytes` to the peer in `slot`
  kReceive,     // `bytes` from the peer in `slot`
  kHostDelay,   // the host does nothing else for `duration`
  kHostSync,    // the host goes on when what this waits for has ended
  kCopy,        // `bytes` between the GPU and its host's memory; `slot`: which way (kInwards)
  kStorage,     // `bytes` between the host and storage; `slot`: which way, and which storage
  kMarker,      // a point to wait for, `duration` after its turn; nothing is busy meanwhile
};

// An operation counts under its category. Communication is told apart by the axis of parallelism it serves.
enum class Category : std::uint8_t {
  kGemm,
  kAttention,
  kOtherCompute,
  kOptimizer,
  kCommTensor,
  kCommData,
  kCommPipeline,
  kCommExpert,
  kCommContext,
  kCommOther,
  kIo,
  kHost,
};
inline constexpr std::size_t kCategories = 12;
[[nodiscard]] std::string_view to_string(Category category);
[[nodiscard]] constexpr bool is_communication(Category c) { return c >= Category::kCommTensor && c <= Category::kCommOther; }
[[nodiscard]] constexpr bool is_compute(Category c) { return c <= Category::kOptimizer; }

// Operation::slot of kCopy and kStorage is a sum of these.
inline constexpr std::uint16_t kInwards = 1;     // towards the GPU: host to device, or read; else device to host, or written
inline constexpr std::uint16_t kFileSystem = 2;  // of storage: that of all nodes; else the node's own
inline constexpr std::uint16_t kGpuDirect = 4;   // of storage: between it and the GPU, past the host's memory

// An index into a RankProgram's operations.
using OpIndex = std::uint32_t;
inline constexpr OpIndex kNoOp = 0xFFFF'FFFF;

struct Operation {
  Duration duration = {};
  Bytes bytes = {};
  std::uint32_t name = 0;        // into RankProgram::names
  std::uint32_t first_wait = 0;  // into RankProgram::waits
  std::uint16_t wait_count = 0;
  std::uint16_t slot = 0;
  std::uint8_t stream = 0;
  OpKind kind = OpKind::kKernel;
  Category category = Category::kOtherCompute;
  coll::Collective collective = coll::Collective::kAllReduce;
  std::uint8_t element_size = 2;
  // Messages of one pair, direction and tag meet in the order in which both ends issue them. Two slots of one peer need two.
  std::uint8_t tag = 0;
  bool one_way = false;  // a message whose kernel moves nothing the other way
  // GEMM: holds every SM until it ends, so that a collective that becomes ready waits for it; a weight gradient's blocks that
  // find no SM run after the others (models/training_steps §6).
  bool fills_gpu = false;
  bool weight_gradient = false;
  bool fills_memory = false;  // moves far more data than caches hold, at the memory's full rate: slows collectives beside it
  // Kernels at full clock: of the peak rate of tensor cores, and of the HBM bandwidth, in 255ths (clock.h).
  std::uint8_t tensor_share = 0;
  std::uint8_t memory_share = 0;
  bool launched = true;  // the host pays a launch for it (not: nodes of a CUDA graph after its first)
  // kStorage: holds up its stream, in the next iterations too, but nothing that waits for it and no iteration's end.
  bool background = false;
  // Copies and storage: done in every n-th iteration only, 0: in the first one only. Takes no time in the others.
  std::uint16_t every = 1;
  std::int16_t microbatch = -1;  // for reports; -1: none
  std::int16_t layer = -1;
};

void set_load(Operation& op, const PowerLoad& load);
[[nodiscard]] PowerLoad load_of(const Operation& op);

// A call whose size nobody knows: once all members are there it takes its `duration`, and loads no link.
[[nodiscard]] constexpr bool takes_its_time(const Operation& op) {
  return op.kind == OpKind::kCollective && op.duration > Duration{};
}

// PyTorch's allocator keeps memory apart by the stream that asked for it.
enum class MemoryPool : std::uint8_t { kCompute, kGathers, kGradients };
inline constexpr std::size_t kMemoryPools = 3;

// Bytes that become or cease to be resident when an operation starts or ends: activations, gathered parameters.
struct MemoryChange {
  OpIndex op = 0;
  std::int64_t bytes = 0;  // more than 0: from the operation's start; less: from its end
  MemoryPool pool = MemoryPool::kCompute;
};

// Held all the step long.
struct ResidentBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  [[nodiscard]] std::int64_t total() const { return parameters + gradients + optimizer; }
};

struct RankProgram {
  std::vector<Operation> operations = {};  // in the order the host issues them
  std::vector<OpIndex> waits = {};         // of earlier operations
  std::vector<std::string> names = {};
  std::vector<std::string> streams = {};  // names; Operation::stream is an index. Stream 0 is compute
  std::vector<MemoryChange> memory = {};  // in order of op
  ResidentBytes resident = {};

  [[nodiscard]] std::span<const OpIndex> waits_of(const Operation& op) const {
    return std::span{waits}.subspan(op.first_wait, op.wait_count);
  }
};

// Ranks that communicate together, in group order.
struct Group {
  std::string name;  // "tp 3", for reports
  std::vector<Rank> ranks;
};

struct ProgramRank {
  std::uint32_t program = 0;               // into Program::programs
  std::vector<std::uint32_t> groups = {};  // by slot: into Program::groups
  std::vector<Rank> peers = {};            // by slot
  // A rank that does the same at the same time on an isomorphic place; itself where none. Only leaders are run; a group's
  // collectives stand for those of all groups its leaders' followers form.
  Rank leader = 0;
};

struct Program {
  std::vector<RankProgram> programs;
  std::vector<Group> groups;
  std::vector<ProgramRank> ranks;
  std::vector<DeviceId> devices;  // of rank r

  [[nodiscard]] const RankProgram& program_of(Rank rank) const {
    return programs[ranks[static_cast<std::size_t>(rank)].program];
  }
};

// A rank's memory if its operations start and end in the order in which they are issued.
struct MemoryUse {
  std::int64_t peak = 0;
  std::int64_t gradients = 0;  // of the peak, those that come and go
  std::int64_t reserved = 0;   // each pool's own peak, summed; 0: nothing is gathered apart
};
[[nodiscard]] MemoryUse memory_in_order(const RankProgram& rank);
// Returns the bytes of the rank that holds most in that order.
[[nodiscard]] std::int64_t peak_in_order(const Program& program);

// Builds a RankProgram operation by operation.
class RankProgramBuilder {
 public:
  std::uint8_t stream(std::string_view name);  // made at first mention; the first is compute
  // Returns its index. `name` is kept once. Waits on an earlier operation of the same stream are dropped: order says it.
  OpIndex add(Operation op, std::string_view name, std::span<const OpIndex> waits = {});
  void allocate(OpIndex at, std::int64_t bytes, MemoryPool pool = MemoryPool::kCompute) {
    program_.memory.push_back({at, bytes, pool});
  }
  void release(OpIndex at, std::int64_t bytes, MemoryPool pool = MemoryPool::kCompute) {
    program_.memory.push_back({at, -bytes, pool});
  }
  // The last operation of a stream; kNoOp: none yet.
  [[nodiscard]] OpIndex last(std::uint8_t stream) const;
  [[nodiscard]] std::size_t size() const { return program_.operations.size(); }
  [[nodiscard]] RankProgram& program() { return program_; }
  // After a change of the order of operations in program().
  void find_last();
  [[nodiscard]] RankProgram take();

 private:
  RankProgram program_;
  std::vector<OpIndex> last_;
};

}  // namespace weft::work
