// The textbook ring (Patarasuk and Yuan, 2009): one message per step, however large. On n ranks a channel with a share of S
// bytes sends S/n in each of 2(n-1) steps of an all-reduce, its block in each of n-1 steps of an all-gather or reduce-scatter,
// and n chunks of S/n down a chain for broadcast and reduce. `choice.chunk` and `choice.shares` are not used.
#include <memory>

#include "sim/collectives/algorithms/ring_schedule.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class PlainRing final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return is_ring_collective(collective); }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    const int n = communicator.ranks();
    const CallSizes sizes = sizes_of(call, n);
    const std::int64_t share = channel_part(std::min(sizes.input, sizes.output).count(), choice.channels, 0).bytes;
    const bool by_block = call.kind == Collective::kAllGather || call.kind == Collective::kReduceScatter;
    const std::int64_t message = round_up_to_unit(by_block ? share : ceil_div(share, n));
    Choice even = choice;
    even.chunk = Bytes{message};
    even.shares.clear();
    return std::make_unique<RingSchedule>(communicator, call, even);
  }
};

}  // namespace

const Registration<Algorithm> builtin::plain_ring{
    .name = "plain_ring",
    .summary = "textbook ring: one message per step, no protocol; 2(n-1) steps for all-reduce",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<PlainRing>(); },
    .model = {.assumes = "2(n-1) messages of S/n for all-reduce, in rank order, however large; it pays for the network alone: "
                         "no launch, no protocol, no limit of a thread block.",
              .leaves_out = {"plain_ring and pairwise leave out launch, protocol and reduction costs on purpose"},
              .sources = {"Patarasuk and Yuan, 2009", "Thakur, Rabenseifner and Gropp, 2005"}},
};

}  // namespace weft::coll
