// NVLS: NVLink's switches add up and copy (models/nccl §3.4). All-reduce, all-gather and reduce-scatter of ranks that share one
// NVLink domain. Over several nodes: nvls_network.h.
//
// A head owns one chunk of every loop. For all-reduce three groups of warps of a CTA work at the same time, a lane each:
// scatter puts the rank's chunk for head h where the switch will read it, for every h at once; reduce, as a head, has the
// switch add up all n copies of its chunk, its own among them, and write the sum to all n ranks, itself among them; gather
// takes in what the heads wrote. So every rank gives its data to the switch once and one chunk in n more. All-gather needs no
// scatter and reduce-scatter no gather; there every rank is the head of its own block.
#include <algorithm>
#include <memory>
#include <numeric>

#include "sim/collectives/algorithms/nvls_network.h"
#include "sim/collectives/algorithms/steps.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

constexpr std::int64_t kLastGrain = 16384;  // bytes, of a short loop's chunks

class NvlsSchedule final : public Schedule {
  enum Lane : int { kScatter, kReduce, kGather, kLanes };

 public:
  NvlsSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : kind_{call.kind},
        n_{communicator.ranks()},
        heads_{kind_ == Collective::kAllReduce ? std::min(n_, kMostNvlsHeads) : n_},
        everyone_(static_cast<std::size_t>(n_)) {
    WEFT_CHECK(choice.channels <= communicator.channels());
    std::iota(everyone_.begin(), everyone_.end(), 0);
    const CallSizes sizes = sizes_of(call, n_);
    block_ = std::min(sizes.input, sizes.output).count();
    const int chunks_a_loop = kind_ == Collective::kAllReduce ? heads_ : 1;
    for (const ChannelPart& part : channel_parts(block_, choice))
      parts_.push_back({.part = part, .heads = chunks_a_loop, .grain = kLastGrain});
    used_ = used_channels(parts_);
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }

  // Seven of 20 warps reduce, five with more than six GPUs (models/nccl §3.4).
  [[nodiscard]] double warp_share(Rank, int, int lane) const override {
    return lane == kReduce ? (n_ <= 6 ? 7.0 : 5.0) / 20.0 : kCopyShare;
  }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    const std::int64_t loops = part(channel).count();
    if (n_ == 1) return lane == kReduce ? loops : 0;
    if (lane == kReduce) return rank < heads_ ? loops : 0;
    const bool idle =
        (lane == kScatter && kind_ == Collective::kAllGather) || (lane == kGather && kind_ == Collective::kReduceScatter);
    return idle ? 0 : loops;
  }
  [[nodiscard]] std::int64_t loops(int channel) const override { return part(channel).count(); }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t loop) const override {
    if (lane != kReduce) return side_step(channel, lane, loop);
    const Part chunk = part(channel).chunk(loop, kind_ == Collective::kAllReduce ? rank : 0);
    Step step = step_of(chunk.bytes);
    if (n_ == 1) {
      read_from(step, Buffer::kInput, chunk.offset);
      keep_at(step, Buffer::kOutput, chunk.offset);
      return step;
    }
    if (kind_ == Collective::kAllGather) {
      read_from(step, Buffer::kInput, chunk.offset);
    } else {
      add_up_in_switch(step, everyone_);
      step.receive_connection = kScatterConnection;
    }
    if (kind_ == Collective::kReduceScatter) {
      keep_at(step, Buffer::kOutput, chunk.offset);
    } else {
      multicast(step, everyone_);
    }
    return step;
  }

  // All-reduce: each GPU's port carries one share for each head, and as a head the total once more (models/nccl §3.4). The
  // first message: scattered, added up and copied, gathered.
  [[nodiscard]] bool has_fluid_flows() const override { return kind_ == Collective::kAllReduce && n_ > 1; }
  [[nodiscard]] std::int64_t fluid_flow_count() const override { return static_cast<std::int64_t>(used_.size()); }
  [[nodiscard]] FluidFlow fluid_flow(std::int64_t index) const override {
    FluidFlow flow;
    flow.channel = used_[static_cast<std::size_t>(index)];
    const HeadLoops& loops = part(flow.channel);
    flow.bytes = Bytes{loops.of_a_head()};
    flow.step_bytes = Bytes{loops.chunk(0, 0).bytes};
    const Bytes all{loops.loop(0).bytes};
    const FluidEdge in_switch{.from = 0, .to = 1, .work = flow.step_bytes, .share = warp_share(0, flow.channel, kReduce)};
    flow.edges.push_back({.from = 0, .to = 0, .work = all, .share = warp_share(0, flow.channel, kScatter), .peers = heads_});
    flow.edges.push_back(in_switch);
    flow.edges.push_back({.from = 1, .to = 1, .work = all, .share = warp_share(1, flow.channel, kGather), .peers = heads_});
    for (Rank rank = 0; rank < n_; ++rank) {
      for (int share = rank == 0 ? 1 : 0; share <= heads_; ++share)
        flow.edges.push_back({.from = rank, .to = (rank + 1) % n_, .work = in_switch.work, .share = in_switch.share});
    }
    flow.fill_bytes = 2 * flow.step_bytes;
    flow.serial_steps = loops.count() + 2;
    return flow;
  }

 private:
  // The heads' chunks of a loop follow one another, but in all-gather and reduce-scatter each is of another rank's block.
  [[nodiscard]] Step side_step(int channel, int lane, std::int64_t loop) const {
    const Part first = part(channel).chunk(loop, 0);
    const bool all_reduce = kind_ == Collective::kAllReduce;
    const std::int64_t bytes = all_reduce ? part(channel).loop(loop).bytes : n_ * first.bytes;
    const auto make = lane == kScatter ? scatter_to_switch : gather_from_switch;
    return make(std::span{everyone_}.first(static_cast<std::size_t>(heads_)), first, bytes, all_reduce ? first.bytes : block_);
  }
  [[nodiscard]] const HeadLoops& part(int channel) const { return parts_[static_cast<std::size_t>(channel)]; }

  Collective kind_;
  int n_;
  int heads_;  // the first ranks
  std::vector<Rank> everyone_;
  std::int64_t block_ = 0;  // bytes: the vector, or one rank's block
  std::vector<HeadLoops> parts_;
  std::vector<int> used_;  // channels with data
};

class Nvls final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override {
    return collective == Collective::kAllReduce || collective == Collective::kAllGather ||
           collective == Collective::kReduceScatter;
  }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kInSwitch; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    if (communicator.nodes() > 1) return make_nvls_network(communicator, call, choice);
    return std::make_unique<NvlsSchedule>(communicator, call, choice);
  }
  [[nodiscard]] bool couples_badly(int nodes) const override { return nodes > 1; }
  [[nodiscard]] Doubts doubts() const override { return {.in_packets = 50}; }
};

}  // namespace

const Registration<Algorithm> builtin::nvls{
    .name = "nvls",
    .summary = "NVLink SHARP: switches add up and copy, between nodes the network's do",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<Nvls>(); },
    .model = kNvlsText,
};

}  // namespace weft::coll
