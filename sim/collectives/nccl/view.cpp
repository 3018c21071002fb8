#include "sim/collectives/nccl/view.h"

#include <algorithm>
#include <utility>

#include "sim/collectives/nccl/comm_info.h"

namespace weft::coll::nccl {

View::View(const net::Topology& topology, std::vector<DeviceId> devices, const Settings& settings)
    : settings_{settings},
      info_{comm_info(topology, devices, settings, settings.version())},
      connections_{connect(info_, node_ranks(topology, devices))},
      model_{info_, settings_} {}

int View::most_channels() const { return std::max({info_.channels, info_.nvls_channels, info_.p2p_channels, 1}); }

std::vector<RingOrder> View::rings() const {
  std::vector<RingOrder> rings;
  for (int c = 0; c < most_channels(); ++c)
    rings.push_back(connections_.rings[static_cast<std::size_t>(c) % connections_.rings.size()]);
  return rings;
}

std::vector<Tree> View::trees() const {
  std::vector<Tree> trees;
  if (connections_.trees.empty()) return trees;
  for (int c = 0; c < most_channels(); ++c)
    trees.push_back(connections_.trees[static_cast<std::size_t>(c) % connections_.trees.size()]);
  return trees;
}

}  // namespace weft::coll::nccl
