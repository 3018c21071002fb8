// Costs of collectives beyond the bytes on their links: parameter groups of the profile, one for each of NCCL's protocols and
// one for its send/recv kernel. step_costs.h says how the executor uses them.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/collectives/step_costs.h"
#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::coll {

using namespace literals;

// Times of one protocol on one kind of GPU. The defaults of each are those of an H200 (models/nccl_calibration).
struct ProtocolCosts {
  Duration base_latency;      // of a kernel: from its turn in the stream to its first step
  Duration channel_latency;   // StepCosts::channel_start
  Duration hop_latency;       // to a peer over NVLink
  Duration host_hop_latency;  // to a peer through PCIe or host memory
  Duration net_hop_latency;   // to a peer over the network: proxy threads, NIC, flush
  Duration slice_latency;     // before the bytes of a slice
  Duration empty_slice_latency;
  Duration step_gap;          // from the end of a slice with data to its lane's next one
  Bandwidth channel_rate;     // StepCosts::rate
  double receive_cost = 0.0;  // StepCosts::memory
  double source_cost = 0.0;
  double store_cost = 0.0;
  double thread_exponent = 0.0;  // a block with a share s of its threads moves a pass in s^thread_exponent of the time
  Duration host_read = {};       // StepCosts::host_read
  Duration host_slice = {};      // StepCosts::host_slice
  double first_pass = 1.0;       // what the first pass of a slice costs of the others
};
struct SimpleCosts : ProtocolCosts {
  SimpleCosts();
  Duration block_latency = 1'350_ns;  // more of base_latency, for a block of 512 threads
  Duration load_latency = 580_ns;     // StepCosts::load_wait
  Duration copy_latency = 1'200_ns;   // StepCosts::copy_wait
  double crowding = 0.005;            // of n channels each takes (n - 1) times this longer
};
struct LlCosts : ProtocolCosts {
  LlCosts();
  Duration block_latency = 740_ns;  // more of base_latency, for a block of 512 threads
  Duration load_latency = {};       // StepCosts::operand_wait
};
struct Ll128Costs : ProtocolCosts {
  Ll128Costs();
  Duration block_latency = 3'500_ns;  // more of base_latency, for a block of 640 threads
  Duration small_block_gap = 310_ns;  // more of step_gap, for a block of 320 threads
  Duration load_latency = 700_ns;     // StepCosts::operand_wait
};
struct P2pCosts : ProtocolCosts {  // send and recv, in the Simple protocol
  P2pCosts();
  double direct_cost = 0.42;     // StepCosts::direct
  Duration ll_latency = 600_ns;  // more of LL's base_latency
};
extern const ParamGroup<SimpleCosts> simple_costs;
extern const ParamGroup<LlCosts> ll_costs;
extern const ParamGroup<Ll128Costs> ll128_costs;
extern const ParamGroup<P2pCosts> p2p_costs;

// Kernels whose data a switch adds up and copies: NVLS, CollNet.
struct InSwitchCosts {
  Duration base_latency = 12_us;
  Duration hop_latency = 1_us;
  Duration slice_latency = 5'900_ns;
  Duration peer_latency = {};  // StepCosts::peer_slice
  Duration net_hop_latency = 10_us;
  Bandwidth channel_rate = Bandwidth::from_bits_per_second(431'000'000'000);
};
extern const ParamGroup<InSwitchCosts> in_switch_costs;

// All channels of a communicator have these in common.
struct ChannelCosts {
  // Model: of a call whose buffers are half of this all is read from caches, of one with half as much again nothing, in between
  // a part.
  Bytes cache = 30_MiB;
  Duration far_latency = 200_ns;   // more of a load from memory
  double service_spread = 0.2;     // StepCosts::service_spread
  double pcie_share = 1 / 1.2;     // StepCosts::pcie_share
  Duration host_start = 1'300_ns;  // StepCosts::host_start
  Duration launch_cost = 30_ns;    // of the host, for each channel of a kernel: NCCL plans them one by one
};
extern const ParamGroup<ChannelCosts> channel_costs;

// A lower clock of the SMs costs this. Model: moving data takes a thread block cycles of its SM; of the latencies of kernels
// and of peers over NVLink a share is cycles, the same in all protocols; links, switches and memory are as fast at any clock.
struct ClockCosts {
  double latency_share = 0.5;
};
extern const ParamGroup<ClockCosts> clock_costs;

// Everything of this layer that a profile may say something about.
[[nodiscard]] ParamGroups collective_param_groups();

// The loads and stores of a call's kernel depend on these.
struct CallData {
  std::int64_t element = 4;  // bytes of what it handles one by one
  Bytes buffers = {};        // what the calls of a loop read and write on a rank, before they come to the same again
  int channels = 1;
};

// The costs of all protocols, as one profile has them.
struct CollectiveCosts {
  explicit CollectiveCosts(const Profile& profile);

  // Returns the costs of a kernel with `warps` warps in a block; 0: as many as the protocol has. `protocol`: "LL", "LL128" or
  // "Simple"; `one_slice`: a collective whose chunk is one slice (models/nccl §4.3); `p2p`: the send/recv kernel.
  [[nodiscard]] StepCosts of(std::string_view protocol, int warps, bool one_slice, bool p2p, const CallData& data = {}) const;

  [[nodiscard]] StepCosts in_switch() const;

  // `costs` where the SMs' clock is full clock over `slowdown`.
  void slow_down(StepCosts& costs, double slowdown) const;

  SimpleCosts simple;
  LlCosts ll;
  Ll128Costs ll128;
  P2pCosts p2p;
  InSwitchCosts switched;
  ChannelCosts channels;
  ClockCosts clock;
};

}  // namespace weft::coll
