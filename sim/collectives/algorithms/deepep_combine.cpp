// DeepEP-style combine (DeepEP, normal kernels): the way back of a dispatch. Blocks for another node go over NVLink to the GPU
// of the receiver's index on the sender's node, which sends them over RDMA; NCCL's PXN takes the same way.
#include <memory>

#include "sim/collectives/algorithms/relayed_all_to_all.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {

const Registration<Algorithm> builtin::deepep_combine{
    .name = "deepep_combine",
    .summary = "all-to-all over NVLink to the GPU of the receiver's index, which sends over RDMA (DeepEP combine)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return make_relayed_all_to_all(RelayPlace::kAtSender); },
    .model = kDeepEpText,
};

}  // namespace weft::coll
