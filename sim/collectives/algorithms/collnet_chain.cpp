// CollNetChain, an all-reduce with SHARP (models/nccl §3.3): on every node a chain of ranks adds up towards its head, the
// network's switches add up what the heads hold and copy the sum to all of them, and the chains pass it back. One head a
// channel and node: channel c's chain begins at the node's rank c (mod ranks of the node).
//
// Both directions run at the same time, a lane each. A third lane is what the switches do (network_switch.h), at the head of
// another node for each channel.
#include <memory>

#include "sim/collectives/algorithms/network_switch.h"
#include "sim/collectives/algorithms/node_heads.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class CollNetChainSchedule final : public Schedule {
  enum Lane : int { kUp, kDown, kNetwork, kLanes };

 public:
  CollNetChainSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : n_{communicator.ranks()},
        nodes_{communicator, communicator.ranks()},
        parts_{channel_parts(sizes_of(call, n_).input.count(), choice)} {
    WEFT_CHECK(choice.channels <= communicator.channels());
    heads_.resize(parts_.size());
    for (int channel = 0; channel < channels(); ++channel) {
      std::vector<Rank>& heads = heads_[static_cast<std::size_t>(channel)];
      for (int k = 1; k <= nodes_.nodes(); ++k)
        heads.push_back(chain_rank((network_node(channel) + k) % nodes_.nodes(), channel, 0));
    }
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }

  // Half of the threads for each direction (models/nccl §3.3).
  [[nodiscard]] double warp_share(Rank, int, int) const override { return 0.5; }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    const ChannelPart& part = parts_[static_cast<std::size_t>(channel)];
    if (lane == kNetwork && (nodes_.nodes() == 1 || rank != network(channel))) return 0;
    if (lane == kDown && nodes_.nodes() == 1 && chain_position(rank, channel) == 0) return 0;
    return ceil_div(part.data.bytes, part.chunk);
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    const ChannelPart& part = parts_[static_cast<std::size_t>(channel)];
    const Part chunk = chunk_of(part.data, 0, part.chunk, index);
    if (lane == kNetwork) return add_up_in_network(chunk.bytes, heads_[static_cast<std::size_t>(channel)]);
    const int position = chain_position(rank, channel);
    Step step = step_of(chunk.bytes);
    if (lane == kUp) {
      step.receive_from = below(rank, channel);
      read_from(step, Buffer::kInput, chunk.offset);
      if (position > 0) {
        step.send_to = chain_rank(nodes_.node(rank), channel, position - 1);
        return step;
      }
      if (nodes_.nodes() > 1) {
        give_to_network(step, network(channel));
        return step;
      }
    } else if (position == 0) {
      take_from_network(step, network(channel));
    } else {
      step.receive_from = chain_rank(nodes_.node(rank), channel, position - 1);
    }
    keep_at(step, Buffer::kOutput, chunk.offset);
    step.send_to = below(rank, channel);
    return step;
  }

 private:
  [[nodiscard]] int size_of_node(int node) const { return static_cast<int>(nodes_.node_of(nodes_.head(node, 0)).size()); }
  [[nodiscard]] Rank chain_rank(int node, int channel, int position) const {
    return nodes_.head(node, (channel + position) % size_of_node(node));
  }
  [[nodiscard]] int chain_position(Rank rank, int channel) const {
    const int size = static_cast<int>(nodes_.node_of(rank).size());
    return (nodes_.local(rank) - channel % size + size) % size;
  }
  // The next rank away from the head, if any.
  [[nodiscard]] Peers below(Rank rank, int channel) const {
    const int position = chain_position(rank, channel);
    const int node = nodes_.node(rank);
    return position + 1 < size_of_node(node) ? Peers{chain_rank(node, channel, position + 1)} : Peers{};
  }
  [[nodiscard]] int network_node(int channel) const { return channel % nodes_.nodes(); }
  // The head that stands for the network's switches.
  [[nodiscard]] Rank network(int channel) const { return heads_[static_cast<std::size_t>(channel)].back(); }

  int n_;
  NodeHeads nodes_;
  std::vector<ChannelPart> parts_;
  std::vector<std::vector<Rank>> heads_;  // by channel: the head of every node, last the one that stands for switches
};

class CollNetChain final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllReduce; }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kInSwitch; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    return std::make_unique<CollNetChainSchedule>(communicator, call, choice);
  }
  [[nodiscard]] Doubts doubts() const override { return {.in_packets = 55}; }
};

}  // namespace

const Registration<Algorithm> builtin::collnet_chain{
    .name = "collnet_chain",
    .summary = "SHARP between nodes, a chain inside each: all-reduce",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<CollNetChain>(); },
    .model = kSharpText,
};

}  // namespace weft::coll
