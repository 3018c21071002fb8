#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/schedules/orders.h"

namespace weft::work {
namespace {

class Interleaved final : public PipelineSchedule {
 public:
  [[nodiscard]] std::string refusal(const PipelineShape& shape) const override {
    const int p = shape.stages;
    const int m = shape.microbatches;
    if (shape.virtual_stages < 2) return "interleaved_1f1b needs at least 2 virtual_stages; with one it is 1f1b";
    if (p < 2) return "interleaved_1f1b needs at least 2 pipeline stages";
    const int group = group_of(shape);
    if (group < p) return fmt::format("a group of {} microbatches is smaller than the {} pipeline stages", group, p);
    if (m < group) return fmt::format("{} microbatches do not fill a group of {}", m, group);
    const int rest = m % group;
    if (rest != 0 && rest < p) {
      return fmt::format("{} microbatches in groups of {} leave {}, fewer than the {} pipeline stages", m, group, rest, p);
    }
    return {};
  }

  [[nodiscard]] std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const override {
    const int warmup =
        2 * (shape.stages - stage - 1) + (shape.virtual_stages - 1) * group_of(shape) + (shape.overlap_expert ? 1 : 0);
    return in_turn(table(shape, PipelinePass::kForward), table(shape, PipelinePass::kBackward), warmup, shape.overlap_expert);
  }

 private:
  static int group_of(const PipelineShape& shape) { return shape.group > 0 ? shape.group : shape.stages; }

  // Group by group, chunk by chunk (backwards from the last), microbatch by microbatch.
  static std::vector<PipelineOp> table(const PipelineShape& shape, PipelinePass pass) {
    const int v = shape.virtual_stages;
    const int group = group_of(shape);
    std::vector<PipelineOp> ops;
    for (int first = 0; first < shape.microbatches; first += group) {
      for (int i = 0; i < v; ++i) {
        const int chunk = pass == PipelinePass::kForward ? i : v - 1 - i;
        for (int k = first; k < std::min(first + group, shape.microbatches); ++k) {
          ops.push_back({.pass = pass, .microbatch = k, .chunk = chunk});
        }
      }
    }
    return ops;
  }
};

}  // namespace

namespace builtin {
const Registration<PipelineSchedule> interleaved_1f1b{
    .name = "interleaved_1f1b",
    .summary = "1f1b over v chunks per rank; its bubble over v, v times the messages",
    .make = [](ParamReader&) -> std::unique_ptr<PipelineSchedule> { return std::make_unique<Interleaved>(); },
    .model = {.assumes = "Megatron's order: rank s holds v chunks, chunk c the layers at position c p + s. Idle time is "
                         "1F1B's over v, at the price of v times as many messages. Microbatches go through a chunk in groups, "
                         "of p unless told otherwise. With overlapped experts the warm-up is one forward longer, and each "
                         "forward of the middle runs beside its backward.",
              .sources = {"Narayanan et al., 2021", "models/workloads §3.1"}},
};
}  // namespace builtin

}  // namespace weft::work
