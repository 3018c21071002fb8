// DeepEP-style dispatch (DeepEP, normal kernels): an all-to-all that sends over RDMA to the GPU of the sender's index on the
// target node, which forwards over NVLink. So each GPU's NIC speaks with one GPU of every other node only, on its own rail.
//
// Model: every rank gets as much from everyone; DeepEP sends each token once to a node and forwards it as the experts ask.
#include <memory>

#include "sim/collectives/algorithms/relayed_all_to_all.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class DeepEpDispatch final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllToAll; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    WEFT_CHECK(choice.channels <= communicator.channels());
    return std::make_unique<RelayedAllToAll>(communicator, call, choice, RelayPlace::kAtReceiver);
  }
};

}  // namespace

const Registration<Algorithm> builtin::deepep_dispatch{
    .name = "deepep_dispatch",
    .summary = "all-to-all over RDMA to the same GPU index of the node, then forwarded over NVLink (DeepEP dispatch)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<DeepEpDispatch>(); },
};

}  // namespace weft::coll
