#include <fmt/format.h>

#include <memory>

#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/schedules/dualpipe_order.h"

namespace weft::work {
namespace {

// DualPipeV (DeepSeek; "cut in half" by Qi et al.): DualPipe on half as many ranks and without the second copy of the
// parameters. A microbatch goes down through chunk 0 of every rank and back up through chunk 1, a V: rank s holds positions s
// and 2p-1-s.
class DualPipeV final : public PipelineSchedule {
 public:
  [[nodiscard]] std::string refusal(const PipelineShape& shape) const override {
    const int p = shape.stages;
    const int m = shape.microbatches;
    if (m < 2 * p) return fmt::format("dualpipe_v needs at least {} microbatches on {} stages, not {}", 2 * p, p, m);
    if (shape.virtual_stages > 2) return "dualpipe_v has two chunks per rank; virtual_stages must be 2";
    if (shape.group != 0) return "dualpipe_v has no groups of microbatches; they are of interleaved_1f1b";
    return {};
  }

  [[nodiscard]] std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const override {
    return dualpipe_order({.half = shape.stages, .from_end = stage, .microbatches = shape.microbatches, .first_chunk = 0});
  }

  [[nodiscard]] int chunks(const PipelineShape&) const override { return 2; }
  [[nodiscard]] ChunkPlace place(const PipelineShape& shape, int stage, int chunk) const override {
    return {chunk == 0 ? stage : 2 * shape.stages - 1 - stage, 2 * shape.stages};
  }
  [[nodiscard]] int stage_at(const PipelineShape& shape, int position, int) const override {
    return position < shape.stages ? position : 2 * shape.stages - 1 - position;
  }
  [[nodiscard]] bool splits_backward() const override { return true; }
};

}  // namespace

namespace builtin {
const Registration<PipelineSchedule> dualpipe_v{
    .name = "dualpipe_v",
    .summary = "dualpipe folded into a V: half the ranks, parameters once",
    .make = [](ParamReader&) -> std::unique_ptr<PipelineSchedule> { return std::make_unique<DualPipeV>(); },
};
}  // namespace builtin

}  // namespace weft::work
