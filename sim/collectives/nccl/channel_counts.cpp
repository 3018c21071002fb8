#include "sim/collectives/nccl/channel_counts.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/search.h"

namespace weft::coll::nccl {
namespace {

constexpr int kPerChannelNetBandwidth = 14;  // NCCL_P2P_PER_CHANNEL_NET_BW, GB/s
constexpr int kPeersOfABatch = 8;

int power_of_two_up(int value) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(value, 1)))); }

// The NICs a GPU uses, channel by channel until they repeat.
std::vector<NodeIndex> own_nets(const System& system, NodeIndex gpu) {
  std::vector<NodeIndex> nets;
  for (int c = 0; c < max_channels(system.options().version); ++c) {
    const auto net = system.local_net(gpu, c);
    if (!net || (c > 0 && *net == nets.front())) break;
    nets.push_back(*net);
  }
  return nets;
}

// Channels to a peer on another node: enough to fill the NICs that the GPU's way to the CPU can feed.
int channels_over_network(const System& system, NodeIndex gpu, int ranks, int p2p_channels) {
  const PeerChannels by = rule(kPeerChannels, system.options().version);
  if (by == PeerChannels::kTwo) return 2;
  const float gpu_bandwidth = system.path(gpu, system.local_cpu(gpu)).bandwidth;
  float total = 0;
  int count = 0;
  for (const NodeIndex net : by == PeerChannels::kByBandwidth ? own_nets(system, gpu) : system.local(gpu, NodeType::kNet)) {
    if (total >= gpu_bandwidth) break;
    total += system.path(gpu, net).bandwidth;
    ++count;
  }
  if (by == PeerChannels::kByBandwidth) {
    if (count == 0) return 2;
    return std::max(count, (static_cast<int>(total) + kPerChannelNetBandwidth - 1) / kPerChannelNetBandwidth);
  }
  // Two, but one in jobs where a channel would serve more than four peers.
  int per_peer = 2;
  while (per_peer * ranks > p2p_channels * 4 && per_peer > 1) per_peer /= 2;
  return std::max(count, per_peer);
}

int channels_over_nvlink(const System& system, NodeIndex gpu, const Path& path) {
  const bool nvlink =
      path.type == PathClass::kNvl || (path.type == PathClass::kNvb && system.options().version >= kFirstManyOverRelays);
  if (!nvlink) return 2;
  const float per_link = system.gpu_link_bandwidth(gpu);
  return 2 * std::max(1, static_cast<int>(path.bandwidth / per_link));
}

struct NvlsShape {
  int channels = 16;
  int chunk_kib = 0;  // 0: NCCL_NVLS_CHUNKSIZE
  int tree_kib = 0;   // 0: by the number of nodes
};

// NCCL found this best for NVLSTree on Blackwell (models/nccl §2.4, the table).
NvlsShape shape_of_blackwell_nodes(int nodes, int per_node, float nic, PathClass to_nic) {
  const bool near = to_nic <= PathClass::kPxb;
  if (nodes == 2 && nic >= 48) {
    if (per_node <= 4) return {.channels = 32, .chunk_kib = 256, .tree_kib = 256};
    const bool small = per_node >= 16 || (per_node <= 8 && near && nic < 96);
    return {.channels = 32, .chunk_kib = 128, .tree_kib = small ? 64 : 128};
  }
  if (nic >= 96) {
    if (per_node <= 8) return {.channels = 24, .chunk_kib = 256, .tree_kib = 256};
    return {.channels = 32, .chunk_kib = 128, .tree_kib = per_node < 32 ? 128 : 64};
  }
  if (nic >= 48) return {.channels = 24, .chunk_kib = 128, .tree_kib = near ? 64 : 128};
  return {.channels = 32, .chunk_kib = 128, .tree_kib = 0};
}

}  // namespace

float min_net_bandwidth(const System& system) {
  std::optional<float> least;
  for (const NodeIndex gpu : system.gpus()) {
    for (const NodeIndex net : own_nets(system, gpu)) {
      const float bandwidth = system.path(gpu, net).bandwidth;
      least = std::min(least.value_or(bandwidth), bandwidth);
    }
  }
  return least.value_or(0.0F);
}

int channels_per_peer(const System& system, const Settings& settings, int ranks, int p2p_channels) {
  int least = max_channels(system.options().version);
  const auto gpus = system.gpus();
  for (const NodeIndex gpu : gpus) {
    for (const NodeIndex peer : gpus) {
      if (peer != gpu) least = std::min(least, channels_over_nvlink(system, gpu, system.path(peer, gpu)));
    }
    if (ranks == static_cast<int>(gpus.size())) continue;
    const auto asked = settings.integer("NCHANNELS_PER_NET_PEER");
    least = std::min(least, asked ? *asked : channels_over_network(system, gpu, ranks, p2p_channels));
  }
  return least;
}

