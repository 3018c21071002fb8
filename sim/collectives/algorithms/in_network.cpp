// All-reduce in the network: every rank gives its data to the switches once, they add up what comes from below, and the topmost
// one copies the total to all (SHARP). It pays for the network alone, as the other textbook algorithms do; collnet_direct and
// collnet_chain pay what NCCL's kernels pay. A channel is one message, however large: switches add up packet by packet.
//
// A rank gives on one lane and takes on another at the same time. A third lane is what the switches do (network_switch.h), at
// another rank for each channel.
#include <algorithm>
#include <memory>
#include <vector>

#include "sim/collectives/algorithms/network_switch.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class InNetworkSchedule final : public Schedule {
  enum Lane : int { kGive, kTake, kSwitches, kLanes };

 public:
  InNetworkSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
      : n_{communicator.ranks()}, parts_{channel_parts(sizes_of(call, n_).input.count(), choice)} {
    WEFT_CHECK(choice.channels <= communicator.channels());
    members_.resize(parts_.size());
    for (int channel = 0; channel < channels(); ++channel) {
      std::vector<Rank>& members = members_[static_cast<std::size_t>(channel)];
      for (int k = 1; k <= n_; ++k) members.push_back((channel + k) % n_);
    }
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return kLanes; }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    const ChannelPart& part = parts_[static_cast<std::size_t>(channel)];
    if (n_ == 1 ? lane != kTake : lane == kSwitches && rank != switches(channel)) return 0;
    return ceil_div(part.data.bytes, part.chunk);
  }

  [[nodiscard]] Step step(Rank, int channel, int lane, std::int64_t index) const override {
    const ChannelPart& part = parts_[static_cast<std::size_t>(channel)];
    const Part chunk = chunk_of(part.data, 0, part.chunk, index);
    if (lane == kSwitches) return add_up_in_network(chunk.bytes, members_[static_cast<std::size_t>(channel)]);
    Step step = step_of(chunk.bytes);
    if (lane == kGive) {
      read_from(step, Buffer::kInput, chunk.offset);
      give_to_network(step, switches(channel));
      return step;
    }
    if (n_ == 1) {
      read_from(step, Buffer::kInput, chunk.offset);
    } else {
      take_from_network(step, switches(channel));
    }
    keep_at(step, Buffer::kOutput, chunk.offset);
    return step;
  }

 private:
  // The rank that stands for the network's switches.
  [[nodiscard]] Rank switches(int channel) const { return members_[static_cast<std::size_t>(channel)].back(); }

  int n_;
  std::vector<ChannelPart> parts_;
  std::vector<std::vector<Rank>> members_;  // by channel: all ranks, last the one that stands for switches
};

class InNetwork final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllReduce; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    Choice whole = choice;
    const std::int64_t data = sizes_of(call, communicator.ranks()).input.count();
    whole.chunk = Bytes{round_up_to_unit(channel_part(data, choice.channels, 0).bytes)};
    whole.shares.clear();
    return std::make_unique<InNetworkSchedule>(communicator, call, whole);
  }
};

}  // namespace

const Registration<Algorithm> builtin::in_network{
    .name = "in_network",
    .summary = "textbook SHARP: switches add up and copy, every rank sends and receives each byte once; all-reduce",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<InNetwork>(); },
    .model =
        {.assumes =
             "Every rank gives its data to the switches, they add up on the way to the topmost one, and that copies the total "
             "to all: S/C and one way up and down, however many ranks. fabric.sharp says at what rate a tree adds up and how "
             "much longer a message takes for it. It pays for the network alone.",
         .leaves_out = {"in_network: trees follow the fabric's routes to one of the ranks, another one for each channel",
                        "in_network: switches add up for as many groups at once as there are"},
         .sources = {"Graham et al., Scalable Hierarchical Aggregation Protocol (SHArP), COMHPC 2016", "models/nccl §3.3"},
         .files = {"collectives/algorithms/network_switch.h"}},
};

}  // namespace weft::coll
