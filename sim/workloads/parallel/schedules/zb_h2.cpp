#include <memory>

#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/schedules/orders.h"

namespace weft::work {
namespace {

class ZeroBubbleH2 final : public PipelineSchedule {
 public:
  [[nodiscard]] std::string refusal(const PipelineShape& shape) const override { return one_chunk_refusal(shape, "zb_h2"); }

  [[nodiscard]] std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const override {
    return with_late_weights(shape.microbatches, 2 * (shape.stages - stage) - 1, 2 * stage);
  }

  [[nodiscard]] bool splits_backward() const override { return true; }
};

}  // namespace

namespace builtin {
const Registration<PipelineSchedule> zb_h2{
    .name = "zb_h2",
    .summary = "zb_h1 with twice the warm-up; no bubble where F = B = W, 2p-1 microbatches on every stage",
    .make = [](ParamReader&) -> std::unique_ptr<PipelineSchedule> { return std::make_unique<ZeroBubbleH2>(); },
    .model = {.assumes = "zb_h1 with twice the warm-up and twice the delay. (p-1)(F+B-2W) is left between the first and the "
                         "last op of a stage, which is nothing where F = B = W, and every stage holds 2p-1 microbatches.",
              .sources = {"Qi et al., 2023 (arXiv 2401.10241)", "models/workloads §3"}},
};
}  // namespace builtin

}  // namespace weft::work
