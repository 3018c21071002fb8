// Pairwise exchange (Thakur, Rabenseifner and Gropp, 2005): an all-to-all in n-1 rounds, one after another. In round r rank i
// sends to i+r and receives from i-r (mod n), and starts the next round when both are done.
#include <memory>

#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/algorithms/sends.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

constexpr int kOwnBlockLane = 0;
constexpr int kPairwiseLanes = 2;  // own block; rounds

class PairwiseSchedule final : public Schedule {
 public:
  PairwiseSchedule(const Communicator& communicator, const CollectiveCall& call, int channels)
      : n_{communicator.ranks()}, channels_{channels}, messages_{call, n_} {
    WEFT_CHECK(channels >= 1 && channels <= communicator.channels());
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return channels_; }
  [[nodiscard]] int lanes(Rank, int) const override { return kPairwiseLanes; }

  [[nodiscard]] std::int64_t step_count(Rank, int channel, int lane) const override {
    if (channel_part(messages_.largest(), channels_, channel).bytes == 0) return 0;
    return lane == kOwnBlockLane ? 1 : 2 * (n_ - 1);
  }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    const int round = static_cast<int>(index / 2) + 1;
    const bool sends = lane != kOwnBlockLane && index % 2 == 0;  // each round: post the send, then take in what comes
    const bool receives = lane != kOwnBlockLane && !sends;
    const Rank to = sends ? (rank + round) % n_ : rank;
    const Rank from = receives ? (rank + n_ - round) % n_ : rank;
    const Part part = channel_part(messages_.bytes(from, to), channels_, channel);
    if (part.bytes == 0) return nothing_to_do();
    Step step;
    step.bytes = Bytes{part.bytes};
    if (sends) step.send_to = to;
    if (receives) step.receive_from = from;
    step.use_source = !receives;
    step.store = !sends;
    if (step.use_source) step.source = {Buffer::kInput, messages_.input_offset(rank, to) + part.offset};
    if (step.store) step.destination = {Buffer::kOutput, messages_.output_offset(from, rank) + part.offset};
    return step;
  }

  [[nodiscard]] bool has_fluid_flows() const override { return messages_.is_even(); }
  [[nodiscard]] std::int64_t fluid_flow_count() const override {
    return n_ == 1 ? 0 : std::min<std::int64_t>(channels_, ceil_div(messages_.largest(), kCutUnit));
  }

  [[nodiscard]] FluidFlow fluid_flow(std::int64_t index) const override {
    FluidFlow flow;
    flow.channel = static_cast<int>(index);
    flow.edges.reserve(static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_ - 1));
    for (int round = 1; round < n_; ++round) {
      for (Rank from = 0; from < n_; ++from) flow.edges.push_back({from, (from + round) % n_});
    }
    flow.bytes = Bytes{channel_part(messages_.largest(), channels_, flow.channel).bytes};
    flow.step_bytes = flow.bytes;
    flow.serial_steps = n_ - 1;
    return flow;
  }

 private:
  int n_;
  int channels_;
  Messages messages_;
};

class Pairwise final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllToAll; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    return std::make_unique<PairwiseSchedule>(communicator, call, choice.channels);
  }
  [[nodiscard]] bool couples_badly(int /*nodes*/) const override { return true; }
};

}  // namespace

const Registration<Algorithm> builtin::pairwise{
    .name = "pairwise",
    .summary = "all-to-all in n-1 rounds of send and receive, one after another",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<Pairwise>(); },
    .model =
        {.assumes = "In round r rank i sends to i+r and receives from i-r (mod n), and starts the next when both are "
                    "done.",
         .leaves_out = {"pairwise: the fluid grain moves all rounds together at the rate of the slowest pair, too fast where "
                        "rounds differ, as where some stay inside a host; an all-to-allv has none"},
         .sources = {"Thakur, Rabenseifner and Gropp, 2005"}},
};

}  // namespace weft::coll
