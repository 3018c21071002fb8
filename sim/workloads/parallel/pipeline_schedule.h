// Orders of work in a pipeline: for each stage, which forward and backward of which microbatch and model chunk comes when.
//
//   const auto schedule = make_pipeline_schedule("1f1b");
//   for (const PipelineOp& op : schedule->order({.stages = 4, .microbatches = 8}, stage)) ...
//
// An order says nothing about time: what an op waits for is in models/workloads §3. Implementations live in
// schedules/, one file each, listed in schedules.def; to add one see sim/README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/registry.h"
#include "sim/workloads/parallel/plan.h"

namespace weft::work {

enum class PipelinePass : std::uint8_t {
  kForward,
  kBackward,        // input and weight gradients
  kBackwardInput,   // B of zero-bubble schedules
  kBackwardWeight,  // W
};

struct PipelineOp {
  PipelinePass pass = PipelinePass::kForward;
  std::int32_t microbatch = 0;  // within its direction
  std::int32_t chunk = 0;  // model chunk of this rank: of interleaved schedules, or DualPipe's direction (0 enters at rank 0)
  // The next op of the order runs together with this one: a forward with a full backward (DualPipe, overlapped experts).
  bool with_next = false;
  bool operator==(const PipelineOp&) const = default;
};

struct PipelineShape {
  int stages = 1;               // p: ranks of the pipeline group
  int microbatches = 1;         // m
  int virtual_stages = 1;       // v
  int group = 0;                // interleaved: microbatches in a row of one chunk; 0: as many as stages
  bool overlap_expert = false;  // expert all-to-all of a forward beside a backward: the two are ops that run together
};
[[nodiscard]] PipelineShape pipeline_shape(const ParallelPlan& plan, const Batch& batch);

// Where a chunk of a rank stands in the model: 0 .. positions - 1 in order of the forward pass.
struct ChunkPlace {
  int position = 0;
  int positions = 1;
};

class PipelineSchedule {
 public:
  virtual ~PipelineSchedule() = default;
  // Why this shape cannot be scheduled so; empty where it can.
  [[nodiscard]] virtual std::string refusal(const PipelineShape& shape) const = 0;
  // The shape must not be refused.
  [[nodiscard]] virtual std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const = 0;
  // Model chunks a rank holds (DualPipe: two, one of each direction).
  [[nodiscard]] virtual int chunks(const PipelineShape& shape) const { return shape.virtual_stages; }
  // Microbatches that pass through one chunk of a rank (DualPipe: half of them, as each direction takes half).
  [[nodiscard]] virtual int microbatches(const PipelineShape& shape) const { return shape.microbatches; }
  // By default chunk c of stage s is position c p + s of p v.
  [[nodiscard]] virtual ChunkPlace place(const PipelineShape& shape, int stage, int chunk) const {
    return {chunk * shape.stages + stage, shape.stages * shape.virtual_stages};
  }
  // The stage that holds `position` for microbatches that pass through `chunk` (DualPipe's directions run opposite ways).
  [[nodiscard]] virtual int stage_at(const PipelineShape& shape, int position, int chunk) const {
    static_cast<void>(chunk);
    return position % shape.stages;
  }
  // The chunk of that stage: the one whose place is `position`.
  [[nodiscard]] int chunk_at(const PipelineShape& shape, int position, int chunk) const;
  // Input and weight gradients are ops of their own, at least of some microbatches.
  [[nodiscard]] virtual bool splits_backward() const { return false; }
};

[[nodiscard]] const Registry<PipelineSchedule>& pipeline_schedules();

// The schedule of that name, which must be registered.
[[nodiscard]] std::unique_ptr<PipelineSchedule> make_pipeline_schedule(std::string_view name);

// The registrations, by the name of their objects.
namespace builtin {
#define WEFT_PIPELINE_SCHEDULE(name) extern const Registration<PipelineSchedule> name;
#include "sim/workloads/parallel/schedules.def"
}  // namespace builtin

}  // namespace weft::work
