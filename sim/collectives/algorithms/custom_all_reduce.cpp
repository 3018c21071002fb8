// The all-reduce of engines that serve models: one kernel whose threads read the vectors of all peers over NVLink, one-shot
// where the vector is small, else two-shot. vLLM's is csrc/custom_all_reduce.cuh; SGLang's is a copy of it.
#include <memory>

#include "sim/collectives/algorithms/peer_schedule.h"
#include "sim/collectives/builtin.h"
#include "sim/collectives/libraries.h"
#include "sim/core/error.h"

namespace weft::coll {
namespace {

class CustomAllReduce final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override { return collective == Collective::kAllReduce; }
  [[nodiscard]] Kernel kernel() const override { return Kernel::kPeer; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    const std::string_view shot = choice.protocol.empty() ? custom_shot(communicator.ranks(), call.bytes) : choice.protocol;
    return std::make_unique<PeerSchedule>(communicator.ranks(), call, choice, shot == kOneShot ? Shot::kOne : Shot::kTwo);
  }
};

}  // namespace

const Registration<Algorithm> builtin::custom_all_reduce{
    .name = "custom_all_reduce",
    .summary = "one kernel reads all peers over NVLink: one-shot, or two-shot where the vector is large (vLLM, SGLang)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<CustomAllReduce>(); },
    .model =
        {.title = "Custom all-reduce of vLLM, SGLang and TensorRT-LLM",
         .assumes =
             "One-shot: after a barrier by flags every GPU reads the vectors of all others and adds up. Two-shot: each adds "
             "up its part of all vectors, and after a barrier all read the sums. A GPU that reads has the bytes cross the "
             "links to it. One peer's data come at `load_rate` at most, those of all at `port_share` of the NVLinks. "
             "Two-shot below 512 KiB of 4 GPUs and 256 KiB of 8 is one-shot, as that of 2 GPUs always is. In a stream the "
             "input is copied into a registered buffer first; in a graph the input itself is registered.",
         .leaves_out = {"custom_all_reduce: fusion with norms and quantisation, which engines do, costs and saves nothing",
                        "custom_all_reduce: TensorRT-LLM's kernels, with Lamport flags in place of barriers, take the "
                        "times fitted to vLLM's; only their thresholds are their own",
                        "custom_all_reduce: its barriers are fitted, and on GPUs without measurements those of the "
                        "nearest generation"},
         .sources = {"vLLM, csrc/custom_all_reduce.cuh (kernels, 36 blocks, 512 and 256 KiB)",
                     "vLLM, vllm/distributed/device_communicators/custom_all_reduce.py and all_reduce_utils.py (limits)"},
         .files = {"collectives/algorithms/peer_schedule.h", "collectives/peer_costs.h"}},
};

}  // namespace weft::coll
