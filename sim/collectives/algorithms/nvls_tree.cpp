// NVLSTree, an all-reduce over several nodes: NVLink's switches add up inside each node, and the heads of the same index on all
// nodes pass the sums up and down NCCL's double binary tree (models/nccl §3.4, §3.2). Even channels take the first of the two
// trees, odd ones the second.
//
// Lanes: scatter and gather as in NVLS; reduce, as a head: have the switch add up the node's copies, add what the tree's
// children send, pass the sum to the parent; broadcast: take the total from the parent, pass it to the children, and have the
// switch copy it to the node. The root of a tree does both in its reduce lane.
#include <algorithm>
#include <array>
#include <memory>
#include <ranges>

#include "sim/collectives/algorithms/node_heads.h"
#include "sim/collectives/algorithms/steps.h"
#include "sim/collectives/builtin.h"
#include "sim/collectives/nccl/trees.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class NvlsTreeSchedule final : public Schedule {
  enum Lane : int { kScatter, kReduce, kGather, kBroadcast, kLanes };

 public:
  NvlsTreeSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : n_{communicator.ranks()}, nodes_{communicator, kMostNvlsHeads}, bytes_{sizes_of(call, n_).input.count()} {
    WEFT_CHECK(choice.channels <= communicator.channels());
    for (const ChannelPart& part : channel_parts(bytes_, choice)) parts_.push_back({.part = part, .heads = nodes_.heads()});
    used_ = used_channels(parts_);
    for (int node = 0; node < nodes_.nodes(); ++node) trees_.push_back(nccl::dtree(nodes_.nodes(), node));
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }
  [[nodiscard]] Nets nets() const override { return Nets::kNvls; }

  // Five of 20 warps reduce and four broadcast. The root of a tree does not broadcast apart, and seven reduce there with up to
  // six heads (models/nccl §3.4).
  [[nodiscard]] double warp_share(Rank rank, int channel, int lane) const override {
    if (lane == kScatter || lane == kGather) return kCopyShare;
    if (lane == kBroadcast) return 4.0 / 20.0;
    return (nodes_.is_head(rank) && is_root(rank, channel) && nodes_.heads() <= 6 ? 7.0 : 5.0) / 20.0;
  }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    const std::int64_t loops = part(channel).count();
    if (lane == kScatter || lane == kGather) return alone(rank) ? 0 : loops;
    if (!nodes_.is_head(rank)) return 0;
    if (is_root(rank, channel) && lane == kBroadcast) return 0;
    return head_steps(rank, channel) * loops;
  }
  [[nodiscard]] std::int64_t loops(int channel) const override { return part(channel).count(); }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    if (lane == kScatter || lane == kGather) return side_step(rank, channel, lane, index);
    const int steps = head_steps(rank, channel);
    const Part chunk = part(channel).chunk(index / steps, nodes_.local(rank));
    const int phase = static_cast<int>(index % steps);
    if (lane == kBroadcast) return down_step(rank, channel, chunk, phase);
    if (phase == 0) return switch_reduction(rank, chunk);
    return is_root(rank, channel) && phase == steps - 1 ? switch_copy(rank, chunk, 0) : up_step(rank, channel, chunk);
  }

  // A channel is one flow: the trees of all heads both ways, and in every node one share for each head on each GPU's port and
  // the total once more. The first chunk goes from a deepest leaf to the root and back.
  [[nodiscard]] bool has_fluid_flows() const override { return n_ > 1; }
  [[nodiscard]] std::int64_t fluid_flow_count() const override { return static_cast<std::int64_t>(used_.size()); }
  [[nodiscard]] FluidFlow fluid_flow(std::int64_t index) const override {
    FluidFlow flow;
    flow.channel = used_[static_cast<std::size_t>(index)];
    const HeadLoops& loops = part(flow.channel);
    flow.bytes = Bytes{loops.of_a_head()};
    flow.step_bytes = Bytes{loops.chunk(0, 0).bytes};
    const int leaf = deepest(flow.channel);
    const Rank first = nodes_.head(leaf, 0);
    std::vector<FluidEdge> up;
    for (int node = leaf; tree(node, flow.channel).up >= 0; node = tree(node, flow.channel).up)
      up.push_back(edge(nodes_.head(node, 0), nodes_.head(tree(node, flow.channel).up, 0), kReduce, flow));
    if (!alone(first)) {
      flow.edges.push_back(side_edge(first, kScatter, flow));
      flow.edges.push_back(edge(first, nodes_.node_of(first)[1], kReduce, flow));
    }
    flow.edges.insert(flow.edges.end(), up.begin(), up.end());
    for (const FluidEdge& above : std::views::reverse(up)) flow.edges.push_back(edge(above.to, above.from, kBroadcast, flow));
    if (!alone(first)) {
      flow.edges.push_back(edge(first, nodes_.node_of(first)[1], kBroadcast, flow));
      flow.edges.push_back(side_edge(first, kGather, flow));
    }
    const auto fill = static_cast<std::int64_t>(flow.edges.size()) - 1;
    for (int node = 0; node < nodes_.nodes(); ++node) add_edges_of(node, leaf, up, flow);
    flow.fill_bytes = fill * flow.step_bytes;
    flow.serial_steps = loops.count() + fill;
    return flow;
  }

 private:
  [[nodiscard]] const nccl::NodeLinks& tree(int node, int channel) const {
    return trees_[static_cast<std::size_t>(node)][static_cast<std::size_t>(channel % 2)];
  }
  // A node furthest from the root.
  [[nodiscard]] int deepest(int channel) const {
    int best = 0;
    int most = -1;
    for (int node = 0; node < nodes_.nodes(); ++node) {
      int depth = 0;
      for (int at = node; tree(at, channel).up >= 0; at = tree(at, channel).up) ++depth;
      if (depth > most) {
        most = depth;
        best = node;
      }
    }
    return best;
  }
  [[nodiscard]] FluidEdge edge(Rank from, Rank to, int lane, const FluidFlow& flow) const {
    return {.from = from, .to = to, .work = flow.step_bytes, .share = warp_share(from, flow.channel, lane)};
  }
  // A scatter or gather of a whole loop.
  [[nodiscard]] FluidEdge side_edge(Rank rank, int lane, const FluidFlow& flow) const {
    return {.from = rank,
            .to = rank,
            .work = Bytes{part(flow.channel).loop(0).bytes},
            .share = warp_share(rank, flow.channel, lane),
            .peers = nodes_.heads()};
  }
  // Adds the edges that are not on the first chunk's way, which goes up by `way`. These are the trees of the other heads and
  // all else in the node's switch.
  void add_edges_of(int node, int leaf, const std::vector<FluidEdge>& way, FluidFlow& flow) const {
    const int up = tree(node, flow.channel).up;
    for (int head = 0; head < nodes_.heads() && up >= 0; ++head) {
      const Rank from = nodes_.head(node, head);
      const Rank to = nodes_.head(up, head);
      if (std::ranges::any_of(way, [&](const FluidEdge& e) { return e.from == from && e.to == to; })) continue;
      flow.edges.push_back(edge(from, to, kReduce, flow));
      flow.edges.push_back(edge(to, from, kBroadcast, flow));
    }
    const std::span<const Rank> ranks = nodes_.node_of(nodes_.head(node, 0));
    for (std::size_t i = 0; i < ranks.size() && ranks.size() > 1; ++i) {
      for (int share = node == leaf && i == 0 ? 2 : 0; share <= nodes_.heads(); ++share)
        flow.edges.push_back(edge(ranks[i], ranks[(i + 1) % ranks.size()], kReduce, flow));
    }
  }

  // Counts the steps of one loop in one lane. Root: switch reduction, tree (if any), switch copy. Others: switch reduction, up;
  // down, switch copy.
  [[nodiscard]] int head_steps(Rank rank, int channel) const {
    return is_root(rank, channel) && !children(rank, channel).empty() ? 3 : 2;
  }

  [[nodiscard]] Step side_step(Rank rank, int channel, int lane, std::int64_t loop) const {
    const Part first = part(channel).chunk(loop, 0);
    const auto make = lane == kScatter ? scatter_to_switch : gather_from_switch;
    return make(nodes_.heads_of_node(rank), first, part(channel).loop(loop).bytes, first.bytes);
  }

  [[nodiscard]] Step switch_reduction(Rank rank, const Part& chunk) const {
    Step step = step_of(chunk.bytes);
    if (alone(rank)) {
      read_from(step, Buffer::kInput, chunk.offset);
    } else {
      add_up_in_switch(step, nodes_.node_of(rank));
      step.receive_connection = kScatterConnection;
    }
    keep_at(step, Buffer::kScratch, chunk.offset);
    return step;
  }

  // At the root: on to the children as well, and kept for the node.
  [[nodiscard]] Step up_step(Rank rank, int channel, const Part& chunk) const {
    Step step = step_of(chunk.bytes);
    step.receive_from = children(rank, channel);
    read_from(step, Buffer::kScratch, chunk.offset);
    if (is_root(rank, channel)) {
      step.send_to = children(rank, channel);
      keep_at(step, Buffer::kScratch, chunk.offset);
    } else {
      step.send_to = parent(rank, channel);
    }
    return step;
  }

  // The total is kept behind the node's own sums.
  [[nodiscard]] Step down_step(Rank rank, int channel, const Part& chunk, int phase) const {
    if (phase == 1) return switch_copy(rank, chunk, bytes_);
    Step step = step_of(chunk.bytes);
    step.receive_from = parent(rank, channel);
    step.send_to = children(rank, channel);
    keep_at(step, Buffer::kScratch, bytes_ + chunk.offset);
    return step;
  }

  [[nodiscard]] Step switch_copy(Rank rank, const Part& chunk, std::int64_t before) const {
    Step step = step_of(chunk.bytes);
    read_from(step, Buffer::kScratch, before + chunk.offset);
    if (alone(rank)) {
      keep_at(step, Buffer::kOutput, chunk.offset);
    } else {
      multicast(step, nodes_.node_of(rank));
    }
    return step;
  }

  // The only rank of its node: it has no switch to use, and copies.
  [[nodiscard]] bool alone(Rank rank) const { return nodes_.node_of(rank).size() == 1; }
  [[nodiscard]] const nccl::NodeLinks& links(Rank rank, int channel) const { return tree(nodes_.node(rank), channel); }
  [[nodiscard]] bool is_root(Rank rank, int channel) const { return links(rank, channel).up < 0; }
  [[nodiscard]] Rank parent(Rank rank, int channel) const { return nodes_.head(links(rank, channel).up, nodes_.local(rank)); }
  [[nodiscard]] Peers children(Rank rank, int channel) const {
    Peers peers;
    for (const int child : links(rank, channel).down) {
      if (child >= 0) peers.add(nodes_.head(child, nodes_.local(rank)));
    }
    return peers;
  }
  [[nodiscard]] const HeadLoops& part(int channel) const { return parts_[static_cast<std::size_t>(channel)]; }

  int n_;
  NodeHeads nodes_;
  std::int64_t bytes_;
  std::vector<HeadLoops> parts_;
  std::vector<int> used_;                              // channels with data
  std::vector<std::array<nccl::NodeLinks, 2>> trees_;  // by node
};

class NvlsTree final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllReduce; }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kInSwitch; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    return std::make_unique<NvlsTreeSchedule>(communicator, call, choice);
  }
  [[nodiscard]] bool couples_badly(int /*nodes*/) const override { return true; }
  // 1 GiB over 4 nodes of 8 GPUs; 2 % over 8 to 20.
  [[nodiscard]] Doubts doubts() const override { return {.fluid_over_nodes = 13}; }
};

}  // namespace

const Registration<Algorithm> builtin::nvls_tree{
    .name = "nvls_tree",
    .summary = "NVLink SHARP inside nodes, double binary trees of heads between them",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<NvlsTree>(); },
    .model = kNvlsText,
};

}  // namespace weft::coll
