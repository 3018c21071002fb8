// PyTorch in eager mode: every operator is a kernel of its own (models/training_steps §3 to §5). The model is a Llama-like
// block with one matrix for Q, K and V and one for gate and up projection.
#include "sim/workloads/training/eager_operators.h"

#include <algorithm>

#include "sim/workloads/training/eager_kernels.h"
#include "sim/workloads/training/optimizer_bytes.h"

namespace weft::work {
namespace eager {

void tiny(StepEmitter& emit, std::string_view name) {
  constexpr double kTinyBytes = 4096;
  elementwise(emit, kTinyBytes, name);
}

void strided(StepEmitter& emit, StridedKind kind, std::int64_t elements, std::string_view name, double bytes) {
  const auto count = static_cast<double>(elements);
  emit.kernel({.kind = KernelKind::kStrided, .strided = kind, .elements = count, .bytes = bytes * count}, name);
}

void add(StepEmitter& emit, std::int64_t elements, std::string_view name) {
  elementwise(emit, 3.0 * emit.shapes().width * static_cast<double>(elements), name);
}

// `rows` x 2 f -> rows x f, of halves of a chunk; the gradient of both halves is put together again.
void activation_forward(StepEmitter& emit, std::int64_t elements) {
  if (emit.setup().model.gated_mlp) {
    strided(emit, StridedKind::kForward, elements, "silu");
    strided(emit, StridedKind::kForward, elements, "multiply");
  } else {
    elementwise(emit, 2.0 * emit.shapes().width * static_cast<double>(elements), "gelu");
  }
}
void activation_backward(StepEmitter& emit, std::int64_t elements) {
  const double bytes = emit.shapes().width * static_cast<double>(elements);
  if (!emit.setup().model.gated_mlp) {
    elementwise(emit, 3 * bytes, "gelu backward");
    return;
  }
  elementwise(emit, 3 * bytes, "multiply");
  strided(emit, StridedKind::kForward, elements, "multiply");
  strided(emit, StridedKind::kActivationBackward, elements, "silu backward");
  elementwise(emit, 4 * bytes, "concatenate halves");
}

}  // namespace eager

namespace {

using namespace eager;

void eager_attention_forward(StepEmitter& emit, std::int64_t layer) {
  dynamic_counter(emit);
  emit.kernel(attention_kernel(emit, KernelKind::kAttentionForward, layer), "attention");
}

void eager_attention_backward(StepEmitter& emit, std::int64_t layer) {
  const RankShapes& s = emit.shapes();
  dynamic_counter(emit);
  strided(emit, StridedKind::kAttentionEnds, s.tokens * s.attention_width, "dot of dO and O");
  emit.kernel(attention_kernel(emit, KernelKind::kAttentionBackward, layer), "attention backward");
  strided(emit, StridedKind::kAttentionEnds, s.tokens * s.attention_width, "convert dQ");
  strided(emit, StridedKind::kStack, s.tokens * s.qkv_width, "stack dQ, dK, dV");
  strided(emit, StridedKind::kCopy, s.tokens * s.qkv_width, "copy to contiguous");
}

void norm_backward(StepEmitter& emit, std::int64_t elements) {
  of_elements(emit, KernelKind::kNormBackward, elements, "norm backward");
  of_elements(emit, KernelKind::kNormWeightGradient, elements, "norm weight gradient");
}

// One sequence of kernels of the backward pass of a linear layer, and its gradient's announcement.
void linear_backward(StepEmitter& emit, GradientSync& gradients, TensorKind kind, const Linear& linear, BackwardPart part,
                     std::string_view name) {
  if (part.weight) {
    weight_gradient(emit, linear, name);
    if (linear.bias) {
      elementwise(emit, emit.shapes().width * static_cast<double>(linear.rows * linear.out), "bias gradient");
    }
  }
  if (part.input) input_gradient(emit, linear, name);
  if (part.weight) gradients.gradient_ready(emit, kind);
}

}  // namespace

std::string PytorchEager::refusal(const TrainingSetup& setup) const {
  const ParallelPlan& plan = setup.plan;
  const auto other = [](std::string_view what) { return "pytorch_eager has no " + std::string{what} + "; use megatron"; };
  if (setup.model.attention == AttentionKind::kLatent) return other("operators for latent attention");
  if (setup.model.parallel_block) return other("operators for parallel blocks");
  if (setup.model.qk_norm) return other("norms of queries and keys");
  if (setup.model.moe.shared_experts > 0) return other("shared experts");
  if (setup.lora.rank > 0) return other("adapters (LoRA)");
  if (plan.sequence_parallel) return other("sequence parallelism");
  if (plan.context > 1) return other("context parallelism");
  if (plan.overlap_tensor || plan.overlap_expert) return other("overlap of tensor or expert communication");
  if (plan.recompute == Recompute::kSelective) return other("selective recomputation");
  if (plan.recompute == Recompute::kOperators) return other("recomputation by operators");
  if (plan.expert_tensor_size() != plan.tensor && setup.model.moe.experts > 0) return other("tensor parallelism of experts");
  if (setup.model.moe.experts > 0 && plan.tensor > 1) return other("experts beside tensor parallelism");
  if (setup.model.moe.experts > 0 && plan.data_parallelism == DataParallelism::kFsdp) return other("experts under fsdp");
  if (setup.expert_load.capacity_factor > 0) return other("capacity limits of experts");
  if (plan.data_parallelism == DataParallelism::kMegatron || plan.data_parallelism == DataParallelism::kDistributedOptimizer) {
    return "pytorch_eager synchronises by ddp or fsdp; use megatron for others";
  }
  if (bytes_per_element(setup.precision.compute) != 2) return other("GEMMs of other precisions than 16 bit");
  return {};
}

Linear PytorchEager::linear(const StepEmitter& emit, TensorKind kind) {
  const RankShapes& s = emit.shapes();
  const ExpertShapes& x = emit.experts();
  const bool gated = emit.setup().model.gated_mlp;
  const bool bias = emit.setup().model.linear_bias;
  switch (kind) {
    case TensorKind::kQkv:
      return {.rows = s.tokens, .in = s.hidden, .out = s.qkv_width, .bias = bias || emit.setup().model.qkv_bias};
    case TensorKind::kProj:
      return {.rows = s.tokens, .in = s.attention_width, .out = s.hidden, .bias = bias};
    case TensorKind::kUp:
      return {.rows = s.tokens, .in = s.hidden, .out = (gated ? 2 : 1) * s.ffn, .bias = bias};
    case TensorKind::kDown:
      return {.rows = s.tokens, .in = s.ffn, .out = s.hidden, .bias = bias};
    case TensorKind::kRouter:
      return {.rows = s.tokens, .in = s.hidden, .out = emit.setup().model.moe.experts};
    case TensorKind::kExpertUp:
      return {.rows = x.per_expert, .in = s.hidden, .out = (gated ? 2 : 1) * x.ffn, .batch = x.local_experts};
    case TensorKind::kExpertDown:
      return {.rows = x.per_expert, .in = x.ffn, .out = s.hidden, .batch = x.local_experts};
    default:
      return {.rows = s.tokens, .in = s.hidden, .out = emit.setup().model.vocab};
  }
}

void PytorchEager::embedding_forward(StepEmitter& emit) const {
  const std::int64_t elements = emit.shapes().tokens * emit.shapes().hidden;
  of_elements(emit, KernelKind::kEmbeddingForward, elements, "embedding");
  if (emit.setup().model.learned_positions == 0) return;
  of_elements(emit, KernelKind::kEmbeddingForward, elements, "embedding");
  add(emit, elements, "add");
}

void PytorchEager::layer_forward(StepEmitter& emit, std::int64_t layer) const { forward(emit, layer, false); }
void PytorchEager::layer_again(StepEmitter& emit, std::int64_t layer) const { forward(emit, layer, true); }

// `again`: recomputed by torch.utils.checkpoint, which stops when all that the backward pass reads is there: before the last
// product, whose output is not among it.
void PytorchEager::forward(StepEmitter& emit, std::int64_t layer, bool again) {
  const RankShapes& s = emit.shapes();
  const std::int64_t elements = s.tokens * s.hidden;
  of_elements(emit, KernelKind::kNormForward, elements, "norm");
  matmul(emit, linear(emit, TensorKind::kQkv), "qkv");
  eager_attention_forward(emit, layer);
  matmul(emit, linear(emit, TensorKind::kProj), "proj");
  emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, s.hidden_bytes(), "all-reduce activations");
  add(emit, elements, "add");
  of_elements(emit, KernelKind::kNormForward, elements, "norm");
  if (emit.setup().model.is_moe_layer(layer)) {
    experts_forward(emit);
  } else {
    matmul(emit, linear(emit, TensorKind::kUp), "up");
    activation_forward(emit, s.tokens * s.ffn);
    if (again) return;
    matmul(emit, linear(emit, TensorKind::kDown), "down");
    emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, s.hidden_bytes(), "all-reduce activations");
  }
  if (!again) add(emit, elements, "add");
}

