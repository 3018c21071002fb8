#include <memory>

#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/schedules/orders.h"

namespace weft::work {
namespace {

class ZeroBubbleH1 final : public PipelineSchedule {
 public:
  [[nodiscard]] std::string refusal(const PipelineShape& shape) const override { return one_chunk_refusal(shape, "zb_h1"); }

  [[nodiscard]] std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const override {
    return with_late_weights(shape.microbatches, shape.stages - stage, stage);
  }

  [[nodiscard]] bool splits_backward() const override { return true; }
};

}  // namespace

namespace builtin {
const Registration<PipelineSchedule> zb_h1{
    .name = "zb_h1",
    .summary = "1f1b with weight gradients put off; a third of its bubble, p microbatches on every stage",
    .make = [](ParamReader&) -> std::unique_ptr<PipelineSchedule> { return std::make_unique<ZeroBubbleH1>(); },
    .model = {.assumes = "1F1B whose weight gradients wait, s microbatches long on stage s, and fill what was idle: "
                         "(p-1)(F+B-W) is left, and every stage holds p microbatches.",
              .sources = {"Qi et al., 2023 (arXiv 2401.10241)", "models/workloads §3.1"}},
};
}  // namespace builtin

}  // namespace weft::work
