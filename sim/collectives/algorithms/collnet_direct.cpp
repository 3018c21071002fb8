// CollNetDirect with SHARP (models/nccl §3.3): every rank of a node shares out its data over the node's heads (at most eight,
// the GPUs that own a NIC), each head works with the network's switches on its share, and hands the result round the node.
//
// All-reduce is here, in four lanes: scatter, up, down, gather. Up: a head adds up its chunk over the node and gives the sum to
// the switches; down: it takes the total and passes it to the node. A fifth lane is what the switches do (network_switch.h), at
// the head of another node for each channel and head. All-gather and reduce-scatter: collnet_blocks.h.
#include <memory>

#include "sim/collectives/algorithms/collnet_blocks.h"
#include "sim/collectives/algorithms/network_switch.h"
#include "sim/collectives/algorithms/node_heads.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class CollNetDirectSchedule final : public Schedule {
  enum Lane : int { kScatter, kUp, kDown, kGather, kNetwork, kLanes };

 public:
  CollNetDirectSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : n_{communicator.ranks()}, nodes_{communicator, kMostCollNetHeads} {
    for (const ChannelPart& part : channel_parts(sizes_of(call, n_).input.count(), choice))
      parts_.push_back({.part = part, .heads = nodes_.heads()});
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }

  // NCCL splits a block's 640 threads so (src/device/all_reduce.h): scatter has 128, gather 96, down 128 and up the
  // rest; where the rank is no head, scatter 320 and gather the 192 of its copy groups; where it is alone on its node, down 224
  // and up the rest.
  [[nodiscard]] double warp_share(Rank rank, int, int lane) const override {
    constexpr double kThreads = 640.0;
    if (!nodes_.is_head(rank)) return (lane == kScatter ? 320.0 : 192.0) / kThreads;
    if (nodes_.others_on_node(rank).empty()) return (lane == kDown ? 224.0 : 384.0) / kThreads;
    return (lane == kScatter || lane == kDown ? 128.0 : lane == kGather ? 96.0 : 288.0) / kThreads;
  }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    const std::int64_t loops = part(channel).count();
    if (lane == kScatter || lane == kGather) return nodes_.other_heads(rank).empty() ? 0 : loops;
    if (!nodes_.is_head(rank)) return 0;
    if (lane == kUp) return loops;
    if (nodes_.nodes() == 1) return 0;
    return lane == kDown || rank == network(channel, nodes_.local(rank)) ? loops : 0;
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t loop) const override {
    if (lane == kScatter || lane == kGather) return side_step(rank, channel, lane, loop);
    const int head = nodes_.local(rank);
    const Part chunk = part(channel).chunk(loop, head);
    if (lane == kNetwork) return add_up_in_network(chunk.bytes, nodes_.same_head(nodes_.node(rank), head));
    const Peers local = Peers::view(nodes_.others_on_node(rank));
    Step step = step_of(chunk.bytes);
    if (lane == kUp) {
      step.receive_from = local;
      step.receive_connection = kScatterConnection;
      read_from(step, Buffer::kInput, chunk.offset);
      if (nodes_.nodes() > 1) {
        give_to_network(step, network(channel, head));
        return step;
      }
    } else {
      take_from_network(step, network(channel, head));
    }
    keep_at(step, Buffer::kOutput, chunk.offset);
    step.send_to = local;
    return step;
  }

 private:
  // Scatter: the chunk of every other head of the node to it. Gather: the totals from them.
  [[nodiscard]] Step side_step(Rank rank, int channel, int lane, std::int64_t loop) const {
    const HeadLoops& loops = part(channel);
    const int own = nodes_.is_head(rank) ? nodes_.local(rank) : nodes_.heads();
    const std::int64_t of_own = own < nodes_.heads() ? loops.chunk(loop, own).bytes : 0;
    const std::int64_t each = loops.chunk(loop, 0).bytes;
    const std::int64_t begin = loops.chunk(loop, own == 0 ? 1 : 0).offset;
    Step step = spread_step(loops.loop(loop).bytes - of_own, each, each);
    if (own > 0) step.own_before = own;
    if (lane == kScatter) {
      read_from(step, Buffer::kInput, begin);
      step.send_to = Peers::view(nodes_.other_heads(rank));
      step.send_connection = kScatterConnection;
    } else {
      step.receive_from = Peers::view(nodes_.other_heads(rank));
      keep_at(step, Buffer::kOutput, begin);
    }
    return step;
  }

  // The head that stands for the network's switches.
  [[nodiscard]] Rank network(int channel, int head) const { return nodes_.head((channel + head) % nodes_.nodes(), head); }
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
  [[nodiscard]] Kernel kernel() const override { return Kernel::kInSwitch; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    WEFT_CHECK(choice.channels <= communicator.channels());
    if (call.kind == Collective::kAllReduce) return std::make_unique<CollNetDirectSchedule>(communicator, call, choice);
    return make_collnet_blocks(communicator, call, choice, InsideNodes::kDirect);
  }
  [[nodiscard]] Doubts doubts() const override { return {.in_packets = 55}; }
};

}  // namespace

const Registration<Algorithm> builtin::collnet_direct{
    .name = "collnet_direct",
    .summary = "SHARP between nodes, every rank's data shared out over the heads inside each",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<CollNetDirect>(); },
    .model = kSharpText,
};

}  // namespace weft::coll