// Tokens are repeated for each of their experts, exchanged, put in order of experts, and back.
void PytorchEager::experts_forward(StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const ExpertShapes& x = emit.experts();
  const std::int64_t copies = x.sent * s.hidden;
  matmul(emit, linear(emit, TensorKind::kRouter), "router");
  tiny(emit, "softmax");
  strided(emit, StridedKind::kCopy, copies, "repeat tokens");
  emit.blocking(GroupSlot::kExpert, coll::Collective::kAllToAll, x.dispatch, "dispatch");
  strided(emit, StridedKind::kCopy, copies, "permute");
  matmul(emit, linear(emit, TensorKind::kExpertUp), "experts up");
  activation_forward(emit, x.local_experts * x.per_expert * x.ffn);
  matmul(emit, linear(emit, TensorKind::kExpertDown), "experts down");
  strided(emit, StridedKind::kCopy, copies, "permute");
  emit.blocking(GroupSlot::kExpert, coll::Collective::kAllToAll, x.combine, "combine");
  strided(emit, StridedKind::kForward, copies, "weigh");
  strided(emit, StridedKind::kCopy, copies, "sum over experts");
}

void PytorchEager::experts_backward(StepEmitter& emit, GradientSync& gradients) {
  const RankShapes& s = emit.shapes();
  const ExpertShapes& x = emit.experts();
  const std::int64_t copies = x.sent * s.hidden;
  const double copies_bytes = s.width * static_cast<double>(copies);
  strided(emit, StridedKind::kForward, copies, "weigh");
  strided(emit, StridedKind::kForward, copies, "multiply");
  elementwise(emit, copies_bytes, "sum over width");
  tiny(emit, "fill");
  tiny(emit, "copy");
  emit.blocking(GroupSlot::kExpert, coll::Collective::kAllToAll, x.combine, "combine");
  strided(emit, StridedKind::kCopy, copies, "permute");
  linear_backward(emit, gradients, TensorKind::kExpertDown, linear(emit, TensorKind::kExpertDown), {}, "experts down");
  activation_backward(emit, x.local_experts * x.per_expert * x.ffn);
  linear_backward(emit, gradients, TensorKind::kExpertUp, linear(emit, TensorKind::kExpertUp), {}, "experts up");
  strided(emit, StridedKind::kCopy, copies, "permute");
  emit.blocking(GroupSlot::kExpert, coll::Collective::kAllToAll, x.dispatch, "dispatch");
  strided(emit, StridedKind::kCopy, copies, "sum over experts");
  tiny(emit, "multiply");
  tiny(emit, "softmax backward");
  linear_backward(emit, gradients, TensorKind::kRouter, linear(emit, TensorKind::kRouter), {}, "router");
  add(emit, s.tokens * s.hidden, "add");
}

