#include "sim/collectives/nccl/connect.h"

#include <algorithm>
#include <optional>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/trees.h"
#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

int searched_channels(const CommInfo& info) {
  const int searched = std::min(info.ring.channel_count(), info.tree.channel_count());
  WEFT_CHECK(searched > 0);
  return searched;
}

// The compute channel that this one repeats.
int repeated_channel(const CommInfo& info, int channel) {
  const int own = channel % std::max(info.channels, 1);
  if (info.channel_sources.empty()) return own % (2 * searched_channels(info));
  return info.channel_sources[static_cast<std::size_t>(own)];
}

class Connector {
 public:
  Connector(const CommInfo& info, std::span<const std::vector<Rank>> nodes) : info_{info}, nodes_{nodes} {
    WEFT_CHECK(static_cast<int>(nodes.size()) == info.nodes);
    WEFT_CHECK(info.kind_of_node.empty() || info.kind_of_node.size() == nodes.size());
  }

  Connections connect() {
    Connections result;
    for (int c = 0; c < info_.channels; ++c) {
      const auto [channel, which] = searched_channel(info_, c);
      result.rings.push_back(ring(channel));
      result.trees.push_back(tree(channel, which));
    }
    if (info_.collnet && info_.collnet_chain) connect_collnet(result);
    if (info_.nvls_graph && !info_.nvls_graph->channels.empty()) connect_nvls(result);
    return result;
  }

 private:
  enum class Family : std::uint8_t { kRing, kTree, kCollNetChain, kCollNetDirect, kNvls };

  [[nodiscard]] const Graph& graph(Family family, std::size_t node) const {
    const bool differ = !info_.kind_of_node.empty();
    const NodeGraphs* own = differ ? &info_.node_graphs[static_cast<std::size_t>(info_.kind_of_node[node])] : nullptr;
    switch (family) {
      case Family::kRing:
        return differ ? own->ring : info_.ring;
      case Family::kTree:
        return differ ? own->tree : info_.tree;
      case Family::kCollNetChain:
        return differ ? *own->collnet_chain : *info_.collnet_chain;
      case Family::kCollNetDirect:
        return differ ? *own->collnet_direct : *info_.collnet_direct;
      case Family::kNvls:
        break;
    }
    return differ ? *own->nvls : *info_.nvls_graph;
  }

  // The ranks of a channel's GPUs on a node, in the channel's order.
  [[nodiscard]] std::vector<Rank> order(Family family, std::size_t node, int channel) const {
    std::vector<Rank> ranks;
    for (const int gpu : graph(family, node).channels[static_cast<std::size_t>(channel)].gpus) {
      ranks.push_back(nodes_[node][static_cast<std::size_t>(gpu)]);
    }
    return ranks;
  }

