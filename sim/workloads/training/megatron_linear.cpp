// Model: chunks of an overlapped collective are two, that which is exposed and the rest, and the GEMM stays whole.
#include "sim/workloads/training/megatron_linear.h"

#include <algorithm>
#include <string>

namespace weft::work {
namespace {

bool is_fp8(Precision precision) { return bytes_per_element(precision) < 2; }

void gemm(StepEmitter& emit, const SplitLinear& linear, std::int64_t m, std::int64_t n, std::int64_t k, std::string_view suffix,
          bool weight_gradient) {
  const auto& precision = emit.setup().precision;
  Kernel kernel{.kind = KernelKind::kGemm,
                .precision = linear.kind == TensorKind::kRouter || linear.kind == TensorKind::kHead ? precision.activations
                                                                                                    : precision.compute,
                .m = m,
                .n = n,
                .k = k,
                .batch = linear.batch,
                .weight_gradient = weight_gradient};
  if (weight_gradient) {
    // It adds to the gradients of the micro-batches before: reads and writes them.
    kernel.bytes =
        static_cast<double>(linear.batch) * (bytes_per_element(kernel.precision) * static_cast<double>((m + n) * k) +
                                             2 * bytes_per_element(precision.gradients) * static_cast<double>(m * n));
  }
  emit.kernel(kernel, std::string{linear.name} + std::string{suffix});
}

bool adapted(const StepEmitter& emit, const SplitLinear& linear) {
  const auto& targets = emit.setup().lora.targets;
  return emit.setup().lora.rank > 0 && std::find(targets.begin(), targets.end(), linear.lora) != targets.end();
}

// Two thin matrices beside the frozen one: in x r and r x out.
void adapters(StepEmitter& emit, const SplitLinear& linear, std::string_view suffix, bool weight_gradient) {
  const std::int64_t r = emit.setup().lora.rank;
  SplitLinear adapter = linear;
  adapter.name = "adapter";
  if (weight_gradient) {
    gemm(emit, adapter, linear.out, r, linear.rows, suffix, true);
    gemm(emit, adapter, r, linear.in, linear.rows, suffix, true);
  } else {
    gemm(emit, adapter, linear.rows, r, linear.in, suffix, false);
    gemm(emit, adapter, linear.rows, linear.out, r, suffix, false);
  }
}

bool in_fp8(const StepEmitter& emit, const SplitLinear& linear) {
  return is_fp8(emit.setup().precision.compute) && linear.kind != TensorKind::kRouter && linear.kind != TensorKind::kHead;
}

// FP8 GEMMs read what a cast and transpose has written. With delayed scaling (Transformer Engine) it is fused with the kernels
// before a column-parallel layer, and weights are cast with the optimizer's step. With dynamic scaling the largest element is
// looked for first: of weights and gradients by a pass of their own, of inputs by the kernel that writes them.
struct CastBytes {
  double width = 0;   // of an element
  double narrow = 0;  // once cast
  double inputs = 0;
  double weights = 0;
  double gradients = 0;  // of outputs