void PytorchEager::head_norm(StepEmitter& emit) const {
  of_elements(emit, KernelKind::kNormForward, emit.shapes().tokens * emit.shapes().hidden, "norm");
}
void PytorchEager::head_norm_backward(StepEmitter& emit) const {
  norm_backward(emit, emit.shapes().tokens * emit.shapes().hidden);
}
std::int64_t PytorchEager::kept_by_head_norm(const StepEmitter& emit) const {
  return 2 * emit.shapes().activation_bytes(emit.shapes().tokens * emit.shapes().hidden);
}

void PytorchEager::head_forward(StepEmitter& emit) const {
  const RankShapes& s = emit.shapes();
  const std::int64_t logits = s.tokens * emit.setup().model.vocab;
  const auto bytes = static_cast<double>(logits);
  // Kept for the backward pass: the norm's input and output, the fp32 log-probabilities. Pipelines keep the logits, too.
  emit.allocate(kept_by_head_norm(emit) + 4 * logits);
  const std::int64_t transient = s.activation_bytes(logits) + 4 * logits;
  emit.allocate(transient);
  head_norm(emit);
  matmul(emit, linear(emit, TensorKind::kHead), "head");
  if (!emit.setup().fused_loss) strided(emit, StridedKind::kForward, logits, "cast to fp32");
  emit.kernel({.kind = KernelKind::kSoftmaxLoss, .bytes = 8 * bytes}, "log-softmax");
  tiny(emit, "nll");
  const bool keeps = emit.setup().plan.pipeline > 1;
  emit.release(transient - (keeps ? s.activation_bytes(logits) : 0));
}

