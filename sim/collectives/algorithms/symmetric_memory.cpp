// PyTorch's all-reduces on symmetric memory as vLLM calls them: the input is copied into a buffer that all GPUs map at one
// address, a kernel adds up there, and the sum is copied out.
#include <memory>

#include "sim/collectives/algorithms/peer_schedule.h"
#include "sim/collectives/builtin.h"
#include "sim/collectives/libraries.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class SymmetricMemory final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllReduce; }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kPeer; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    const Shot shot = choice.protocol == kTwoShot ? Shot::kTwo : Shot::kSwitch;
    return std::make_unique<PeerSchedule>(communicator.ranks(), call, choice, shot);
  }
};

}  // namespace

const Registration<Algorithm> builtin::symmetric_memory{
    .name = "symmetric_memory",
    .summary = "copy in, one kernel through the NVLink switch (multimem) or two-shot, copy out (PyTorch, as vLLM calls it)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<SymmetricMemory>(); },
    .model =
        {.title = "All-reduce of PyTorch's symmetric memory",
         .assumes =
             "multimem_all_reduce: each GPU has the switch add up its part of all vectors, and writes the sum to all. "
             "two_shot_all_reduce: as custom_all_reduce's two-shot. Copies into the buffer and out of it go at `copy_share` "
             "of the memory's bandwidth.",
         .leaves_out = {"symmetric_memory: copies of vectors that stay in the L2 are as slow as others"},
         .sources = {"vLLM, vllm/distributed/device_communicators/symm_mem.py and all_reduce_utils.py",
                     "PyTorch, torch/csrc/distributed/c10d/symm_mem"},
         .files = {"collectives/algorithms/peer_schedule.h", "collectives/peer_costs.h"}},
};

}  // namespace weft::coll
