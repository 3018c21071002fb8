// Costs of kernels whose threads read and write the memory of peers: custom all-reduces, symmetric memory.
#pragma once

#include <string_view>

#include "sim/collectives/call.h"
#include "sim/collectives/nccl/symmetric.h"
#include "sim/collectives/step_costs.h"
#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::coll {

using namespace literals;

struct CustomAllReduceCosts {
  Duration start = 3'700_ns;  // from its turn in the stream to its barrier, with the way of its flags
  Duration fence = 5_us;      // more of the barrier between the shots, which orders memory
  Bandwidth load_rate = Bandwidth::from_bits_per_second(2'240'000'000'000);  // of one peer's data
  double port_share = 0.68;                                                  // of the NVLinks' rate, of all peers' data
  Duration host_cost = 20_us;  // of a call that the engine's Python makes in a stream
};
extern const ParamGroup<CustomAllReduceCosts> custom_all_reduce_costs;

struct SymmetricMemoryCosts {
  Duration multimem_start = 8_us;  // of the copy in, the kernel, its barriers and the copy out
  Duration two_shot_start = 6_us;
  double port_share = 0.7;
  double copy_share = 0.85;  // of the memory's bandwidth, of both copies
};
extern const ParamGroup<SymmetricMemoryCosts> symmetric_memory_costs;

// A call as a kernel of peers sees it.
struct PeerCall {
  std::string_view algorithm = {};
  std::string_view protocol = {};
  int ranks = 1;
  Bytes bytes = {};
  Bandwidth port = {};                 // NVLinks of a GPU together; 0: it has none
  double memory_bytes_per_second = 0;  // 0: not known, copies cost nothing
  bool in_graph = false;
  // For nccl_symmetric: its kernel, what it gives one peer, and a message's way to a peer.
  const nccl::SymmetricKernel* kernel = nullptr;
  Bytes to_peer = {};
  Duration way = {};
  Duration copy_in = {};    // the launch of a kernel that copies the input first; 0: none does
  bool multicasts = false;  // the NVLink switch copies
};

// Algorithms without kernels: copy engines move their data.
inline constexpr std::string_view kNcclCopyEngine = "nccl_copy_engine";
inline constexpr std::string_view kNcclPut = "nccl_put";

class PeerCosts {
 public:
  explicit PeerCosts(const Profile& profile);

  [[nodiscard]] StepCosts of(const PeerCall& call) const;
  [[nodiscard]] Duration host_cost() const { return custom_.host_cost; }
  // Chunks of its own for which a GPU has a switch add up all ranks' copies, or copy its own to all, at most. Its port carries
  // its share of all ranks' chunks and, of its own chunk, the sum.
  [[nodiscard]] Bandwidth of_head(Collective kind, int ranks, Bandwidth port) const;

 private:
  // Sets start and rate of NCCL's kernels for symmetric memory.
  void take_kernel(const PeerCall& call, StepCosts& costs) const;
  // Sets what copies by engines cost, of data and of flags.
  void take_engines(const PeerCall& call, StepCosts& costs) const;

  CustomAllReduceCosts custom_;
  SymmetricMemoryCosts symmetric_;
  Duration engine_start_;      // gpu.copy.engine_start; 0: the profile knows none
  double engine_links_ = 1.0;  // gpu.contention.collective_links
};

}  // namespace weft::coll