void PytorchEager::head_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part) const {
  const RankShapes& s = emit.shapes();
  const std::int64_t logits = s.tokens * emit.setup().model.vocab;
  const auto count = static_cast<double>(logits);
  if (part.input) {
    emit.allocate(8 * logits);
    tiny(emit, "fill");
    if (!emit.setup().fused_loss) {
      emit.kernel({.kind = KernelKind::kMemset, .elements = count, .bytes = 4 * count}, "fill");
      tiny(emit, "nll backward");
    }
    emit.kernel({.kind = KernelKind::kSoftmaxLoss, .bytes = 12 * count}, "softmax backward");
    if (!emit.setup().fused_loss) elementwise(emit, 6 * count, "cast to bf16");
    emit.release(12 * logits);
  }
  linear_backward(emit, gradients, TensorKind::kHead, linear(emit, TensorKind::kHead), part, "head");
  if (part.input) head_norm_backward(emit);
  if (part.weight) {
    gradients.gradient_ready(emit, TensorKind::kFinalNorm);
    emit.release(kept_by_head_norm(emit));
  }
}

void PytorchEager::layer_backward(StepEmitter& emit, GradientSync& gradients, std::int64_t layer, BackwardPart part) const {
  const RankShapes& s = emit.shapes();
  const std::int64_t elements = s.tokens * s.hidden;
  const auto reduce = [&] {
    if (part.input) {
      emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, s.hidden_bytes(), "all-reduce gradients of activations");
    }
  };
  if (emit.setup().model.is_moe_layer(layer)) {
    if (part.input) experts_backward(emit, gradients);
  } else {
    linear_backward(emit, gradients, TensorKind::kDown, linear(emit, TensorKind::kDown), part, "down");
    if (part.input) activation_backward(emit, s.tokens * s.ffn);
    linear_backward(emit, gradients, TensorKind::kUp, linear(emit, TensorKind::kUp), part, "up");
    reduce();
  }
  const auto norm = [&](TensorKind kind) {
    if (!part.input) return;
    norm_backward(emit, elements);
    add(emit, elements, "add");
    gradients.gradient_ready(emit, kind);
  };
  norm(TensorKind::kMlpNorm);
  linear_backward(emit, gradients, TensorKind::kProj, linear(emit, TensorKind::kProj), part, "proj");
  if (part.input) eager_attention_backward(emit, layer);
  linear_backward(emit, gradients, TensorKind::kQkv, linear(emit, TensorKind::kQkv), part, "qkv");
  reduce();
  norm(TensorKind::kAttentionNorm);
}

void PytorchEager::embedding_backward(StepEmitter& emit, GradientSync& gradients) const {
  const RankShapes& s = emit.shapes();
  const auto table = static_cast<double>(emit.setup().model.vocab * s.hidden);
  const std::int64_t elements = s.tokens * s.hidden;
  const int tables = emit.setup().model.learned_positions > 0 ? 2 : 1;
  for (int i = 0; i < tables; ++i) {
    // Above 3,072 tokens the indices are sorted first (PyTorch's embedding_dense_backward): 18 small kernels, 10 memsets.
    constexpr std::int64_t kMostUnsorted = 3072;
    const bool sorts = s.tokens > kMostUnsorted;
    if (sorts) {
      for (int k = 0; k < 10; ++k) dynamic_counter(emit);
      for (int k = 0; k < 18; ++k) tiny(emit, "sort indices");
    }
    emit.kernel({.kind = KernelKind::kMemset, .elements = table, .bytes = s.width * table}, "fill");
    if (sorts) {
      of_elements(emit, KernelKind::kEmbeddingBackward, elements / 2, "embedding backward");
      of_elements(emit, KernelKind::kEmbeddingBackward, elements - elements / 2, "embedding backward");
    } else {
      of_elements(emit, KernelKind::kEmbeddingBackward, elements, "embedding backward");
    }
  }
  // A tied head's gradient is there already.
  if (emit.setup().model.tied_embedding && emit.setup().plan.pipeline == 1) elementwise(emit, 3 * s.width * table, "add");
  gradients.gradient_ready(emit, TensorKind::kEmbedding);
}

