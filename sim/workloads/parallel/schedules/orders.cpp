#include "sim/workloads/parallel/schedules/orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace weft::work {

std::vector<PipelineOp> passes(PipelinePass pass, int microbatches) {
  std::vector<PipelineOp> ops;
  for (int i = 0; i < microbatches; ++i) ops.push_back({.pass = pass, .microbatch = i});
  return ops;
}

std::vector<PipelineOp> in_turn(std::span<const PipelineOp> forwards, std::span<const PipelineOp> backwards, int warmup,
                                bool together) {
  const std::size_t first = std::min(static_cast<std::size_t>(warmup), forwards.size());
  std::vector<PipelineOp> order(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < backwards.size(); ++i) {
    if (first + i < forwards.size()) {
      order.push_back(forwards[first + i]);
      order.back().with_next = together;
    }
    order.push_back(backwards[i]);
  }
  return order;
}

std::vector<PipelineOp> with_late_weights(int microbatches, int warmup, int delay) {
  warmup = std::min(warmup, microbatches);
  std::vector<PipelineOp> order = passes(PipelinePass::kForward, warmup);
  for (int i = 0; i < microbatches; ++i) {
    order.push_back({.pass = PipelinePass::kBackwardInput, .microbatch = i});
    if (i >= delay) order.push_back({.pass = PipelinePass::kBackwardWeight, .microbatch = i - delay});
    if (warmup + i < microbatches) order.push_back({.pass = PipelinePass::kForward, .microbatch = warmup + i});
  }
  for (int i = std::max(microbatches - delay, 0); i < microbatches; ++i) {
    order.push_back({.pass = PipelinePass::kBackwardWeight, .microbatch = i});
  }
  return order;
}

std::string one_chunk_refusal(const PipelineShape& shape, std::string_view name) {
  if (shape.virtual_stages != 1) {
    return fmt::format("{} has one chunk per rank; virtual_stages {} needs interleaved_1f1b", name, shape.virtual_stages);
  }
  if (shape.group != 0) return fmt::format("{} has no groups of microbatches; they are of interleaved_1f1b", name);
  if (shape.overlap_expert) {
    return fmt::format(
        "{} leaves no independent microbatch to run beside an expert all-to-all; interleaved_1f1b and dualpipe do", name);
  }
  return {};
}

}  // namespace weft::work
