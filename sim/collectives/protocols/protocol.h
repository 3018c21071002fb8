// NCCL's protocols: each has a shape, which is a fact of NCCL's source, and costs, which a profile has. A protocol is one file
// in this folder, and one line in protocols.def. models/nccl §4.3 has them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "sim/collectives/costs.h"
#include "sim/collectives/step_costs.h"
#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::coll {

// NCCL's source fixes these of a protocol (models/nccl §4.1).
struct ProtocolShape {
  int warps = 0;                    // of a whole thread block
  std::int64_t bytes_per_warp = 0;  // of data, in a pass; 0: no passes
  std::int64_t wire_bytes = 1;      // on the wire for so many of data
  std::int64_t per_data_bytes = 1;
};

// Simple's thread block, whose warps NVLS has too: a load of 16 bytes by each thread of a warp (models/nccl §4.1).
inline constexpr int kSimpleWarps = 16;
inline constexpr std::int64_t kBytesOfALoad = 16 * 32;

// The thread block of a channel, as a call has it.
struct KernelBlock {
  std::string_view protocol;
  int warps = 0;           // 0: as many as the protocol has
  bool one_slice = false;  // a collective whose chunk is one slice (models/nccl §4.3)
  CallData data;
  double far_ps = 0;  // more of a load from memory that caches do not hold

  [[nodiscard]] int used_warps(int most) const { return warps > 0 ? std::min(warps, most) : most; }
  // A latency of a block of `most` warps, of this one's.
  [[nodiscard]] Duration part(Duration latency, int most) const {
    return Duration::from_ps(latency.ps() * used_warps(most) / most);
  }
};

// A protocol's times on one kind of GPU: latencies by stage and transport, a rate, and what operands and kinds of steps cost of
// it.
struct ProtocolCosts {
  Duration base_latency;           // start of a kernel: from its turn in the stream to its first step
  Duration hop_latency;            // to a peer over NVLink
  Duration host_hop_latency = {};  // to a peer through PCIe or host memory
  Duration host_read = {};         // StepCosts::host_read
  Bandwidth channel_rate;          // StepCosts::rate
  double receive_cost = 0.0;       // StepCosts::memory
  double source_cost = 0.0;
  double store_cost = 0.0;

  void add_to(StepCosts& costs) const;
};
// All protocols whose threads move data in passes have these in common.
struct PassCosts {
  double thread_exponent = 0.45;  // StepCosts::thread_exponent
  Duration start_latency = {};    // StepCosts::channel_start
};
extern const ParamGroup<PassCosts> pass_costs;
// One whose receivers follow the sender pass by pass.
struct CutThroughCosts : ProtocolCosts {
  Duration block_latency;   // more of base_latency, for a whole block
  Duration step_gap;        // from the end of a slice with data to its lane's next one
  double first_pass = 1.0;  // what the first pass of a slice costs of the others

  void add_to(const ProtocolShape& shape, const KernelBlock& block, double thread_exponent, StepCosts& costs) const;
};
// One that waits for whole slices.
struct SliceCosts : ProtocolCosts {
  Duration slice_latency;    // before the bytes of a slice
  Duration channel_latency;  // StepCosts::channel_start
  Duration host_slice;       // StepCosts::host_slice

  void add_to(StepCosts& costs) const;
};

// The costs of one protocol, as one profile has them.
class Protocol {
 public:
  virtual ~Protocol() = default;
  // Adds to what all kernels have in common.
  virtual void add(const KernelBlock& block, StepCosts& costs) const = 0;
};

struct ProtocolEntry {
  std::string_view name;  // NCCL's, or the kernel's
  const ParamGroupBase& params;
  std::unique_ptr<Protocol> (*make)(const Profile& profile);
};

namespace protocols {
#define WEFT_PROTOCOL(name) extern const ProtocolEntry name;
#include "sim/collectives/protocols/protocols.def"
}  // namespace protocols

// In the order of protocols.def.
[[nodiscard]] std::span<const ProtocolEntry* const> all_protocols();

}  // namespace weft::coll