// A pipeline's last stage puts the logits of all microbatches together, whether anyone reads them or not.
void PytorchEager::after_microbatches(StepEmitter& emit) const {
  const ParallelPlan& plan = emit.setup().plan;
  if (plan.pipeline == 1) return;
  const std::int64_t microbatches = emit.setup().batch.microbatches(plan);
  const std::int64_t all = microbatches * emit.shapes().activation_bytes(emit.shapes().tokens * emit.setup().model.vocab);
  emit.allocate(all);
  elementwise(emit, 2.0 * static_cast<double>(all), "concatenate outputs");
  emit.release(2 * all);
}

void PytorchEager::optimizer(StepEmitter& emit, const std::vector<ParameterTensor>& tensors,
                             const GradientSync& gradients) const {
  const PrecisionPlan& precision = emit.setup().precision;
  std::vector<std::int64_t> shares;
  double from_embedding = 0;
  for (const ParameterTensor& tensor : tensors) {
    shares.push_back(tensor.trainable / gradients.shards(tensor));
    if (tensor.kind == TensorKind::kEmbedding) from_embedding += static_cast<double>(shares.back());
  }
  tiny(emit, "count the step");
  const double per_element = optimizer_bytes(precision, emit.setup().optimizer, emit.setup().momentum);
  const int passes = optimizer_passes(emit.setup().optimizer);
  for (int pass = 0; pass < passes; ++pass) {
    // An embedding's gradient is mostly zeros. It was registered first.
    double done = 0;
    for (const std::int64_t elements : multi_tensor_launches(shares)) {
      const auto n = static_cast<double>(elements);
      done += n;
      emit.kernel({.kind = KernelKind::kOptimizer,
                   .mostly_zero = done <= from_embedding,
                   .elements = n,
                   .bytes = n * per_element / passes},
                  "adam");
    }
  }
}

// Counts what autograd keeps (models/training_steps §3): the inputs of both norms and of all matrices, Q, K and V, both halves
// and SiLU's output. It also keeps attention's and the norms' statistics in fp32.
std::int64_t PytorchEager::saved_by_layer(const StepEmitter& emit, std::int64_t layer) const {
  const RankShapes& s = emit.shapes();
  const bool gated = emit.setup().model.gated_mlp;
  std::int64_t elements = s.tokens * (4 * s.hidden + s.qkv_width + s.attention_width);
  if (emit.setup().model.is_moe_layer(layer)) {
    const ExpertShapes& x = emit.experts();
    // Tokens sent and returned, on the way of the experts and weighed.
    elements += x.sent * 2 * s.hidden + x.local_experts * x.per_expert * ((gated ? 4 : 2) * x.ffn);
  } else {
    elements += s.tokens * (gated ? 4 : 2) * s.ffn;
  }
  return s.activation_bytes(elements) + 4 * s.tokens * (s.heads + 2);
}

const Registration<LayerOperators> pytorch_eager{
    .name = "pytorch_eager",
    .summary = "every operator a kernel of its own, as PyTorch without compilation",
    .make = [](ParamReader&) -> std::unique_ptr<LayerOperators> { return std::make_unique<PytorchEager>(); },
    .model = {.assumes = "Training steps of PyTorch in eager mode: the operators of a gated block with one matrix for Q, K "
                         "and V and one for gate and up projection, unfused loss, gradients scaled and accumulated by "
                         "kernels, Adam in launches of 21 million elements; DDP's buckets in the order of the backward pass, "
                         "FSDP2's units with its copies and streams.",
              .leaves_out = {"pytorch_eager: rotary embedding and dropout have no kernels",
                             "pytorch_eager: a layer's activations live until its backward pass ends",
                             "ddp: old buckets are counted in every step's peak, as they are there once in a run",
                             "fsdp: every microbatch gathers and reduces"},
              .sources = {"models/training_steps §3 to §5", "Li et al., PyTorch Distributed, VLDB 2020",
                          "Zhao et al., PyTorch FSDP, 2023"},
              .files = {"workloads/training/ddp_sync.cpp", "workloads/training/fsdp_sync.cpp"}},
};

}  // namespace weft::work
