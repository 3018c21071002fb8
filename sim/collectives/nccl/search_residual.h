// Keeps what is left of every link's bandwidth while channels are laid over a System.
//
// As in NCCL, a channel takes its speed from each link it crosses, and links have no other users.
#pragma once

#include <vector>

#include "sim/collectives/nccl/system.h"

namespace weft::coll::nccl {

class Residual {
 public:
  explicit Residual(const System& system);

  // Takes `bandwidth` (GB/s) from every link of the path from one node to another, or nothing if a link lacks it. A negative
  // bandwidth gives back what an equal positive one took.
  [[nodiscard]] bool take(NodeIndex from, NodeIndex to, float bandwidth);

  // A NIC's own bandwidth, which the ports of one ASIC share.
  [[nodiscard]] float nic(NodeIndex net) const { return nics_[net]; }
  void take_nic(NodeIndex net, float bandwidth);

 private:
  // Takes along the first `steps` links of the path; how many of them had enough.
  std::size_t follow(const Path& path, NodeIndex from, std::size_t steps, float bandwidth);

  const System& system_;
  std::vector<float> links_;
  std::vector<float> nics_;  // by node
};

}  // namespace weft::coll::nccl
