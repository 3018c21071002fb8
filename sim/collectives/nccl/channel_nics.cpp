#include "sim/collectives/nccl/channel_nics.h"

#include <algorithm>
#include <map>
#include <optional>

#include "sim/collectives/nccl/comm_info.h"
#include "sim/collectives/nccl/connect.h"
#include "sim/network/import/nccl_xml_writer.h"

namespace weft::coll::nccl {

ChannelNics::ChannelNics(const net::Topology& topology, std::span<const DeviceId> devices, const CommInfo& info)
    : topology_{&topology}, kind_of_node_{info.kind_of_node} {
  if (info.nodes < 2) return;
  const std::vector<std::vector<Rank>> nodes = node_ranks(topology, devices);
  places_.resize(devices.size());
  std::vector<std::int32_t> host_of_kind(std::max<std::size_t>(info.node_graphs.size(), 1), -1);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (std::size_t i = 0; i < nodes[n].size(); ++i)
      places_[static_cast<std::size_t>(nodes[n][i])] = {static_cast<int>(n), static_cast<int>(i)};
    host_of_node_.push_back(topology.host_of(devices[static_cast<std::size_t>(nodes[n].front())]));
    std::int32_t& host = host_of_kind[kind_of_node_.empty() ? 0 : static_cast<std::size_t>(kind_of_node_[n])];
    if (host < 0) host = host_of_node_.back();
  }
  for (int c = 0; c < info.channels; ++c) searched_channels_.push_back(searched_channel(info, c).channel);

  for (std::size_t kind = 0; kind < host_of_kind.size(); ++kind) {
    std::map<NetId, std::uint32_t> nic_of_net;
    for (const net::NcclNet& net : net::nccl_nets(topology, static_cast<std::size_t>(host_of_kind[kind])))
      nic_of_net.emplace(static_cast<NetId>(net.system) << 56 | net.dev, net.nic);
    const auto nic = [&](std::optional<NetId> net) {
      const auto found = net ? nic_of_net.find(*net) : nic_of_net.end();
      return found == nic_of_net.end() ? kNone : found->second;
    };
    const auto nics = [&](const std::vector<NetId>& nets) {
      Nics all;
      for (const NetId net : nets) all.push_back(nic(net));
      return all;
    };
    const auto of = [&](const Graph& graph) {
      GraphNics found{.channels = {}, .swaps = graph.kind == GraphKind::kRing && swaps_rings(info, graph, 1)};
      for (const GraphChannel& channel : graph.channels)
        found.channels.push_back({channel.gpus.front(), nic(channel.net_in), nic(channel.net_out)});
      return found;
    };
    const NodeGraphs* own = info.node_graphs.empty() ? nullptr : &info.node_graphs[kind];
    const std::optional<Graph>& nvls = own != nullptr ? own->nvls : info.nvls_graph;
    NodeNics& made = kinds_.emplace_back();
    made.ring = of(own != nullptr ? own->ring : info.ring);
    made.tree = of(own != nullptr ? own->tree : info.tree);
    for (const PeerNets& gpu : info.peer_nets[kind]) {
      SendNics& sends = made.sends.emplace_back(SendNics{gpu.dev, nics(gpu.own), {}});
      for (const auto& [dev, by_channel] : gpu.towards) sends.towards.emplace_back(dev, nics(by_channel));
    }
    made.heads.resize(made.sends.size());
    if (!nvls) continue;
    for (const GraphChannel& channel : nvls->channels)
      made.heads[static_cast<std::size_t>(channel.gpus.front())].push_back(nic(channel.net_in));
  }
}

const ChannelNics::NodeNics& ChannelNics::of_node(int node) const {
  return kinds_[kind_of_node_.empty() ? 0 : static_cast<std::size_t>(kind_of_node_[static_cast<std::size_t>(node)])];
}

// A channel's first GPU has the NIC by which the channel comes in, all others that by which it leaves.
std::uint32_t ChannelNics::of_graph(const GraphNics& graph, const Place& place, int channel) const {
  int searched = searched_channels_[static_cast<std::size_t>(channel) % searched_channels_.size()];
  if (graph.swaps && place.node % 2 == 1) searched ^= 1;
  const GraphNics::Channel& nics = graph.channels[static_cast<std::size_t>(searched)];
  return place.gpu == nics.first_gpu ? nics.of_first : nics.of_others;
}

std::uint32_t ChannelNics::nic_of(Nets nets, Rank rank, Rank peer, bool sends, int channel) const {
  const Place& place = places_[static_cast<std::size_t>(rank)];
  const NodeNics& node = of_node(place.node);
  const auto by_channel = [&](const Nics& nics) {
    return nics.empty() ? kNone : nics[static_cast<std::size_t>(channel) % nics.size()];
  };
  const auto gpu = static_cast<std::size_t>(place.gpu);
  switch (nets) {
    case Nets::kAny:
      return kNone;
    case Nets::kRing:
      return of_graph(node.ring, place, channel);
    case Nets::kTree:
      return of_graph(node.tree, place, channel);
    case Nets::kNvls:
      return by_channel(node.heads[gpu]);
    case Nets::kSends:
      break;
  }
  if (sends) {
    const Place& there = places_[static_cast<std::size_t>(peer)];
    const int dev = of_node(there.node).sends[static_cast<std::size_t>(there.gpu)].dev;
    const auto towards = std::ranges::find(node.sends[gpu].towards, dev, &std::pair<int, Nics>::first);
    if (towards != node.sends[gpu].towards.end()) return by_channel(towards->second);
  }
  return by_channel(node.sends[gpu].own);
}

net::NicPair ChannelNics::between(Nets nets, Rank from, Rank to, int channel) const {
  if (kinds_.empty() || nets == Nets::kAny) return {};
  const std::uint32_t out = nic_of(nets, from, to, true, channel);
  const std::uint32_t in = nic_of(nets, to, from, false, channel);
  if (out == kNone || in == kNone) return {};
  const auto device = [&](Rank rank, std::uint32_t nic) {
    const int node = places_[static_cast<std::size_t>(rank)].node;
    return topology_->device_of(static_cast<std::size_t>(host_of_node_[static_cast<std::size_t>(node)]), nic);
  };
  return {device(from, out), device(to, in)};
}

}  // namespace weft::coll::nccl
