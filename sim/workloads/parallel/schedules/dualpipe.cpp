#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/schedules/dualpipe_order.h"

namespace weft::work {
namespace {

class DualPipe final : public PipelineSchedule {
 public:
  [[nodiscard]] std::string refusal(const PipelineShape& shape) const override {
    const int p = shape.stages;
    const int m = shape.microbatches;
    if (p % 2 != 0) return fmt::format("dualpipe runs in both directions and needs an even number of stages, not {}", p);
    if (m % 2 != 0) return fmt::format("dualpipe gives each direction half of the microbatches; {} is odd", m);
    if (m < 2 * p) return fmt::format("dualpipe needs at least {} microbatches on {} stages, not {}", 2 * p, p, m);
    if (shape.virtual_stages != 1) return "dualpipe has one chunk per rank and direction; virtual_stages must be 1";
    if (shape.group != 0) return "dualpipe has no groups of microbatches; they are of interleaved_1f1b";
    return {};
  }

  [[nodiscard]] std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const override {
    const int p = shape.stages;
    return dualpipe_order({.half = p / 2,
                           .from_end = std::min(stage, p - 1 - stage),
                           .microbatches = shape.microbatches / 2,
                           .first_chunk = stage < p / 2 ? 0 : 1});
  }

  [[nodiscard]] int chunks(const PipelineShape&) const override { return 2; }
  [[nodiscard]] int microbatches(const PipelineShape& shape) const override { return shape.microbatches / 2; }
  [[nodiscard]] ChunkPlace place(const PipelineShape& shape, int stage, int chunk) const override {
    return {stage_at(shape, stage, chunk), shape.stages};  // its own inverse
  }
  [[nodiscard]] int stage_at(const PipelineShape& shape, int position, int chunk) const override {
    return chunk == 0 ? position : shape.stages - 1 - position;
  }
  [[nodiscard]] bool splits_backward() const override { return true; }
};

}  // namespace

namespace builtin {
const Registration<PipelineSchedule> dualpipe{
    .name = "dualpipe",
    .summary = "microbatches from both ends, forwards beside backwards; parameters twice",
    .make = [](ParamReader&) -> std::unique_ptr<PipelineSchedule> { return std::make_unique<DualPipe>(); },
    .model = {.assumes = "Half of the microbatches enter at rank 0 (chunk 0), half at the last rank (chunk 1), so each rank "
                         "holds the layers of two positions, s and p-1-s. Forwards of one direction overlap full backwards of "
                         "the other. Idle per rank is (p/2-1)(FB + (B+W) - 3W), with FB the overlapped pair; p+1 microbatches "
                         "are in flight.",
              .sources = {"DeepSeek-V3", "models/workloads §3"}},
};
}  // namespace builtin

}  // namespace weft::work
