#include <memory>

#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/schedules/orders.h"

namespace weft::work {
namespace {

class GPipe final : public PipelineSchedule {
 public:
  [[nodiscard]] std::string refusal(const PipelineShape& shape) const override { return one_chunk_refusal(shape, "gpipe"); }

  [[nodiscard]] std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const override {
    static_cast<void>(stage);
    const int m = shape.microbatches;
    return in_turn(passes(PipelinePass::kForward, m), passes(PipelinePass::kBackward, m), m, false);
  }
};

}  // namespace

namespace builtin {
const Registration<PipelineSchedule> gpipe{
    .name = "gpipe",
    .summary = "all forwards, then all backwards; holds every microbatch at once",
    .make = [](ParamReader&) -> std::unique_ptr<PipelineSchedule> { return std::make_unique<GPipe>(); },
    .model = {.assumes = "All forwards, then all backwards. Every stage holds all m microbatches at once and idles "
                         "(p-1)(F+B+W).",
              .sources = {"Huang et al., GPipe, 2018", "models/workloads §3"}},
};
}  // namespace builtin

}  // namespace weft::work
