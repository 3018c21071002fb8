#include "sim/workloads/training/megatron_experts.h"

#include "sim/workloads/training/megatron_host.h"
#include "sim/workloads/training/megatron_linear.h"

namespace weft::work {
namespace {

void pass(StepEmitter& emit, std::int64_t read, std::int64_t written, std::string_view name) {
  emit.kernel({.kind = KernelKind::kElementwise, .bytes = emit.shapes().width * static_cast<double>(read + written)}, name);
}

std::int64_t halves(const StepEmitter& emit) { return emit.setup().model.gated_mlp ? 2 : 1; }

SplitLinear router(const StepEmitter& emit) {
  return {.kind = TensorKind::kRouter,
          .rows = emit.experts().tokens,
          .in = emit.shapes().hidden,
          .out = emit.setup().model.moe.experts,
          .name = "router"};
}
SplitLinear experts_up(const StepEmitter& emit) {
  const ExpertShapes& x = emit.experts();
  return {.kind = TensorKind::kExpertUp,
          .rows = x.per_expert,
          .in = emit.shapes().hidden,
          .out = halves(emit) * x.ffn,
          .batch = x.local_experts,
          .name = "experts up"};
}
SplitLinear experts_down(const StepEmitter& emit) {
  const ExpertShapes& x = emit.experts();
  return {.kind = TensorKind::kExpertDown,
          .rows = x.per_expert,
          .in = x.ffn,
          .out = emit.shapes().hidden,
          .batch = x.local_experts,
          .name = "experts down"};
}
SplitLinear shared_up(const StepEmitter& emit) {
  return {.kind = TensorKind::kSharedUp,
          .split = Split::kColumn,
          .rows = emit.shapes().tokens,
          .in = emit.shapes().hidden,
          .out = halves(emit) * emit.experts().shared_ffn,
          .name = "shared experts up"};
}
SplitLinear shared_down(const StepEmitter& emit) {
  return {.kind = TensorKind::kSharedDown,
          .split = Split::kRow,
          .rows = emit.shapes().tokens,
          .in = emit.experts().shared_ffn,
          .out = emit.shapes().hidden,
          .name = "shared experts down"};
}

void shared_forward(StepEmitter& emit) {
  if (emit.experts().shared_ffn == 0) return;
  linear_forward(emit, shared_up(emit));
  fused_activation(emit, emit.shapes().tokens * emit.experts().shared_ffn, false);
  linear_forward(emit, shared_down(emit));
}
void shared_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part) {
  if (emit.experts().shared_ffn == 0) return;
  linear_backward(emit, gradients, shared_down(emit), part);
  if (part.input) fused_activation(emit, emit.shapes().tokens * emit.experts().shared_ffn, true);
  linear_backward(emit, gradients, shared_up(emit), part);
}

// Every expert's tensor ranks gather what each of them was sent, and give back sums.
void expert_tensor(StepEmitter& emit, coll::Collective kind, std::string_view name) {
  const std::int64_t rows = emit.experts().sent * emit.setup().plan.expert_tensor_size();
  emit.blocking(GroupSlot::kExpertTensor, kind, Bytes{emit.shapes().activation_bytes(rows * emit.shapes().hidden)}, name);
}

// Dispatch of a forward pass is a combination of the backward pass, and the other way round. What runs beside it is joined
// after.
template <class Beside>
void send_tokens(StepEmitter& emit, Bytes bytes, std::string_view name, const Beside& beside) {
  const OpIndex moved = emit.collective(GroupSlot::kExpert, coll::Collective::kAllToAll, bytes, name);
  const bool overlaps = emit.setup().plan.overlap_expert;
  if (overlaps) beside();
  emit.join(moved);
  if (!overlaps) beside();
}

}  // namespace

