#include "sim/collectives/nccl/view.h"

#include <algorithm>
#include <utility>

#include "sim/collectives/nccl/channel_nics.h"
#include "sim/collectives/nccl/comm_info.h"

namespace weft::coll::nccl {
namespace {

// Model: 2.25 and 2.26 know Blackwell as 2.27 does. Older ones do not run there, and on other GPUs they are as 2.23.
NcclVersion version_for(const net::Topology& topology, const std::vector<DeviceId>& devices, NcclVersion asked) {
  const auto blackwell = [&](DeviceId gpu) { return net::label_of(topology.labels(gpu), "sm").size() >= 3; };  // 100 and up
  return std::ranges::any_of(devices, blackwell) ? std::max(asked, NcclVersion::k2_27) : asked;
}

}  // namespace

View::View(const net::Topology& topology, std::vector<DeviceId> devices, const Settings& settings)
    : settings_{settings},
      info_{comm_info(topology, devices, settings, version_for(topology, devices, settings.version()))},
      connections_{connect(info_, node_ranks(topology, devices))},
      nics_{std::make_shared<const ChannelNics>(topology, devices, info_)},
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
