#include "sim/workloads/training/megatron_host.h"

namespace weft::work::megatron_host {
namespace {

// A layer in Megatron's manner costs the host 0.88 ms forward and 1.15 ms backward, means of two H100 machines without tensor
// parallelism and recomputation (validate/measured/h100x1_host_pace.json, h100x1_host_pace_later.json). 67 launches of
// device.launch.host_cost are taken off; the rest is in operators of 13 us.
constexpr std::int64_t kAroundForward = 57;
constexpr std::int64_t kAroundBackward = 74;

// Counted in Megatron-LM @ d98e8a6, megatron/core/transformer/moe/router.py: product in fp32 (3), scores (2), auxiliary loss
// (6), forced balance or a bias (1), reshapes (2); backward a node each of products, scores and loss.
constexpr std::int64_t kRouterForward = 14;
constexpr std::int64_t kRouterBackward = 6;
// token_dispatcher.py, MoEAlltoAllTokenDispatcher: preprocess() has 14 sums and views beside its gather. After it five counts
// are copied to the host (6), tokens are permuted (3), they and their weights are sent (2 each) and sorted by expert (2).
constexpr std::int64_t kPreprocess = 14;
constexpr std::int64_t kDispatchForward = 15;
constexpr std::int64_t kDispatchBackward = 9;
constexpr std::int64_t kCombineForward = 7;  // sorted back (2), sent (2), summed (2), reshaped
constexpr std::int64_t kCombineBackward = 6;
// experts.py, TEGroupedMLP: list of counts, weights, padding and its undoing, two modules (2 each), activation (2).
constexpr std::int64_t kExpertsForward = 10;
constexpr std::int64_t kExpertsBackward = 6;
// Transformer Engine 2.9, pytorch/module/grouped_linear.py, for each expert here. Forward: a view of its rows and a product; in
// low precision their cast, and the weight's workspace. Backward: a view and a product; a cast; for its weight a product, a
// stand-in for the gradient, and the hook that tells Megatron's buffers of it.
constexpr std::int64_t kGroupedForward = 2;
constexpr std::int64_t kGroupedForwardCast = 2;
constexpr std::int64_t kGroupedInput = 2;
constexpr std::int64_t kGroupedInputCast = 1;
constexpr std::int64_t kGroupedWeight = 3;

bool counts(const StepEmitter& emit) { return emit.traits().host_of_experts && !emit.setup().cuda_graph; }

void operators(StepEmitter& emit, std::int64_t count, std::string_view name) {
  if (counts(emit) && count > 0) emit.host_delay(count, name);
}

bool casts(const StepEmitter& emit) { return bytes_per_element(emit.setup().precision.compute) < 2; }

// A graph is called by one module.
std::int64_t unless(bool graph, std::int64_t count) { return graph ? 1 : count; }

}  // namespace

void around_forward(StepEmitter& emit) { operators(emit, unless(emit.setup().graphs.attention, kAroundForward), "Python"); }
void router_forward(StepEmitter& emit) {
  operators(emit, unless(emit.setup().graphs.router, kRouterForward + kPreprocess), "Python of the router");
}
void dispatch_forward(StepEmitter& emit) { operators(emit, kDispatchForward, "Python of the dispatch"); }
void experts_forward(StepEmitter& emit) { operators(emit, kExpertsForward, "Python of the experts"); }
void grouped_forward(StepEmitter& emit) {
  const std::int64_t each = kGroupedForward + (casts(emit) ? kGroupedForwardCast : 0);
  operators(emit, each * emit.experts().local_experts, "kernels of the other experts");
}
void combine_forward(StepEmitter& emit) { operators(emit, kCombineForward, "Python of the combination"); }

void around_backward(StepEmitter& emit, BackwardPart part) {
  if (part.input) operators(emit, unless(emit.setup().graphs.attention, kAroundBackward), "autograd");
}
void router_backward(StepEmitter& emit, BackwardPart part) {
  if (part.input) operators(emit, unless(emit.setup().graphs.router, kRouterBackward), "autograd of the router");
}
void dispatch_backward(StepEmitter& emit, BackwardPart part) {
  if (part.input) operators(emit, kDispatchBackward, "autograd of the dispatch");
}
void experts_backward(StepEmitter& emit, BackwardPart part) {
  if (part.input) operators(emit, kExpertsBackward, "autograd of the experts");
}
void grouped_backward(StepEmitter& emit, BackwardPart part) {
  const std::int64_t input = kGroupedInput + (casts(emit) ? kGroupedInputCast : 0);
  const std::int64_t each = (part.input ? input : 0) + (part.weight ? kGroupedWeight : 0);
  operators(emit, each * emit.experts().local_experts, "kernels of the other experts");
}
void combine_backward(StepEmitter& emit, BackwardPart part) {
  if (part.input) operators(emit, kCombineBackward, "autograd of the combination");
}

void wait_for_counts(StepEmitter& emit) {
  if (counts(emit) && emit.setup().expert_load.capacity_factor <= 0) emit.host_sync("counts of tokens");
}

}  // namespace weft::work::megatron_host