  // Read, and written twice: as it is, and transposed.
  [[nodiscard]] double delayed(double elements) const { return (width + 2 * narrow) * elements; }
  [[nodiscard]] double dynamic_operands() const { return (width + narrow) * inputs + (2 * width + narrow) * weights; }
  [[nodiscard]] double dynamic_gradients() const { return (2 * width + 2 * narrow) * gradients; }
};
CastBytes cast_bytes(const StepEmitter& emit, const SplitLinear& linear) {
  return {.width = emit.shapes().width,
          .narrow = bytes_per_element(emit.setup().precision.compute),
          .inputs = static_cast<double>(linear.rows * linear.in * linear.batch),
          .weights = static_cast<double>(linear.in * linear.out * linear.batch),
          .gradients = static_cast<double>(linear.rows * linear.out * linear.batch)};
}
void quantize_forward(StepEmitter& emit, const SplitLinear& linear) {
  if (!in_fp8(emit, linear)) return;
  const CastBytes bytes = cast_bytes(emit, linear);
  if (emit.traits().scales_dynamically) {
    elementwise(emit, bytes.dynamic_operands(), "scale and cast to fp8");
  } else if (linear.split == Split::kRow) {
    elementwise(emit, bytes.delayed(bytes.inputs), "cast to fp8");
  }
}
void quantize_backward(StepEmitter& emit, const SplitLinear& linear) {
  if (!in_fp8(emit, linear)) return;
  const CastBytes bytes = cast_bytes(emit, linear);
  if (emit.traits().scales_dynamically) {
    elementwise(emit, bytes.dynamic_gradients() + bytes.dynamic_operands(), "scale and cast to fp8");
  } else {
    elementwise(emit, bytes.delayed(bytes.gradients), "cast to fp8");
  }
}

// The collective of a whole activation, whatever its rank's part of it: nccl-tests counts the large side.
OpIndex exchange(StepEmitter& emit, coll::Collective kind, Bytes bytes, std::string_view name) {
  return emit.collective(GroupSlot::kTensor, kind, bytes, name);
}

constexpr std::string_view kGather = "all-gather activations";
constexpr std::string_view kScatter = "reduce-scatter activations";
constexpr std::string_view kReduce = "all-reduce activations";

}  // namespace

void linear_forward(StepEmitter& emit, const SplitLinear& linear) {
  const ParallelPlan& plan = emit.setup().plan;
  const Bytes whole = emit.shapes().hidden_bytes();
  const bool overlaps = plan.overlap_tensor && plan.sequence_parallel && emit.groups().has(GroupSlot::kTensor);
  const Bytes exposed = overlaps ? whole / plan.tensor : whole;
  OpIndex beside = kNoOp;
  if (linear.split == Split::kColumn && plan.sequence_parallel) {
    emit.join(exchange(emit, coll::Collective::kAllGather, exposed, kGather));
    if (overlaps) beside = exchange(emit, coll::Collective::kAllGather, whole - exposed, kGather);
  }
  if (linear.split == Split::kRow && overlaps)
    beside = exchange(emit, coll::Collective::kReduceScatter, whole - exposed, kScatter);
  quantize_forward(emit, linear);
  gemm(emit, linear, linear.rows, linear.out, linear.in, "", false);
  if (adapted(emit, linear)) adapters(emit, linear, "", false);
  emit.join(beside);
  if (linear.split != Split::kRow) return;
  if (plan.sequence_parallel) {
    emit.join(exchange(emit, coll::Collective::kReduceScatter, exposed, kScatter));
  } else {
    emit.join(exchange(emit, coll::Collective::kAllReduce, whole, kReduce));
  }
}

void linear_backward(StepEmitter& emit, GradientSync& gradients, const SplitLinear& linear, BackwardPart part) {
  const ParallelPlan& plan = emit.setup().plan;
  const Bytes whole = emit.shapes().hidden_bytes();
  const bool sequence = plan.sequence_parallel;
  const bool column = linear.split == Split::kColumn;
  const bool frozen = emit.setup().lora.rank > 0;
  const bool with_adapters = adapted(emit, linear);
  const bool has_weight = part.weight && (!frozen || with_adapters);
  if (linear.split == Split::kRow && sequence && part.input) {
    emit.join(exchange(emit, coll::Collective::kAllGather, whole, "all-gather gradients of activations"));
  }
  OpIndex input_again = kNoOp;
  if (column && sequence && has_weight && !emit.traits().keeps_gathered)
    input_again = exchange(emit, coll::Collective::kAllGather, whole, kGather);
  if (part.input) {
    quantize_backward(emit, linear);
    gemm(emit, linear, linear.rows, linear.in, linear.out, " dgrad", false);
    if (with_adapters) adapters(emit, linear, " dgrad", false);
  }
  OpIndex reduced = kNoOp;
  if (column && part.input) {
    reduced = sequence ? exchange(emit, coll::Collective::kReduceScatter, whole, "reduce-scatter gradients of activations")
                       : exchange(emit, coll::Collective::kAllReduce, whole, "all-reduce gradients of activations");
  }
  emit.join(input_again);
  if (has_weight) {
    if (!frozen) gemm(emit, linear, linear.out, linear.in, linear.rows, " wgrad", true);
    if (with_adapters) adapters(emit, linear, " wgrad", true);
    gradients.gradient_ready(emit, linear.kind);
  }
  emit.join(reduced);
}

}  // namespace weft::work