  [[nodiscard]] RingOrder ring(int channel) const {
    RingOrder whole;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const bool swapped = swaps_rings(info_, graph(Family::kRing, n), n);
      const std::vector<Rank> part = order(Family::kRing, n, swapped ? channel ^ 1 : channel);
      whole.insert(whole.end(), part.begin(), part.end());
    }
    WEFT_CHECK(static_cast<int>(whole.size()) == info_.ranks);
    const auto first = std::ranges::find(whole, Rank{0});
    WEFT_CHECK(first != whole.end());
    std::ranges::rotate(whole, first);
    return whole;
  }

  static void add_chain(Tree& tree, const std::vector<Rank>& chain) {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      TreeLinks& links = tree[static_cast<std::size_t>(chain[i])];
      links.up = i == 0 ? -1 : chain[i - 1];
      links.down[0] = i + 1 == chain.size() ? -1 : chain[i + 1];
    }
  }

  static void add_child(TreeLinks& links, Rank child) {
    const auto free = std::ranges::find(links.down, Rank{-1});
    WEFT_CHECK(free != links.down.end());
    *free = child;
  }

  // The rank of a node's chain to which its parent's (place 0) or its children's chains are attached (models/nccl §3.2).
  struct Attachment {
    Rank to_parent = -1;
    std::array<Rank, 2> to_child{-1, -1};
  };
  [[nodiscard]] Attachment attachment(std::size_t node, int channel) const {
    const std::vector<Rank> chain = order(Family::kTree, node, channel);
    const GraphPattern pattern = graph(Family::kTree, node).pattern;
    const auto at = [&](std::size_t place) { return chain[std::min(place, chain.size() - 1)]; };
    return {.to_parent = at(0),
            .to_child = {at(pattern == GraphPattern::kTree ? 0 : 1), at(pattern == GraphPattern::kSplitTree ? 1 : 0)}};
  }

  [[nodiscard]] Tree tree(int channel, int which) const {
    Tree whole(static_cast<std::size_t>(info_.ranks));
    std::vector<Attachment> places;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      add_chain(whole, order(Family::kTree, n, channel));
      places.push_back(attachment(n, channel));
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const NodeLinks links = dtree(info_.nodes, static_cast<int>(n))[static_cast<std::size_t>(which)];
      for (std::size_t side = 0; side < 2; ++side) {
        if (links.down[side] < 0) continue;
        const Attachment& below = places[static_cast<std::size_t>(links.down[side])];
        const Rank above = places[n].to_child[side];
        add_child(whole[static_cast<std::size_t>(above)], below.to_parent);
        whole[static_cast<std::size_t>(below.to_parent)].up = above;
      }
    }
    return whole;
  }

  void connect_collnet(Connections& result) const {
    const int searched = info_.collnet_chain->channel_count();
    for (int c = 0; c < info_.channels; ++c) {
      Tree chains(static_cast<std::size_t>(info_.ranks));
      for (std::size_t n = 0; n < nodes_.size(); ++n)
        add_chain(chains, order(Family::kCollNetChain, n, repeated_channel(info_, c) % searched));
      result.collnet_chains.push_back(std::move(chains));
    }
    if (!info_.collnet_direct) return;
    for (std::size_t n = 0; n < nodes_.size(); ++n) result.collnet_heads.push_back(heads(Family::kCollNetDirect, n));
  }

  // The first GPU of every channel, once.
  [[nodiscard]] std::vector<Rank> heads(Family family, std::size_t node) const {
    std::vector<Rank> found;
    for (int c = 0; c < graph(family, node).channel_count(); ++c) {
      const Rank head = order(family, node, c).front();
      if (std::ranges::find(found, head) == found.end()) found.push_back(head);
    }
    return found;
  }

  void connect_nvls(Connections& result) const {
    std::vector<std::vector<Rank>> of_node;
    std::size_t least = 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      of_node.push_back(heads(Family::kNvls, n));
      least = n == 0 ? of_node[n].size() : std::min(least, of_node[n].size());
    }
    for (std::size_t h = 0; h < least; ++h) {
      result.nvls_heads.emplace_back();
      for (const std::vector<Rank>& ranks : of_node) result.nvls_heads.back().push_back(ranks[h]);
    }
    for (std::size_t which = 0; which < 2; ++which) result.nvls_trees.push_back(nvls_tree(result.nvls_heads, which));
  }

  [[nodiscard]] Tree nvls_tree(const std::vector<std::vector<Rank>>& heads, std::size_t which) const {
    Tree whole(static_cast<std::size_t>(info_.ranks));
    for (int n = 0; n < info_.nodes; ++n) {
      const NodeLinks links = dtree(info_.nodes, n)[which];
      for (const std::vector<Rank>& head : heads) {
        TreeLinks& own = whole[static_cast<std::size_t>(head[static_cast<std::size_t>(n)])];
        const auto of = [&](int node) { return node < 0 ? Rank{-1} : head[static_cast<std::size_t>(node)]; };
        own.up = of(links.up);
        for (const int below : links.down) {
          if (below >= 0) add_child(own, of(below));
        }
      }
    }
    return whole;
  }

  const CommInfo& info_;
  std::span<const std::vector<Rank>> nodes_;
};

}  // namespace

SearchedChannel searched_channel(const CommInfo& info, int channel) {
  // Channel c of the search becomes c and c + searched: the same ring, each under its own tree.
  const int searched = searched_channels(info);
  const int from = repeated_channel(info, channel);
  return {.channel = from % searched, .tree = from / searched};
}

bool swaps_rings(const CommInfo& info, const Graph& of_node, std::size_t node) {
  const bool swaps = info.nodes % 2 == 0 || info.version >= kFirstToSwapOnOddNodes;
  return swaps && of_node.cross_nic == 2 && searched_channels(info) % 2 == 0 && node % 2 == 1;
}

Connections connect(const CommInfo& info, std::span<const std::vector<Rank>> nodes) { return Connector{info, nodes}.connect(); }

}  // namespace weft::coll::nccl
