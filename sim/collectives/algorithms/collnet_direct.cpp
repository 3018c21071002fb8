// CollNetDirect with SHARP (nccl-model §3.3): every rank of a node shares out its data over the node's heads (at most eight,
// the GPUs that own a NIC), each head works with the network's switches on its share, and hands the result round the node.
//
// All-reduce is here, in four lanes: scatter, up, down, gather. Up: a head adds up its chunk over the node and gives the sum to
// the switches; down: it takes the total and passes it to the node. At the head that stands for the switches (sharp_root.h),
// of another node for each channel and head, both are one lane. All-gather and reduce-scatter: collnet_blocks.h.
#include <memory>

#include "sim/collectives/algorithms/collnet_blocks.h"
#include "sim/collectives/algorithms/node_heads.h"
#include "sim/collectives/algorithms/sharp_root.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class CollNetDirectSchedule final : public Schedule {
  enum Lane : int { kScatter, kUp, kDown, kGather, kLanes };

 public:
  CollNetDirectSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : n_{communicator.ranks()}, nodes_{communicator, kMostCollNetHeads} {
    for (const ChannelPart& part : channel_parts(sizes_of(call, n_).input.count(), choice))
      parts_.push_back({.part = part, .heads = nodes_.heads()});
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    const std::int64_t loops = part(channel).count();
    if (lane == kScatter || lane == kGather) return other_heads(rank) * loops;
    if (!nodes_.is_head(rank)) return 0;
    if (!is_root(rank, channel)) return loops;
    return lane == kUp ? root(rank).steps() * loops : 0;
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    if (lane == kScatter || lane == kGather) return side_step(rank, channel, lane, index);
    const int head = nodes_.local(rank);
    if (is_root(rank, channel)) {
      const SharpRoot sharp = root(rank);
      return sharp.step(part(channel).chunk(index / sharp.steps(), head), static_cast<int>(index % sharp.steps()));
    }
    const Part chunk = part(channel).chunk(index, head);
    const Rank network_root = nodes_.head(root_node(channel, head), head);
    const Peers local = Peers::view(nodes_.others_on_node(rank));
    Step step = step_of(chunk.bytes);
    if (lane == kUp) {
      step.receive_from = local;
      step.receive_connection = kScatterConnection;
      read_from(step, Buffer::kInput, chunk.offset);
      step.send_to = network_root;
      step.send_in_switch = true;
    } else {
      step.receive_from = network_root;
      keep_at(step, Buffer::kOutput, chunk.offset);
      step.send_to = local;
    }
    return step;
  }

 private:
  // Scatter: the chunk of every other head of the node to it. Gather: the totals from them.
  [[nodiscard]] Step side_step(Rank rank, int channel, int lane, std::int64_t index) const {
    int head = static_cast<int>(index % other_heads(rank));
    if (head >= nodes_.local(rank)) ++head;  // its own it keeps
    const Part chunk = part(channel).chunk(index / other_heads(rank), head);
    const Rank owner = nodes_.head(nodes_.node(rank), head);
    Step step = step_of(chunk.bytes);
    if (lane == kScatter) {
      read_from(step, Buffer::kInput, chunk.offset);
      step.send_to = owner;
      step.send_connection = kScatterConnection;
    } else {
      step.receive_from = owner;
      keep_at(step, Buffer::kOutput, chunk.offset);
    }
    return step;
  }

  [[nodiscard]] int other_heads(Rank rank) const { return nodes_.heads() - (nodes_.is_head(rank) ? 1 : 0); }
  [[nodiscard]] int root_node(int channel, int head) const { return (channel + head) % nodes_.nodes(); }
  [[nodiscard]] bool is_root(Rank rank, int channel) const {
    return nodes_.is_head(rank) && nodes_.node(rank) == root_node(channel, nodes_.local(rank));
  }
  [[nodiscard]] SharpRoot root(Rank rank) const {
    return {.local = Peers::view(nodes_.others_on_node(rank)),
            .others = nodes_.same_head_elsewhere(nodes_.node(rank), nodes_.local(rank)),
            .up_connection = kScatterConnection};
  }
  [[nodiscard]] const HeadLoops& part(int channel) const { return parts_[static_cast<std::size_t>(channel)]; }

  int n_;
  NodeHeads nodes_;
  std::vector<HeadLoops> parts_;
};

class CollNetDirect final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override {
    return collective == Collective::kAllReduce || collective == Collective::kAllGather ||
           collective == Collective::kReduceScatter;
  }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    WEFT_CHECK(choice.channels <= communicator.channels());
    if (call.kind == Collective::kAllReduce) return std::make_unique<CollNetDirectSchedule>(communicator, call, choice);
    return make_collnet_blocks(communicator, call, choice);
  }
};

}  // namespace

const Registration<Algorithm> builtin::collnet_direct{
    .name = "collnet_direct",
    .summary = "SHARP between nodes, every rank's data shared out over the heads inside each",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<CollNetDirect>(); },
};

}  // namespace weft::coll
