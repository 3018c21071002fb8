// NCCL's tree, an all-reduce: every channel adds up its chunks towards the root of its tree and passes the sums back down
// (models/nccl §3.2).
//
// The two directions run at the same time, each in a lane of its own; the root, where they meet, has one lane. Chunks go in
// order, all of them through every rank: a tree has no n-way cut.
#include <algorithm>
#include <memory>
#include <utility>

#include "sim/collectives/algorithms/default_trees.h"
#include "sim/collectives/algorithms/steps.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

constexpr int kUpLane = 0;  // and the root's only one

Peers children(const TreeLinks& links) {
  Peers peers;
  for (const Rank child : links.down) {
    if (child >= 0) peers.add(child);
  }
  return peers;
}

class TreeSchedule final : public Schedule {
 public:
  TreeSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : communicator_{communicator},
        is_simple_{choice.protocol != "LL" && choice.protocol != "LL128"},
        parts_{channel_parts(sizes_of(call, communicator.ranks()).input.count(), choice)} {
    WEFT_CHECK(choice.channels <= communicator.channels());
    if (!communicator.has_trees()) own_trees_ = default_trees(communicator);
    if (ranks() > 1) used_ = used_channels(parts_);
  }

  [[nodiscard]] int ranks() const override { return communicator_.ranks(); }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank rank, int channel) const override { return links(rank, channel).up < 0 ? 1 : 2; }
  [[nodiscard]] Nets nets() const override { return Nets::kTree; }

  [[nodiscard]] std::int64_t step_count(Rank, int channel, int) const override { return chunks(part(channel)); }
  [[nodiscard]] std::int64_t loops(int channel) const override { return chunks(part(channel)); }

  // Simple: 384 threads for the way up and 256 for the way down; LL and LL128: 70 % and 30 % (models/nccl §3.2).
  [[nodiscard]] double warp_share(Rank rank, int channel, int lane) const override {
    if (lanes(rank, channel) == 1) return 1.0;
    const double up = is_simple_ ? 0.6 : 0.7;
    return lane == kUpLane ? up : 1.0 - up;
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    const TreeLinks& at = links(rank, channel);
    const bool root = at.up < 0;
    const Part chunk = chunk_of(part(channel).data, 0, part(channel).chunk, index);
    Step step = step_of(chunk.bytes);
    if (lane == kUpLane) {
      step.receive_from = children(at);
      read_from(step, Buffer::kInput, chunk.offset);
      if (!root) step.send_to = at.up;
    } else {
      step.receive_from = at.up;
    }
    if (lane != kUpLane || root) {
      keep_at(step, Buffer::kOutput, chunk.offset);
      step.send_to = children(at);
    }
    return step;
  }

  // A channel is one flow over both directions of every link of its tree. The first chunk goes from a deepest leaf to the root
  // and back; the others follow at the pace of the slowest link.
  [[nodiscard]] bool has_fluid_flows() const override { return true; }
  [[nodiscard]] std::int64_t fluid_flow_count() const override { return static_cast<std::int64_t>(used_.size()); }

  [[nodiscard]] FluidFlow fluid_flow(std::int64_t index) const override {
    FluidFlow flow;
    flow.channel = used_[static_cast<std::size_t>(index)];
    const Rank leaf = deepest(flow.channel);
    std::vector<bool> named(static_cast<std::size_t>(ranks()));
    for (Rank rank = leaf; links(rank, flow.channel).up >= 0; rank = links(rank, flow.channel).up) {
      flow.edges.push_back(up_edge(rank, flow.channel));
      named[static_cast<std::size_t>(rank)] = true;
    }
    const auto depth = static_cast<std::int64_t>(flow.edges.size());
    for (std::size_t i = flow.edges.size(); i-- > 0;) flow.edges.push_back(down_edge(flow.edges[i].from, flow.channel));
    for (Rank rank = 0; rank < ranks(); ++rank) {
      if (links(rank, flow.channel).up < 0 || named[static_cast<std::size_t>(rank)]) continue;
      flow.edges.push_back(up_edge(rank, flow.channel));
      flow.edges.push_back(down_edge(rank, flow.channel));
    }
    const ChannelPart& whole = part(flow.channel);
    flow.bytes = Bytes{whole.data.bytes};
    flow.step_bytes = Bytes{std::min(whole.data.bytes, whole.chunk)};
    flow.serial_steps = chunks(whole) + 2 * depth - 1;
    flow.fill_bytes = (2 * depth - 1) * flow.step_bytes;
    return flow;
  }

 private:
  [[nodiscard]] const TreeLinks& links(Rank rank, int channel) const {
    const Tree& tree = own_trees_.empty() ? communicator_.tree(channel) : own_trees_[static_cast<std::size_t>(channel)];
    return tree[static_cast<std::size_t>(rank)];
  }
  // Between a rank and the one above it.
  [[nodiscard]] FluidEdge up_edge(Rank rank, int channel) const {
    return {.from = rank, .to = links(rank, channel).up, .share = warp_share(rank, channel, kUpLane)};
  }
  [[nodiscard]] FluidEdge down_edge(Rank rank, int channel) const {
    const Rank up = links(rank, channel).up;
    return {.from = up, .to = rank, .share = warp_share(up, channel, lanes(up, channel) - 1)};
  }
  [[nodiscard]] const ChannelPart& part(int channel) const { return parts_[static_cast<std::size_t>(channel)]; }
  static std::int64_t chunks(const ChannelPart& part) { return ceil_div(part.data.bytes, part.chunk); }

  // A rank furthest from the root.
  [[nodiscard]] Rank deepest(int channel) const {
    Rank deepest = 0;
    int most = -1;
    for (Rank rank = 0; rank < ranks(); ++rank) {
      int depth = 0;
      for (Rank at = rank; links(at, channel).up >= 0; at = links(at, channel).up) ++depth;
      if (depth > most) {
        most = depth;
        deepest = rank;
      }
    }
    return deepest;
  }

  const Communicator& communicator_;
  bool is_simple_;
  std::vector<Tree> own_trees_;  // empty: the communicator's
  std::vector<ChannelPart> parts_;
  std::vector<int> used_;  // channels with data; none for a lone rank, which sends nothing
};

class TreeAlgorithm final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllReduce; }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kCollective; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    return std::make_unique<TreeSchedule>(communicator, call, choice);
  }
};

}  // namespace

const Registration<Algorithm> builtin::tree{
    .name = "tree",
    .summary = "NCCL's double binary tree over nodes, chains inside: all-reduce in two passes that overlap",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<TreeAlgorithm>(); },
    .model = {.assumes = "Every channel adds up its chunks towards the root of its tree and passes the sums back down, each "
                         "direction in warps of its own. Trees join nodes; inside a node the ranks are a chain. Where no "
                         "search says otherwise half of the channels take each of NCCL's two trees.",
              .leaves_out = {"tree: the fluid grain has all edges of a channel at one common rate, that of the slowest"},
              .sources = {"models/nccl §3.2"},
              .files = {"collectives/nccl/trees.h"}},
};

}  // namespace weft::coll
