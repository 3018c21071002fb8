// NCCL's ring: every channel its own ring, its part of the data in chunks (models/nccl §3.1).
#include <memory>

#include "sim/collectives/algorithms/ring_schedule.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class Ring final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return is_ring_collective(collective); }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kCollective; }
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
    .model =
        {.assumes = "Every channel passes its share around its own ring: 2(n-1) steps of a chunk for all-reduce, n-1 for "
                    "all-gather and reduce-scatter, a chain for broadcast and reduce. The rings are those of NCCL's "
                    "search (nccl_search).",
         .leaves_out = {"rings: without a planner's shares channels share the data evenly; NCCL cuts in cells of at least 16 "
                        "KiB, which loads them unevenly at small sizes",
                        "rings: one lane runs loop after loop; what NCCL's protocols do inside a step is the executor's",
                        "rings of textbook algorithms follow rank order, not NCCL's search"},
         .sources = {"models/nccl §2 (search), §3.1 (ring), §4.6 (cells)", "Patarasuk and Yuan, 2009"},
         .files = {"collectives/algorithms/parts.h"}},
};

}  // namespace weft::coll
