// NCCL's kernels for buffers in symmetric memory (NCCL 2.27 and later): one-shot with the flags in the data (LL), two-shot by
// loads and stores (LD, ST), or through the NVLink switch (LDMC, STMC).
#include <memory>

#include "sim/collectives/algorithms/mesh_schedule.h"
#include "sim/collectives/algorithms/peer_schedule.h"
#include "sim/collectives/builtin.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

Shot shot_of(std::string_view kernel) {
  if (kernel == "RSxLD_AGxST") return Shot::kTwo;
  return kernel == "RSxLDMC_AGxSTMC" ? Shot::kSwitch : Shot::kOne;
}

class NcclSymmetric final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override {
    return collective == Collective::kAllReduce || collective == Collective::kAllGather ||
           collective == Collective::kReduceScatter;
  }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kPeer; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    if (call.kind == Collective::kAllReduce)
      return std::make_unique<PeerSchedule>(communicator.ranks(), call, choice, shot_of(choice.protocol));
    return std::make_unique<MeshSchedule>(communicator.ranks(), call, choice);
  }
};

}  // namespace

const Registration<Algorithm> builtin::nccl_symmetric{
    .name = "nccl_symmetric",
    .summary = "NCCL's kernels for buffers in symmetric memory (-R 2): LL in one shot, loads and stores, or through the switch",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<NcclSymmetric>(); },
    .model =
        {.title = "NCCL's kernels for symmetric memory",
         .assumes =
             "Where all GPUs reach each other over NVLink, NCCL picks a kernel and its blocks by an estimate of its own. Here "
             "it picks the same. A kernel begins and ends as late as in that estimate, moves the bytes that NCCL counts, on as "
             "many blocks, and no faster than libraries.symmetric_memory.port_share of the NVLinks. An LL kernel takes as long "
             "as if its blocks moved 9 times the data, as NCCL has it, or as twice the data on the links.",
         .leaves_out =
             {"nccl_symmetric: all-gather and reduce-scatter through the switch move each block to or from each peer, as fast",
              "nccl_symmetric: kernels over several NVLink domains, and grouped calls",
              "nccl_symmetric: times of calls without data are NCCL's estimates, 4.5 and 7.8 us on Hopper, 8.5 to 19.5 us on "
              "Blackwell, where NVIDIA's blog shows 6.3 us: its gain of 7.6 on 32 GPUs of GB200 comes out as 2"},
         .sources = {"NCCL 2.28, src/sym_kernels.cc (queryModel_lsa, ncclSymkPickKernel); 2.27, src/symmetric.cc",
                     "NVIDIA's blog on NCCL 2.27; vLLM pull requests 24532 and 33839 (validate/libraries/registered.py)"},
         .files = {"collectives/nccl/symmetric.h", "collectives/algorithms/peer_schedule.h",
                   "collectives/algorithms/mesh_schedule.h", "collectives/peer_costs.h"}},
};

}  // namespace weft::coll
