#include <memory>

#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/schedules/orders.h"

namespace weft::work {
namespace {

class OneForwardOneBackward final : public PipelineSchedule {
 public:
  [[nodiscard]] std::string refusal(const PipelineShape& shape) const override {
    PipelineShape checked = shape;
    if (shape.stages == 1) checked.overlap_expert = false;  // which a single stage can
    return one_chunk_refusal(checked, "1f1b");
  }

  [[nodiscard]] std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const override {
    const int m = shape.microbatches;
    const int warmup = shape.stages - stage - 1 + (shape.overlap_expert ? 1 : 0);
    return in_turn(passes(PipelinePass::kForward, m), passes(PipelinePass::kBackward, m), warmup, shape.overlap_expert);
  }
};

}  // namespace

namespace builtin {
const Registration<PipelineSchedule> one_f_one_b{
    .name = "1f1b",
    .summary = "one forward, one backward in turn after the warm-up; stage s holds p-s microbatches",
    .make = [](ParamReader&) -> std::unique_ptr<PipelineSchedule> { return std::make_unique<OneForwardOneBackward>(); },
    .model = {.assumes = "PipeDream-flush: GPipe's idle time, but stage s holds only min(p-s, m) microbatches. Without stages "
                         "the forward of a microbatch may run beside the backward of the one before it, so that expert "
                         "all-to-alls overlap.",
              .sources = {"Narayanan et al., 2021", "models/workloads §3.1"}},
};
}  // namespace builtin

}  // namespace weft::work
