// DeepEP-style combine (DeepEP, normal kernels): the way back of a dispatch. Blocks for another node go over NVLink to the GPU
// of the receiver's index on the sender's node, which sends them over RDMA; NCCL's PXN takes the same way.
//
// Model: an all-to-all moves data; DeepEP's combine also adds up what its experts return.
#include <memory>

#include "sim/collectives/algorithms/relayed_all_to_all.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class DeepEpCombine final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllToAll; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    WEFT_CHECK(choice.channels <= communicator.channels());
    return std::make_unique<RelayedAllToAll>(communicator, call, choice, RelayPlace::kAtSender);
  }
};

}  // namespace

const Registration<Algorithm> builtin::deepep_combine{
    .name = "deepep_combine",
    .summary = "all-to-all over NVLink to the GPU of the receiver's index, which sends over RDMA (DeepEP combine)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<DeepEpCombine>(); },
};

}  // namespace weft::coll