void fused_activation(StepEmitter& emit, std::int64_t elements, bool backward, int more) {
  const bool gated = emit.setup().model.gated_mlp;
  // Read and written per output element (models/workloads §1.3).
  const bool compiled = !gated && !emit.setup().flash_attention;  // by torch.jit, before Transformer Engine
  const int tensors = (backward ? (gated ? 5 : 3) : (gated ? 3 : 2)) + more;
  emit.kernel({.kind = compiled ? KernelKind::kStrided : KernelKind::kElementwise,
               .strided = backward ? StridedKind::kGeluBackward : StridedKind::kGelu,
               .elements = compiled ? static_cast<double>(elements) : 0,
               .bytes = emit.shapes().width * static_cast<double>(tensors * elements)},
              backward ? "activation backward" : "activation");
}

void experts_forward(StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const ExpertShapes& x = emit.experts();
  const MixtureOfExperts& moe = emit.setup().model.moe;
  const ParallelPlan& plan = emit.setup().plan;
  const std::int64_t copies = x.sent * s.hidden;
  const std::int64_t received = x.local_experts * x.per_expert * s.hidden;
  megatron_host::router_forward(emit);
  emit.begin_graph(emit.setup().graphs.router);
  linear_forward(emit, router(emit));
  pass(emit, x.tokens * moe.experts * 2, x.tokens * moe.experts, "choose experts");
  emit.end_graph();
  // Two bytes for each expert from every rank (models/workloads §2.7).
  emit.blocking(GroupSlot::kExpert, coll::Collective::kAllGather, Bytes{2 * plan.expert * moe.experts * plan.tensor},
                "all-gather counts");
  megatron_host::dispatch_forward(emit);
  pass(emit, copies, copies, "permute");
  megatron_host::wait_for_counts(emit);
  send_tokens(emit, x.dispatch, "dispatch", [&] { shared_forward(emit); });
  expert_tensor(emit, coll::Collective::kAllGather, "all-gather tokens");
  if (x.local_experts > 1) pass(emit, received, received, "sort by expert");
  megatron_host::experts_forward(emit);
  linear_forward(emit, experts_up(emit));
  megatron_host::grouped_forward(emit);
  fused_activation(emit, x.local_experts * x.per_expert * x.ffn, false);
  linear_forward(emit, experts_down(emit));
  megatron_host::grouped_forward(emit);
  megatron_host::combine_forward(emit);
  if (x.local_experts > 1) pass(emit, received, received, "sort by rank");
  expert_tensor(emit, coll::Collective::kReduceScatter, "reduce-scatter tokens");
  send_tokens(emit, x.combine, "combine", [] {});
  pass(emit, copies, x.tokens * s.hidden, "unpermute");
}

void experts_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part) {
  const RankShapes& s = emit.shapes();
  const ExpertShapes& x = emit.experts();
  const std::int64_t copies = x.sent * s.hidden;
  const std::int64_t received = x.local_experts * x.per_expert * s.hidden;
  megatron_host::combine_backward(emit, part);
  if (part.input) {
    pass(emit, x.tokens * s.hidden + copies, copies, "unpermute backward");
    send_tokens(emit, x.combine, "combine backward", [&] { shared_backward(emit, gradients, part); });
    expert_tensor(emit, coll::Collective::kAllGather, "all-gather tokens");
    if (x.local_experts > 1) pass(emit, received, received, "sort by expert");
  } else {
    shared_backward(emit, gradients, part);
  }
  megatron_host::experts_backward(emit, part);
  linear_backward(emit, gradients, experts_down(emit), part);
  megatron_host::grouped_backward(emit, part);
  if (part.input) fused_activation(emit, x.local_experts * x.per_expert * x.ffn, true);
  linear_backward(emit, gradients, experts_up(emit), part);
  megatron_host::grouped_backward(emit, part);
  if (part.input) {
    megatron_host::dispatch_backward(emit, part);
    if (x.local_experts > 1) pass(emit, received, received, "sort by rank");
    expert_tensor(emit, coll::Collective::kReduceScatter, "reduce-scatter tokens");
    send_tokens(emit, x.dispatch, "dispatch backward", [] {});
    pass(emit, copies, x.tokens * s.hidden, "permute backward");
  }
  megatron_host::router_backward(emit, part);
  emit.begin_graph(emit.setup().graphs.router);
  linear_backward(emit, gradients, router(emit), part);
  emit.end_graph();
}

}  // namespace weft::work
