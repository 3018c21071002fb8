#include <fmt/format.h>

#include <memory>

#include "sim/workloads/parallel/schedules/dualpipe_order.h"
#include "sim/workloads/parallel/schedules/v_shaped.h"

namespace weft::work {
namespace {

class DualPipeV final : public VShaped {
 public:
  [[nodiscard]] std::string refusal(const PipelineShape& shape) const override {
    const int p = shape.stages;
    const int m = shape.microbatches;
    if (m < 2 * p) return fmt::format("dualpipe_v needs at least {} microbatches on {} stages, not {}", 2 * p, p, m);
    return chunk_refusal(shape, "dualpipe_v");
  }

  [[nodiscard]] std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const override {
    return dualpipe_order({.half = shape.stages, .from_end = stage, .microbatches = shape.microbatches, .first_chunk = 0});
  }
};

}  // namespace

namespace builtin {
const Registration<PipelineSchedule> dualpipe_v{
    .name = "dualpipe_v",
    .summary = "dualpipe folded into a V: half the ranks, parameters once",
    .make = [](ParamReader&) -> std::unique_ptr<PipelineSchedule> { return std::make_unique<DualPipeV>(); },
    .model = {.assumes = "DualPipe on half as many ranks and without the second copy of the parameters. A microbatch goes "
                         "down through chunk 0 of every rank and back up through chunk 1, a V: rank s holds positions s and "
                         "2p-1-s.",
              .sources = {"DeepSeek's DualPipe repository", "Qi et al., 2024 (cut in half)", "models/workloads §3"}},
};
}  // namespace builtin

}  // namespace weft::work
