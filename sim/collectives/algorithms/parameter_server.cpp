// Parameter server (Li et al., "Scaling distributed machine learning with the parameter server", 2014): every rank is a worker,
// and the server of one n-th of the vector. Push: all send each server its part, which adds up; pull: every server sends the
// total to all. A server answers once all have pushed to it (synchronous training).
#include <memory>

#include "sim/collectives/algorithms/mesh_schedule.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class ParameterServer final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllReduce; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    WEFT_CHECK(choice.channels <= communicator.channels());
    return std::make_unique<MeshSchedule>(communicator.ranks(), call, choice);
  }
};

}  // namespace

const Registration<Algorithm> builtin::parameter_server{
    .name = "parameter_server",
    .summary = "all-reduce by push to and pull from a server on every rank (Li et al., 2014)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<ParameterServer>(); },
    .model = {.assumes = "There is one server on every rank, which answers once all have pushed. Every rank sends to all "
                         "others at the same time.",
              .leaves_out = {"parameter_server: servers share the workers' devices; none stand apart"},
              .sources = {"Li et al., Scaling distributed machine learning with the parameter server, 2014"},
              .files = {"collectives/algorithms/mesh_schedule.h"}},
};

}  // namespace weft::coll
