// Costs of collectives beyond the bytes on their links, as a profile has them: those of NCCL's protocols (protocols/) and what
// all kernels have in common. step_costs.h says how the executor uses them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/collectives/peer_costs.h"
#include "sim/collectives/step_costs.h"
#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/network/nic_transport.h"

namespace weft::coll {

using namespace literals;

// All channels of a communicator have these in common.
struct ChannelCosts {
  Duration far_latency = 200_ns;   // more of a load from memory
  double service_spread = 0.2;     // StepCosts::service_spread
  Duration host_start = 1'300_ns;  // StepCosts::host_start
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
  Bandwidth port = {};  // of a GPU's NVLinks together; 0: it has none
  // In-switch kernels on registered buffers: a head has the switch add up or copy its own chunks no faster. 0: not registered.
  Bandwidth of_head = {};
};

class Protocol;

// The costs of all protocols, as one profile has them.
struct CollectiveCosts {
  // `nic`: of messages between nodes; `l2`: a GPU's last-level cache, 0: not known.
  explicit CollectiveCosts(const Profile& profile, const net::NicCosts& nic = {}, Bytes l2 = {});

  // Returns the costs of a kernel with `warps` warps in a block; 0: as many as the protocol has. `protocol`: a name of
  // protocols/; `one_slice`: a collective whose chunk is one slice (models/nccl §4.3); `p2p`: the send/recv kernel.
  [[nodiscard]] StepCosts of(std::string_view protocol, int warps, bool one_slice, bool p2p, const CallData& data = {}) const;

  [[nodiscard]] StepCosts in_switch(const CallData& data) const;

  // `costs` where the SMs' clock is full clock over `slowdown`.
  void slow_down(StepCosts& costs, double slowdown) const;

  ChannelCosts channels;
  ClockCosts clock;
  PeerCosts peers;
  net::NicCosts nic;
  // Half of the L2, what one of its partitions holds. Model: of a call whose buffers are half of this all is read from caches,
  // of one with half as much again nothing, in between a part.
  Bytes cache = 25_MiB;
  double pcie_share = 1.0;  // StepCosts::pcie_share

 private:
  [[nodiscard]] const Protocol& protocol(std::string_view name) const;

  std::vector<std::shared_ptr<const Protocol>> protocols_;  // as all_protocols() has them
};

}  // namespace weft::coll
