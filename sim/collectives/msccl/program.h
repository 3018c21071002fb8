// An MSCCL algorithm as its XML says it (models/nccl §9.1): per GPU threadblocks, each with one peer to send to, one to receive
// from and a list of steps on chunks. Plain data; made by reader.h, given meaning by algorithm.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/collectives/schedule.h"
#include "sim/core/error.h"
#include "sim/core/ids.h"

namespace weft::coll::msccl {

enum class Op : std::uint8_t {
  kSend,
  kReceive,
  kReceiveCopySend,
  kReceiveReduceSend,
  kReceiveReduceCopy,
  kReceiveReduceCopySend,
  kCopy,
  kReduce,
  kNop
};

// A step type does this; `reduces`: adds its source chunk to what it receives, or for `re` to its destination.
struct OpTraits {
  std::string_view name;  // as the XML has it
  bool sends;
  bool receives;
  bool reads_source;
  bool stores;
};
inline constexpr std::array<OpTraits, 9> kOps{{{"s", true, false, true, false},
                                               {"r", false, true, false, true},
                                               {"rcs", true, true, false, true},
                                               {"rrs", true, true, true, false},
                                               {"rrc", false, true, true, true},
                                               {"rrcs", true, true, true, true},
                                               {"cpy", false, false, true, true},
                                               {"re", false, false, true, true},
                                               {"nop", false, false, false, false}}};
constexpr const OpTraits& traits(Op op) { return kOps[static_cast<std::size_t>(op)]; }

// Where in the file something stands.
struct Origin {
  std::size_t offset = 0;  // bytes from its start
  int line = 0;
};

// `count` chunks from `chunk` on.
struct Place {
  Buffer buffer = Buffer::kInput;
  int chunk = -1;  // -1: unused
};

struct ProgramStep {
  Op op = Op::kNop;
  Place source;
  Place destination;
  int count = 0;
  int wait_block = -1;  // waits until that threadblock of this GPU has done its step `wait_step`; -1: no wait
  int wait_step = -1;
  bool waited_for = false;  // tells others when it is done
  Origin origin;
};

struct ThreadBlock {
  Rank send = -1;  // the one peer; -1: none
  Rank receive = -1;
  int channel = 0;
  std::vector<ProgramStep> steps;
  Origin origin;
};

struct Gpu {
  int input_chunks = 0;
  int output_chunks = 0;
  int scratch_chunks = 0;
  std::vector<ThreadBlock> blocks;  // by id
  Origin origin;
};

struct Program {
  std::string file;
  std::string name;
  Collective collective = Collective::kAllReduce;
  std::string protocol;   // "Simple", "LL", "LL128"
  std::string reduction;  // "sum", ...; empty: not said
  int channels = 1;
  int chunks_per_loop = 1;
  int threads = 0;        // of a threadblock; 0: not said
  bool in_place = false;  // may be used where input and output are one buffer, where they are two
  bool out_of_place = true;
  std::int64_t min_bytes = 0;
  std::int64_t max_bytes = 0;  // 0: no limit
  std::vector<Gpu> gpus;       // by rank
  Origin origin;
  std::vector<Diagnostic> warnings = {};  // attributes that MSCCL does not know, each once for each kind of element

  [[nodiscard]] int ranks() const { return static_cast<int>(gpus.size()); }
};

// MSCCL's limits (models/nccl §9.1); channels as NCCL 2.27 and later have them (models/nccl §1.3).
inline constexpr int kMaxSteps = 256;  // of a threadblock
inline constexpr int kMaxBlocksPerChannel = 32;
inline constexpr int kMaxCount = 71;
inline constexpr int kMaxChannels = 64;
inline constexpr int kMaxGpus = 1024;
inline constexpr std::int64_t kDefaultMaxBytes = std::int64_t{128} << 20;

}  // namespace weft::coll::msccl
