// Experts as transformers 5 runs them where PyTorch has a grouped product (grouped_mm_experts_forward): copies of tokens are
// sorted by expert, gathered, multiplied, put back and summed. Indices are sorted by small kernels.
#include "sim/workloads/training/huggingface_operators.h"

namespace weft::work {
namespace {

using namespace eager;
using namespace huggingface_parts;

constexpr int kSortKernels = 10;

struct ExpertMatrices {
  Linear router;
  Linear up;
  Linear down;
  std::int64_t copies = 0;  // elements of tokens' copies
};
ExpertMatrices expert_matrices(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const ExpertShapes& x = emit.experts();
  const TransformerModel& model = emit.setup().model;
  return {.router = {.rows = s.tokens, .in = s.hidden, .out = model.moe.experts},
          .up = {.rows = x.per_expert, .in = s.hidden, .out = (model.gated_mlp ? 2 : 1) * x.ffn, .batch = x.local_experts},
          .down = {.rows = x.per_expert, .in = x.ffn, .out = s.hidden, .batch = x.local_experts},
          .copies = x.sent * s.hidden};
}

// Rows of no expert are set to 0, though there are none without expert parallelism: of copies before the first product, and of
// results before and after their weights (three by a profile of transformers 5.17). A gradient is copied for it.
void mask(StepEmitter& emit, std::int64_t elements) { strided(emit, StridedKind::kForward, elements, "mask"); }
void mask_gradient(StepEmitter& emit, std::int64_t elements) {
  contiguous(emit, elements, 2 * emit.shapes().width, "copy gradient");
  mask(emit, elements);
}

// Gathers are undone by scatters that accumulate, each after a sort of its indices.
void scatter(StepEmitter& emit, std::int64_t elements, std::int64_t rows_of) {
  const auto filled = static_cast<double>(rows_of);
  emit.kernel({.kind = KernelKind::kMemset, .elements = filled, .bytes = emit.shapes().width * filled}, "fill");
  several(emit, kSortKernels, "sort indices");
  strided(emit, StridedKind::kStack, elements, "scatter", 3 * emit.shapes().width);
}

}  // namespace

namespace huggingface_parts {

void experts(StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const ExpertShapes& x = emit.experts();
  const ExpertMatrices all = expert_matrices(emit);
  python(emit, 30);
  matmul(emit, all.router, "router");
  several(emit, 7, "route");
  several(emit, kSortKernels + 6, "sort copies by expert");
  of_elements(emit, KernelKind::kEmbeddingForward, all.copies, "gather copies");
  mask(emit, all.copies);
  tiny(emit, "describe groups");
  matmul(emit, all.up, "experts up");
  activation_forward(emit, x.local_experts * x.per_expert * x.ffn);
  tiny(emit, "describe groups");
  matmul(emit, all.down, "experts down");
  mask(emit, all.copies);
  strided(emit, StridedKind::kForward, all.copies, "weigh");
  mask(emit, all.copies);
  several(emit, 3, "invert the order");
  of_elements(emit, KernelKind::kEmbeddingForward, all.copies, "put back");
  elementwise(emit, s.width * static_cast<double>(all.copies + s.tokens * s.hidden), "sum over experts");
}

void experts_gradients(StepEmitter& emit, GradientSync& gradients) {
  const RankShapes& s = emit.shapes();
  const ExpertShapes& x = emit.experts();
  const ExpertMatrices all = expert_matrices(emit);
  const double bytes = s.width * static_cast<double>(all.copies);
  autograd(emit, 40);
  elementwise(emit, bytes, "spread over experts");
  scatter(emit, all.copies, all.copies);
  mask_gradient(emit, all.copies);
  strided(emit, StridedKind::kForward, all.copies, "weigh");
  strided(emit, StridedKind::kForward, all.copies, "multiply");
  elementwise(emit, bytes, "sum over width");
  const auto grouped = [&](const Linear& matrix, std::string_view name) {
    several(emit, 2, "describe groups");
    weight_gradient(emit, matrix, name);
    input_gradient(emit, matrix, name);
  };
  mask_gradient(emit, all.copies);
  grouped(all.down, "experts down");
  gradients.gradient_ready(emit, TensorKind::kExpertDown);
  activation_backward(emit, x.local_experts * x.per_expert * x.ffn);
  grouped(all.up, "experts up");
  gradients.gradient_ready(emit, TensorKind::kExpertUp);
  mask_gradient(emit, all.copies);
  scatter(emit, all.copies, s.tokens * s.hidden);
  several(emit, kSortKernels + 8, "route backward");
  linear_gradients(emit, all.router, {}, "router");
  gradients.gradient_ready(emit, TensorKind::kRouter);
  add(emit, s.tokens * s.hidden);
}

}  // namespace huggingface_parts
}  // namespace weft::work
