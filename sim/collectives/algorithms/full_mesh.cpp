// Full mesh: every rank sends its block to all others at once (all-gather), or every other rank its block to add up
// (reduce-scatter). One latency; all that a rank sends leaves at the same time.
#include <memory>

#include "sim/collectives/algorithms/mesh_schedule.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class FullMesh final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override {
    return collective == Collective::kAllGather || collective == Collective::kReduceScatter;
  }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    WEFT_CHECK(choice.channels <= communicator.channels());
    return std::make_unique<MeshSchedule>(communicator.ranks(), call, choice);
  }
};

}  // namespace

const Registration<Algorithm> builtin::full_mesh{
    .name = "full_mesh",
    .summary = "all-gather and reduce-scatter by messages between all pairs at once; one latency (textbook)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<FullMesh>(); },
    .model = {.assumes = "Every rank sends to all others at the same time.",
              .sources = {"the textbook algorithm: all pairs at once"},
              .files = {"collectives/algorithms/mesh_schedule.h"}},
};

}  // namespace weft::coll
