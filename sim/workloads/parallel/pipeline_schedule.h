// Orders of work in a pipeline: for each stage, which forward and backward of which microbatch and model chunk comes when.
//
//   const auto schedule = pipeline_schedules().find("1f1b")->make(params);
//   for (const PipelineOp& op : schedule->order({.stages = 4, .microbatches = 8}, stage)) ...
//
// An order says nothing about time: the program's dependencies do (workload-models §3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/registry.h"

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
  // The next op of the order runs together with this one (DualPipe's overlapped forward and backward).
  bool with_next = false;
  bool operator==(const PipelineOp&) const = default;
};

struct PipelineShape {
  int stages = 1;          // p: ranks of the pipeline group
  int microbatches = 1;    // m
  int virtual_stages = 1;  // v
};

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
  [[nodiscard]] virtual std::vector<PipelineOp> order(const PipelineShape& shape, int stage) const = 0;
  // Model chunks a rank holds (DualPipe: two, one of each direction).
  [[nodiscard]] virtual int chunks(const PipelineShape& shape) const { return shape.virtual_stages; }
  // By default chunk c of stage s is position c p + s of p v.
  [[nodiscard]] virtual ChunkPlace place(const PipelineShape& shape, int stage, int chunk) const {
    return {chunk * shape.stages + stage, shape.stages * shape.virtual_stages};
  }
  // The stage that holds `position` for microbatches that pass through `chunk` (DualPipe's directions run opposite ways).
  [[nodiscard]] virtual int stage_at(const PipelineShape& shape, int position, int chunk) const {
    static_cast<void>(chunk);
    return position % shape.stages;
  }
  // Input and weight gradients are ops of their own.
  [[nodiscard]] virtual bool splits_backward() const { return false; }
};

[[nodiscard]] const Registry<PipelineSchedule>& pipeline_schedules();

}  // namespace weft::work
