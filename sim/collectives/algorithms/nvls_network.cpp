#include "sim/collectives/algorithms/nvls_network.h"

#include <vector>

#include "sim/collectives/algorithms/collnet_blocks.h"
#include "sim/collectives/algorithms/network_switch.h"
#include "sim/collectives/algorithms/node_heads.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

// Lanes: scatter and gather as in NVLS; reduce, as a head: have the node's switch add up and give the sum to the network's;
// broadcast: take the total from there and have the node's switch copy it; and what the network's switches do.
class NvlsNetworkSchedule final : public Schedule {
  enum Lane : int { kScatter, kReduce, kGather, kBroadcast, kNetwork, kLanes };

 public:
  NvlsNetworkSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : n_{communicator.ranks()}, nodes_{communicator, kMostNvlsHeads} {
    for (const ChannelPart& part : channel_parts(sizes_of(call, n_).input.count(), choice))
      parts_.push_back({.part = part, .heads = nodes_.heads()});
    used_ = used_channels(parts_);
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }

  // A block has 20 warps: 3 reduce and 2 broadcast where the network's switches take part (NCCL, src/device/all_reduce.h).
  [[nodiscard]] double warp_share(Rank, int, int lane) const override {
    if (lane == kScatter || lane == kGather) return kCopyShare;
    return (lane == kReduce ? 3.0 : 2.0) / 20.0;
  }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    const std::int64_t loops = part(channel).count();
    if (lane == kScatter || lane == kGather) return alone(rank) ? 0 : loops;
    if (!nodes_.is_head(rank)) return 0;
    return lane == kNetwork && rank != network(channel, nodes_.local(rank)) ? 0 : loops;
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t loop) const override {
    const HeadLoops& loops = part(channel);
    if (lane == kScatter || lane == kGather) {
      const Part first = loops.chunk(loop, 0);
      const auto make = lane == kScatter ? scatter_to_switch : gather_from_switch;
      return make(nodes_.heads_of_node(rank), first, loops.loop(loop).bytes, first.bytes);
    }
    const int head = nodes_.local(rank);
    const Part chunk = loops.chunk(loop, head);
    if (lane == kNetwork) return add_up_in_network(chunk.bytes, nodes_.same_head(nodes_.node(rank), head));
    Step step = step_of(chunk.bytes);
    if (lane == kReduce) {
      if (alone(rank)) {
        read_from(step, Buffer::kInput, chunk.offset);
      } else {
        add_up_in_switch(step, nodes_.node_of(rank));
        step.receive_connection = kScatterConnection;
      }
      give_to_network(step, network(channel, head));
      return step;
    }
    take_from_network(step, network(channel, head));
    if (alone(rank)) {
      keep_at(step, Buffer::kOutput, chunk.offset);
    } else {
      multicast(step, nodes_.node_of(rank));
    }
    return step;
  }

  // A channel is one flow: in every node one share for each head on each GPU's port and the total once more, and each head's
  // share through its NIC once each way, as round a ring of the nodes. The first chunk goes up in one node and down in the
  // next.
  [[nodiscard]] bool has_fluid_flows() const override { return true; }
  [[nodiscard]] std::int64_t fluid_flow_count() const override { return static_cast<std::int64_t>(used_.size()); }
  [[nodiscard]] FluidFlow fluid_flow(std::int64_t index) const override {
    FluidFlow flow;
    flow.channel = used_[static_cast<std::size_t>(index)];
    const HeadLoops& loops = part(flow.channel);
    flow.bytes = Bytes{loops.of_a_head()};
    flow.step_bytes = Bytes{loops.chunk(0, 0).bytes};
    const Rank first = nodes_.head(0, 0);
    const Rank last = nodes_.head(1, 0);
    const auto edge = [&](Rank from, Rank to, int lane) {
      flow.edges.push_back({.from = from, .to = to, .work = flow.step_bytes, .share = warp_share(from, flow.channel, lane)});
    };
    const auto side_edge = [&](Rank rank, int lane) {
      flow.edges.push_back({.from = rank,
                            .to = rank,
                            .work = Bytes{loops.loop(0).bytes},
                            .share = warp_share(rank, flow.channel, lane),
                            .peers = nodes_.heads()});
    };
    const auto in_node = [&](Rank rank, int lane) { edge(rank, nodes_.others_on_node(rank).front(), lane); };
    if (!alone(first)) side_edge(first, kScatter);
    if (!alone(first)) in_node(first, kReduce);
    edge(first, last, kReduce);
    if (!alone(last)) in_node(last, kBroadcast);
    if (!alone(last)) side_edge(last, kGather);
    const auto fill = static_cast<std::int64_t>(flow.edges.size()) - 1;
    for (int node = 0; node < nodes_.nodes(); ++node) {
      for (int head = node == 0 ? 1 : 0; head < nodes_.heads(); ++head)
        edge(nodes_.head(node, head), nodes_.head((node + 1) % nodes_.nodes(), head), kReduce);
      for (const Rank rank : nodes_.node_of(nodes_.head(node, 0))) {
        for (int share = rank == first || rank == last ? 1 : 0; share <= nodes_.heads() && !alone(rank); ++share)
          in_node(rank, kReduce);
      }
    }
    flow.fill_bytes = fill * flow.step_bytes;
    flow.serial_steps = loops.count() + fill;
    return flow;
  }

 private:
  // The only rank of its node: it has no switch to use.
  [[nodiscard]] bool alone(Rank rank) const { return nodes_.node_of(rank).size() == 1; }
  // The head that stands for the network's switches.
  [[nodiscard]] Rank network(int channel, int head) const { return nodes_.head((channel + head) % nodes_.nodes(), head); }
  [[nodiscard]] const HeadLoops& part(int channel) const { return parts_[static_cast<std::size_t>(channel)]; }

  int n_;
  NodeHeads nodes_;
  std::vector<HeadLoops> parts_;
  std::vector<int> used_;  // channels with data
};

}  // namespace

std::unique_ptr<Schedule> make_nvls_network(const Communicator& communicator, const CollectiveCall& call,
                                            const Choice& choice) {
  WEFT_CHECK(communicator.nodes() > 1 && choice.channels <= communicator.channels());
  if (call.kind != Collective::kAllReduce) return make_collnet_blocks(communicator, call, choice, InsideNodes::kNvls);
  return std::make_unique<NvlsNetworkSchedule>(communicator, call, choice);
}

}  // namespace weft::coll