void set_channels(CommInfo& info, const Settings& settings) {
  const int most = max_channels(info.version);
  // Every channel of the search once for each tree of the double tree; what goes beyond repeats from the first.
  std::vector<int> sources(
      static_cast<std::size_t>(std::min(most, 2 * std::min(info.ring.channel_count(), info.tree.channel_count()))));
  std::iota(sources.begin(), sources.end(), 0);
  const auto count = [&] { return static_cast<int>(sources.size()); };
  const auto extend = [&](int wanted) {
    const auto start = sources.size();
    while (count() < std::min(wanted, most)) sources.push_back(sources[sources.size() - start]);
  };
  if (info.collnet && info.collnet_chain && info.collnet_chain->bandwidth_intra > info.collnet_chain->bandwidth_inter &&
      info.ranks > info.nodes) {
    extend(count() + count() / 2);
  }
  const Doubling doubling = rule(kDoubling, info.version);
  const bool doubled = info.min_sm >= 90 && (doubling.newer_gpus || info.min_sm == 90) && info.nodes > 1 &&
                       info.ring.bandwidth_intra > 45.0F && (doubling.below_sixteen ? count() < 16 : 2 * count() <= most);
  if (doubled) extend(2 * count());
  for (const char* key : {"MAX_NCHANNELS", "MAX_CTAS"}) {
    sources.resize(static_cast<std::size_t>(std::min(count(), settings.integer(key).value_or(most))));
  }
  int least = 0;
  for (const char* key : {"MIN_NCHANNELS", "MIN_CTAS"}) least = std::max(least, settings.integer(key).value_or(0));
  extend(least);
  info.channels = count();
  info.channel_sources = std::move(sources);
}

void set_nvls_channels(CommInfo& info, const Settings& settings, int least_ranks_per_node) {
  if (!info.nvls_graph || info.nvls_graph->channels.empty()) {
    info.nvls_channels = 0;
    info.nvls_chunk = info.nvls_tree_max_chunk = Bytes{0};
    return;
  }
  NvlsShape shape;
  const NvlsChannels& channels = rule(kNvlsChannels, info.version);
  shape.channels = info.min_sm < 100 ? channels.sm90 : info.nodes > 1 ? channels.sm100 : channels.sm100_one_node;
  if (info.min_sm >= 100 && info.nodes > 1 && info.version >= kFirstWithBlackwellShapes) {
    shape = shape_of_blackwell_nodes(info.nodes, least_ranks_per_node, info.min_net_bandwidth, info.nvls_graph->type_inter);
  }
  const auto asked_chunk = settings.integer("NVLS_CHUNKSIZE");
  const int chunk = asked_chunk ? *asked_chunk : (shape.chunk_kib == 0 ? 128 : shape.chunk_kib) * 1024;
  int tree = shape.tree_kib * 1024;
  if (tree == 0) tree = info.version >= kFirstNvlsTreeChunks ? chunk : settings.integer("BUFFSIZE").value_or(4 << 20) / 8;
  if (shape.tree_kib == 0 && info.nodes >= 4 && info.version >= kFirstSmallTreeChunks) tree = 64 * 1024;
  const int wanted = settings.integer("NVLS_NCHANNELS").value_or(shape.channels);
  info.nvls_channels =
      std::max(std::min(wanted, settings.integer("MAX_CTAS").value_or(wanted)), settings.integer("MIN_CTAS").value_or(1));
  info.nvls_chunk = Bytes{chunk};
  info.nvls_tree_max_chunk = Bytes{settings.integer("NVLSTREE_MAX_CHUNKSIZE").value_or(tree)};
}

void extend_to_nvls(CommInfo& info) {
  if (!info.nvls || rule(kNvlsExtends, info.version) != NvlsExtends::kAll) return;
  const std::size_t own = info.channel_sources.size();
  while (own > 0 && info.channels < info.nvls_channels) {
    info.channel_sources.push_back(info.channel_sources[info.channel_sources.size() - own]);
    ++info.channels;
  }
}

void set_p2p_channels(CommInfo& info, const Settings& settings) {
  const int most = max_channels(info.version);
  const bool with_nvls = info.nvls && rule(kNvlsExtends, info.version) != NvlsExtends::kNothing;
  const int channels = with_nvls ? std::max(info.channels, info.nvls_channels) : info.channels;
  const int asked_most = settings.integer("MAX_P2P_NCHANNELS").value_or(most);
  const int asked_least = settings.integer("MIN_P2P_NCHANNELS").value_or(1);
  info.p2p_channels = std::max(std::min(channels, asked_most), asked_least);
}

void set_channels_per_peer(CommInfo& info, const Settings& settings, int per_peer) {
  const bool newer = rule(kPeerChannels, info.version) == PeerChannels::kByBandwidth;
  if (!newer) per_peer = std::min(per_peer, info.p2p_channels);
  // Powers of two: peers are mapped to channels by reversing bits.
  per_peer = power_of_two_up(per_peer);
  info.p2p_channels = std::min(power_of_two_up(info.p2p_channels), max_channels(info.version));
  if (newer && info.nodes > 1 && !settings.find("NCHANNELS_PER_NET_PEER")) {
    // All peers of one round are to fit into the channels.
    const int batches = (info.ranks + kPeersOfABatch - 1) / kPeersOfABatch;
    while (per_peer * batches > info.p2p_channels && per_peer > 1) per_peer /= 2;
  } else {
    per_peer = std::min(per_peer, info.p2p_channels);
  }
  info.p2p_channels_per_peer = per_peer;
}

void set_p2p_chunk(CommInfo& info, const Settings& settings, bool all_nvlink) {
  const int buffer = settings.integer("BUFFSIZE").value_or(4 << 20);
  const bool wide = info.cpu.arch == net::CpuArch::kArm && info.min_sm >= 100 && info.version >= kFirstWideOnGrace;
  int chunk = 0;
  if (info.nodes > 1) {
    chunk = settings.integer("P2P_NET_CHUNKSIZE").value_or((wide ? 256 : 128) << 10);
  } else if (all_nvlink) {
    chunk = settings.integer("P2P_NVL_CHUNKSIZE").value_or(512 << 10);
  } else {
    chunk = settings.integer("P2P_PCI_CHUNKSIZE").value_or(128 << 10);
  }
  info.p2p_chunk = Bytes{std::min(chunk, buffer / 8)};
}

}  // namespace weft::coll::nccl
