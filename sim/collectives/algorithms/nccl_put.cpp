// One-sided: each rank puts its data into the next one's buffer and signals it (ncclPutSignal and ncclWaitSignal of NCCL 2.29),
// by a copy engine over NVLink. The receiver's stream waits for the signal; no thread block runs on either side.
#include <memory>

#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class NcclPut final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kSendRecv; }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kPeer; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    return make_algorithm("direct")->plan(communicator, call, choice);
  }
};

}  // namespace

const Registration<Algorithm> builtin::nccl_put{
    .name = "nccl_put",
    .summary = "put with signal into the next rank's window (ncclPutSignal, NCCL 2.29), by a copy engine over NVLink",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<NcclPut>(); },
    .model =
        {.title = "NCCL's put with signal",
         .assumes =
             "NCCL copies the data by an engine and then 8 bytes of signal by another copy, in stream order; the receiver's "
             "stream waits for these. So a put takes gpu.copy.engine_start, the data at the copy engines' rate and the way "
             "there, and the same once more for the signal, without data. It runs where it is named: --algo nccl_put.",
         .leaves_out =
             {"nccl_put: never measured here; the host's calls of the driver beyond those of one kernel cost nothing",
              "nccl_put: puts over a network (NCCL's proxy, GIN), and those that kernels issue (NVSHMEM's "
              "nvshmem_putmem_signal, GIN): no public source has their times on hardware that is modelled here. DeepEP's "
              "low-latency kernels, which are made of them, are modelled as a whole (`weft explain deepep_dispatch`)"},
         .sources = {"NCCL 2.29.7, src/rma/rma_ce.cc", "Release notes of NCCL 2.29.2"},
         .files = {"collectives/nccl/copy_engine.h", "collectives/peer_costs.h"}},
};

}  // namespace weft::coll
