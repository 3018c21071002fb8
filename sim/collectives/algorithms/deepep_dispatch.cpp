// DeepEP-style dispatch (DeepEP, normal kernels): an all-to-all that sends over RDMA to the GPU of the sender's index on the
// target node, which forwards over NVLink. So each GPU's NIC speaks with one GPU of every other node only, on its own rail.
#include <memory>

#include "sim/collectives/algorithms/relayed_all_to_all.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {

const Registration<Algorithm> builtin::deepep_dispatch{
    .name = "deepep_dispatch",
    .summary = "all-to-all over RDMA to the same GPU index of the node, then forwarded over NVLink (DeepEP dispatch)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return make_relayed_all_to_all(RelayPlace::kAtReceiver); },
    .model = kDeepEpText,
};

}  // namespace weft::coll
