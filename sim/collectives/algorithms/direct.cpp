// All messages straight from owner to owner, all posted at once: all-to-all, send/recv, gather and scatter.
//
// Rank i posts to i+1, i+2, ... (mod n), so that no receiver is everybody's first. Every message is cut over the channels and
// has a lane of its own; one more lane takes in what arrives, in the order posted, and one copies what stays on the rank.
#include <memory>
#include <vector>

#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/algorithms/sends.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

constexpr int kSelfLane = 0;
constexpr int kReceiveLane = 1;
constexpr int kFirstSendLane = 2;

class DirectSchedule final : public Schedule {
 public:
  DirectSchedule(const Communicator& communicator, const CollectiveCall& call, int channels)
      : kind_{call.kind}, n_{communicator.ranks()}, root_{call.root}, channels_{channels}, messages_{call, n_} {
    WEFT_CHECK(channels >= 1 && channels <= communicator.channels());
    WEFT_CHECK(root_ >= 0 && root_ < n_);
    if (!messages_.is_even()) find_flows();
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return channels_; }
  [[nodiscard]] int lanes(Rank rank, int) const override { return kFirstSendLane + sends(rank); }

  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    if (channel_part(messages_.largest(), channels_, channel).bytes == 0) return 0;
    if (lane == kSelfLane) return keeps_some(rank) ? 1 : 0;
    return lane == kReceiveLane ? receives(rank) : 1;
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    Step step;
    Rank to = rank;
    Rank from = rank;
    if (lane == kReceiveLane) {
      from = receive_peer(rank, static_cast<int>(index) + 1);
      step.receive_from = from;
    } else if (lane >= kFirstSendLane) {
      to = send_peer(rank, lane - kFirstSendLane + 1);
      step.send_to = to;
    }
    const Part part = channel_part(messages_.bytes(from, to), channels_, channel);
    if (part.bytes == 0) return nothing_to_do();
    step.bytes = Bytes{part.bytes};
    step.use_source = lane != kReceiveLane;
    step.store = lane == kSelfLane || lane == kReceiveLane;
    if (step.use_source) step.source = {Buffer::kInput, messages_.input_offset(rank, to) + part.offset};
    if (step.store) step.destination = {Buffer::kOutput, messages_.output_offset(from, rank) + part.offset};
    return step;
  }

  // One flow per message and channel: messages of a channel in order of sender and round.
  [[nodiscard]] bool has_fluid_flows() const override { return true; }
  [[nodiscard]] std::int64_t fluid_flow_count() const override {
    return messages_.is_even() ? used_channels() * messages() : static_cast<std::int64_t>(flows_.size());
  }

  [[nodiscard]] FluidFlow fluid_flow(std::int64_t index) const override {
    WEFT_CHECK(n_ > 1);
    return flow_of(messages_.is_even() ? index : flows_[static_cast<std::size_t>(index)]);
  }

 private:
  // Channel and message by their number, whether they have data or not.
  [[nodiscard]] FluidFlow flow_of(std::int64_t index) const {
    const int channel = static_cast<int>(index / messages());
    const std::int64_t message = index % messages();
    const int round = kind_ == Collective::kSendRecv ? 1 : static_cast<int>(message % (n_ - 1)) + 1;
    Rank from = root_;
    Rank to = root_;
    switch (kind_) {
      case Collective::kAllToAll:
        from = static_cast<Rank>(message / (n_ - 1));
        to = (from + round) % n_;
        break;
      case Collective::kSendRecv:
        from = static_cast<Rank>(message);
        to = (from + 1) % n_;
        break;
      case Collective::kGather:
        from = (root_ + n_ - round) % n_;
        break;
      default:  // scatter
        to = (root_ + round) % n_;
        break;
    }
    FluidFlow flow;
    flow.edges = {{from, to}};
    flow.bytes = Bytes{channel_part(messages_.bytes(from, to), channels_, channel).bytes};
    flow.step_bytes = flow.bytes;
    flow.channel = channel;
    return flow;
  }

  void find_flows() {
    for (std::int64_t index = 0; index < used_channels() * messages(); ++index) {
      if (flow_of(index).bytes > Bytes{}) flows_.push_back(index);
    }
  }
  [[nodiscard]] std::int64_t used_channels() const {
    return std::min<std::int64_t>(channels_, ceil_div(messages_.largest(), kCutUnit));
  }
  [[nodiscard]] int sends(Rank rank) const {
    if (n_ == 1) return 0;
    if (kind_ == Collective::kSendRecv) return 1;
    if (kind_ == Collective::kGather) return rank == root_ ? 0 : 1;
    return kind_ == Collective::kAllToAll || rank == root_ ? n_ - 1 : 0;
  }
  [[nodiscard]] int receives(Rank rank) const {
    if (n_ == 1) return 0;
    if (kind_ == Collective::kSendRecv) return 1;
    if (kind_ == Collective::kScatter) return rank == root_ ? 0 : 1;
    return kind_ == Collective::kAllToAll || rank == root_ ? n_ - 1 : 0;
  }
  [[nodiscard]] bool keeps_some(Rank rank) const {
    if (kind_ == Collective::kSendRecv) return n_ == 1;
    return kind_ == Collective::kAllToAll || rank == root_;
  }
  [[nodiscard]] Rank send_peer(Rank rank, int round) const {
    return kind_ == Collective::kGather ? root_ : (rank + round) % n_;
  }
  [[nodiscard]] Rank receive_peer(Rank rank, int round) const {
    return kind_ == Collective::kScatter ? root_ : (rank + n_ - round) % n_;
  }
  [[nodiscard]] std::int64_t messages() const { return send_count(kind_, n_); }

  Collective kind_;
  int n_;
  Rank root_;
  int channels_;
  Messages messages_;
  std::vector<std::int64_t> flows_;  // those with data, where messages differ
};

class Direct final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return is_sends(collective); }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    return std::make_unique<DirectSchedule>(communicator, call, choice.channels);
  }
};

}  // namespace

const Registration<Algorithm> builtin::direct{
    .name = "direct",
    .summary = "every message posted at once, straight to its receiver",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<Direct>(); },
    .model = {.assumes = "Rank i posts to i+1, i+2, ... (mod n), so that no receiver is everybody's first.",
              .leaves_out = {"direct messages are one per pair and channel: NCCL's p2p batches and channel mapping are not "
                             "modelled"},
              .sources = {"models/nccl §3.6"}},
};

}  // namespace weft::coll
