#include "sim/collectives/nccl/peer_nets.h"

#include <algorithm>
#include <optional>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/search.h"

namespace weft::coll::nccl {
namespace {

class PeerNetFinder {
 public:
  PeerNetFinder(const System& system, const Settings& settings)
      : system_{system},
        pxn_level_{system.options().pxn ? settings.integer("P2P_PXN_LEVEL").value_or(2) : 0},
        cross_nic_{settings.integer("CROSS_NIC").value_or(2)} {
    for (const NodeIndex net : system.nets()) next_to_.push_back(system.local_gpu(net));
  }

  [[nodiscard]] std::vector<PeerNets> find() const {
    std::vector<PeerNets> all(system_.gpus().size());
    for (const NodeIndex gpu : system_.gpus()) {
      const auto rank = static_cast<std::size_t>(system_.node(gpu).rank);
      if (rank >= all.size()) continue;  // of a file whose ranks are not those of one node
      PeerNets& nets = all[rank];
      nets.dev = system_.node(gpu).dev;
      for (int channel = 0; channel < max_channels(system_.options().version); ++channel) {
        const auto own = system_.local_net(gpu, channel);
        if (!own) break;
        nets.own.push_back(id(*own));
      }
      if (nets.own.empty()) continue;
      for (const NodeIndex peer : system_.gpus()) {
        if (system_.node(peer).system != system_.node(gpu).system) continue;
        nets.towards.push_back({system_.node(peer).dev, nets.own});
        for (std::size_t channel = 0; channel < nets.own.size(); ++channel) {
          const auto theirs = system_.local_net(peer, static_cast<int>(channel));
          if (theirs && may_send_by(gpu, *theirs)) nets.towards.back().by_channel[channel] = id(*theirs);
        }
      }
    }
    return all;
  }

 private:
  [[nodiscard]] NetId id(NodeIndex net) const { return net_id(system_.node(net)); }

  [[nodiscard]] bool may_send_by(NodeIndex gpu, NodeIndex net) const {
    if (cross_nic_ == 0) return true;
    if (pxn_level_ == 1) return system_.path(gpu, net).type <= PathClass::kPxn;
    if (pxn_level_ == 0) return false;
    const auto nets = system_.nets();
    const auto relay = next_to_[static_cast<std::size_t>(std::ranges::find(nets, net) - nets.begin())];
    const PathClass limit = system_.options().version >= kFirstWithC2cRelays ? PathClass::kP2c : PathClass::kPxb;
    return relay && system_.path(*relay, gpu).type <= PathClass::kNvl && system_.path(*relay, net).type <= limit;
  }

  const System& system_;
  int pxn_level_;
  int cross_nic_;
  std::vector<std::optional<NodeIndex>> next_to_;  // by NIC
};

}  // namespace

std::vector<PeerNets> peer_nets(const System& system, const Settings& settings) {
  return PeerNetFinder{system, settings}.find();
}

}  // namespace weft::coll::nccl
