#include "sim/collectives/nccl/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/collectives/nccl/channel_nics.h"
#include "sim/collectives/nccl/comm_info.h"
#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/version.h"

namespace weft::coll::nccl {

NcclVersion version_on(const net::Topology& topology, std::span<const DeviceId> devices, NcclVersion asked) {
  const auto blackwell = [&](DeviceId gpu) { return net::label_of(topology.labels(gpu), "sm").size() >= 3; };  // 100 and up
  return std::ranges::any_of(devices, blackwell) ? std::max(asked, kFirstWithSm100) : asked;
}

std::string release_note(const Settings& settings, NcclVersion used) {
  if (settings.version() >= used) return settings.release_note();
  return fmt::format("NCCL {} was not built for GPUs of sm100: the rules of {} are used", to_string(settings.version()),
                     to_string(used));
}

View::View(const net::Topology& topology, std::vector<DeviceId> devices, const Settings& settings)
    : settings_{settings},
      info_{comm_info(topology, devices, settings, version_on(topology, devices, settings.version()))},
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
