// Schedules whose microbatches go down through chunk 0 of every rank and back up through chunk 1: rank s holds positions s and
// 2p-1-s, so that the turn, the embedding and the head need no message.
#pragma once

#include <string>
#include <string_view>

#include "sim/workloads/parallel/pipeline_schedule.h"

namespace weft::work {

class VShaped : public PipelineSchedule {
 public:
  [[nodiscard]] int chunks(const PipelineShape&) const override { return 2; }
  [[nodiscard]] ChunkPlace place(const PipelineShape& shape, int stage, int chunk) const override {
    return {chunk == 0 ? stage : 2 * shape.stages - 1 - stage, 2 * shape.stages};
  }
  [[nodiscard]] int stage_at(const PipelineShape& shape, int position, int) const override {
    return position < shape.stages ? position : 2 * shape.stages - 1 - position;
  }
  [[nodiscard]] bool splits_backward() const override { return true; }

 protected:
  // Two chunks, whether virtual_stages says so or is left at 1, and no groups.
  [[nodiscard]] static std::string chunk_refusal(const PipelineShape& shape, std::string_view name) {
    if (shape.virtual_stages > 2) return std::string{name} + " has two chunks per rank; virtual_stages must be 2";
    if (shape.group != 0) return std::string{name} + " has no groups of microbatches; they are of interleaved_1f1b";
    return {};
  }
};

}  // namespace weft::work
