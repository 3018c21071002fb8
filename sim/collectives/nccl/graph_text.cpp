#include "sim/collectives/nccl/graph_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

std::string gpu_text(const System& system, int rank) {
  // Before 2.27 by rank, since then by bus id.
  if (system.options().version < NcclVersion::k2_27) return fmt::format(" GPU/{}", rank);
  const auto gpu = std::ranges::find(system.gpus(), rank, [&](NodeIndex g) { return system.node(g).rank; });
  WEFT_CHECK(gpu != system.gpus().end());
  return " " + system.name(*gpu);
}

std::string net_text(const System& system, NetId net) {
  if (system.options().version < NcclVersion::k2_21) return fmt::format(" NET/{}", net_device(net));
  return fmt::format(" NET/{:x}-{:x}", net_host(net), net_device(net));
}

}  // namespace

std::string graph_lines(const Graph& graph, const System& system) {
  std::string text = fmt::format("Pattern {}, crossNic {}, nChannels {}, bw {:f}/{:f}, type {}/{}, sameChannels {}\n",
                                 static_cast<int>(graph.pattern), graph.cross_nic, graph.channel_count(), graph.bandwidth_intra,
                                 graph.bandwidth_inter, net::to_string(graph.type_intra), net::to_string(graph.type_inter),
                                 graph.same_channels ? 1 : 0);
  for (int c = 0; c < graph.channel_count(); ++c) {
    const GraphChannel& channel = graph.channels[static_cast<std::size_t>(c)];
    text += fmt::format("{:2} :", c);
    if (channel.net_in) text += net_text(system, *channel.net_in);
    for (const int rank : channel.gpus) text += gpu_text(system, rank);
    if (channel.net_out) text += net_text(system, *channel.net_out);
    text += '\n';
  }
  return text;
}

std::string ring_lines(const Connections& connections) {
  std::string text;
  for (std::size_t c = 0; c < connections.rings.size(); ++c) {
    text += fmt::format("Channel {:02}/{:02} :", c, connections.rings.size());
    for (const Rank rank : connections.rings[c]) text += fmt::format(" {}", rank);
    text += '\n';
  }
  return text;
}

std::string tree_line(const Connections& connections, Rank rank) {
  std::string text = "Trees";
  for (std::size_t c = 0; c < connections.trees.size(); ++c) {
    const TreeLinks& links = connections.trees[c][static_cast<std::size_t>(rank)];
    text += fmt::format(" [{}] {}/{}/{}->{}->{}", c, links.down[0], links.down[1], links.down[2], rank, links.up);
  }
  return text + '\n';
}

std::string channel_count_line(const CommInfo& info) {
  // NCCL prints all channels as CollNet's, whether it is there or not.
  return fmt::format("{} coll channels, {} collnet channels, {} nvls channels, {} p2p channels, {} p2p channels per peer\n",
                     info.channels, info.channels, info.nvls_channels, info.p2p_channels, info.p2p_channels_per_peer);
}

}  // namespace weft::coll::nccl
