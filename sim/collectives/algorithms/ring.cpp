// NCCL's ring: every channel its own ring, its part of the data in chunks (models/nccl §3.1).
//
// Model: one lane runs loop after loop; what NCCL's protocols do inside a step is the executor's.
#include <memory>

#include "sim/collectives/algorithms/ring_schedule.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class Ring final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return is_ring_collective(collective); }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    return std::make_unique<RingSchedule>(communicator, call, choice);
  }
  [[nodiscard]] bool sends_slices() const override { return true; }
};

}  // namespace

const Registration<Algorithm> builtin::ring{
    .name = "ring",
    .summary = "NCCL's ring: one per channel, in loops of n chunks; bandwidth-optimal, latency grows with n",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<Ring>(); },
};

}  // namespace weft::coll
