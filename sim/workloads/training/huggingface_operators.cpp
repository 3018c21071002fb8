// Models of Hugging Face's transformers as they are, in PyTorch's eager mode: norms in fp32 and not fused, rotary embedding by
// kernels of their own, a matrix each for Q, K, V, gate and up, logits cast to fp32 before the loss. The kernels were read off
// a profile of LlamaForCausalLM (transformers 5.17, PyTorch 2.11, H200) and off the classes of the other families.
//
// The host issues them from Python: an operator or a module costs it an operator's time (gpu.stream.host_operator) beside the
// launches. The backward pass is issued by autograd without Python; a node of it counts as half an operator.
//
// Model: gradients of Q, K and V are announced together, as those of gate and up are: buckets of DDP close a little later.
// Model: a module's operators are one delay of the host, before its first kernel.
#include "sim/workloads/training/huggingface_operators.h"

#include <string>

namespace weft::work {
namespace {

using namespace eager;

// A sum over one dimension of `elements` of this width.
void reduction(StepEmitter& emit, std::int64_t elements, double width, std::string_view name) {
  const auto count = static_cast<double>(elements);
  emit.kernel({.kind = KernelKind::kNormWeightGradient, .elements = count, .bytes = width * count}, name);
}

// A window that is shorter than the sequence comes as a mask: no tile is left out, and keys and values are repeated for the
// heads that share them (transformers' sdpa_attention_forward).
bool is_masked(const StepEmitter& emit, std::int64_t layer) {
  const std::int64_t window = emit.setup().model.window(layer);
  return window > 0 && window < emit.shapes().sequence;
}
Kernel scores(const StepEmitter& emit, KernelKind kind, std::int64_t layer) {
  Kernel kernel = attention_kernel(emit, kind, layer);
  if (is_masked(emit, layer)) {
    kernel.causal = false;
    kernel.window = 0;
  }
  return kernel;
}
bool repeats_heads(const StepEmitter& emit, std::int64_t layer) {
  return is_masked(emit, layer) && emit.shapes().kv_heads < emit.shapes().heads;
}

}  // namespace

namespace huggingface_parts {

void python(StepEmitter& emit, std::int64_t operators) { emit.host_delay(operators, "Python"); }
void several(StepEmitter& emit, int kernels, std::string_view name) {
  for (int i = 0; i < kernels; ++i) tiny(emit, name);
}
void autograd(StepEmitter& emit, std::int64_t nodes) { emit.host_delay((nodes + 1) / 2, "autograd"); }

void contiguous(StepEmitter& emit, std::int64_t elements, double bytes, std::string_view name) {
  elementwise(emit, bytes * static_cast<double>(elements), name);
}

void linear_gradients(StepEmitter& emit, const Linear& linear, BackwardPart part, std::string_view name) {
  autograd(emit, 6);
  if (part.weight) {
    weight_gradient(emit, linear, name);
    if (linear.bias) reduction(emit, linear.rows * linear.out, emit.shapes().width, "bias gradient");
  }
  if (part.input) input_gradient(emit, linear, name);
}

Matrices matrices(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  const bool bias = model.linear_bias || model.qkv_bias;
  return {.query = {.rows = s.tokens, .in = s.hidden, .out = s.heads * model.head_dim, .bias = bias},
          .key = {.rows = s.tokens, .in = s.hidden, .out = s.kv_heads * model.head_dim, .bias = bias},
          .proj = {.rows = s.tokens, .in = s.attention_width, .out = s.hidden, .bias = model.linear_bias}};
}

Heads head_elements(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const std::int64_t d = emit.setup().model.score_dim();
  return {.query = s.tokens * s.heads * d,
          .key = s.tokens * ((emit.setup().model.attention == AttentionKind::kLatent) ? s.heads : s.kv_heads) * d};
}
void attention_scores(StepEmitter& emit, std::int64_t layer) {
  if (repeats_heads(emit, layer)) {
    strided(emit, StridedKind::kCopy, head_elements(emit).query, "repeat keys");
    strided(emit, StridedKind::kCopy, head_elements(emit).query, "repeat values");
  }
  dynamic_counter(emit);
  emit.kernel(scores(emit, KernelKind::kAttentionForward, layer), "attention");
}

void attention_scores_backward(StepEmitter& emit, std::int64_t layer) {
  const RankShapes& s = emit.shapes();
  const Heads heads = head_elements(emit);
  autograd(emit, 4);
  dynamic_counter(emit);
  strided(emit, StridedKind::kAttentionEnds, s.tokens * s.attention_width, "dot of dO and O");
  emit.kernel(scores(emit, KernelKind::kAttentionBackward, layer), "attention backward");
  strided(emit, StridedKind::kAttentionEnds, heads.query, "convert dQ");
  if (heads.key == heads.query) return;
  // Gradients of shared keys and values were made for each query's head.
  for (const std::string_view name : {"sum dK over heads", "sum dV over heads"}) {
    elementwise(emit, s.width * static_cast<double>(heads.query + heads.key), name);
  }
}

}  // namespace huggingface_parts

namespace {

using namespace huggingface_parts;

constexpr double kWide = 4;  // bytes of an element in fp32

bool has_rms_norm(const StepEmitter& emit) { return emit.setup().model.norm == NormKind::kRmsNorm; }

// x -> weight * (x / sqrt(mean(x^2) + eps)), between casts (LlamaRMSNorm); LayerNorm is one kernel of PyTorch's.
void norm(StepEmitter& emit, std::int64_t elements) {
  const double w = emit.shapes().width;
  python(emit, 9);
  if (!has_rms_norm(emit)) return of_elements(emit, KernelKind::kNormForward, elements, "norm");
  strided(emit, StridedKind::kForward, elements, "norm: to fp32", w + kWide);
  contiguous(emit, elements, 2 * kWide, "norm: square");
  reduction(emit, elements, kWide, "norm: mean");
  tiny(emit, "norm: add");
  tiny(emit, "norm: root");
  strided(emit, StridedKind::kForward, elements, "norm: scale", 2 * kWide);
  contiguous(emit, elements, kWide + w, "norm: from fp32");
  strided(emit, StridedKind::kCopy, elements, "norm: weight", 2 * w);
}

void norm_gradients(StepEmitter& emit, std::int64_t elements) {
  const double w = emit.shapes().width;
  autograd(emit, 10);
  if (!has_rms_norm(emit)) {
    of_elements(emit, KernelKind::kNormBackward, elements, "norm backward");
    return of_elements(emit, KernelKind::kNormWeightGradient, elements, "norm weight gradient");
  }
  strided(emit, StridedKind::kCopy, elements, "norm: times weight", 2 * w);
  contiguous(emit, elements, 3 * w, "norm: times input");
  dynamic_counter(emit);
  reduction(emit, elements, w, "norm weight gradient");
  strided(emit, StridedKind::kForward, elements, "norm: to fp32", w + kWide);
  contiguous(emit, elements, 3 * kWide, "norm: times input");
  strided(emit, StridedKind::kForward, elements, "norm: scale", 2 * kWide);
  reduction(emit, elements, kWide, "norm: sum");
  for (int i = 0; i < 3; ++i) tiny(emit, "norm: root backward");
  strided(emit, StridedKind::kCopy, elements, "norm: spread", kWide);
  contiguous(emit, elements, 2 * kWide, "norm: power");
  contiguous(emit, elements, 2 * kWide, "norm: times two");
  contiguous(emit, elements, 3 * kWide, "norm: times gradient");
  contiguous(emit, elements, 3 * kWide, "norm: add");
  contiguous(emit, elements, kWide + w, "norm: from fp32");
}

// Bytes that autograd keeps of a norm: its input in fp32 and what its weight is multiplied with.
std::int64_t kept_by_norm(const StepEmitter& emit, std::int64_t elements) {
  return emit.shapes().activation_bytes(elements) + (has_rms_norm(emit) ? 4 * elements : 0);
}

// x cos + rotate_half(x) sin.
void rotary(StepEmitter& emit, std::int64_t elements) {
  python(emit, 9);
  strided(emit, StridedKind::kForward, elements, "rotary: cosine");
  strided(emit, StridedKind::kCopy, elements / 2, "rotary: negate half");
  strided(emit, StridedKind::kStack, elements, "rotary: join halves");
  strided(emit, StridedKind::kCopy, elements, "rotary: sine");
  strided(emit, StridedKind::kForward, elements, "rotary: add");
}

void rotary_backward(StepEmitter& emit, std::int64_t elements) {
  const auto count = static_cast<double>(elements);
  autograd(emit, 8);
  strided(emit, StridedKind::kForward, elements, "rotary: sine backward");
  strided(emit, StridedKind::kCopy, elements / 2, "rotary: negate half");
  for (int half = 0; half < 2; ++half) {
    emit.kernel({.kind = KernelKind::kMemset, .elements = count, .bytes = emit.shapes().width * count}, "fill");
    strided(emit, StridedKind::kCopy, elements / 2, "rotary: place half");
  }
  add(emit, elements, "rotary: add halves");
  strided(emit, StridedKind::kForward, elements, "rotary: cosine backward");
  strided(emit, StridedKind::kForward, elements, "rotary: add");
}

void linear(StepEmitter& emit, const Linear& linear, std::string_view name) {
  python(emit, 2);
  matmul(emit, linear, name);
}

// Multi-head latent attention: down to the latents, their norms, up to the heads.
struct LatentMatrices {
  Linear query_down;  // rows 0: the query has no latent
  Linear query_up;
  Linear kv_down;
  Linear kv_up;
};
LatentMatrices latent_matrices(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const LatentAttention& latent = emit.setup().model.latent;
  const bool has_latent = latent.query_rank > 0;
  LatentMatrices all;
  if (has_latent) all.query_down = {.rows = s.tokens, .in = s.hidden, .out = latent.query_rank};
  all.query_up = {
      .rows = s.tokens, .in = has_latent ? latent.query_rank : s.hidden, .out = s.heads * (latent.nope_dim + latent.rope_dim)};
  all.kv_down = {.rows = s.tokens, .in = s.hidden, .out = latent.kv_rank + latent.rope_dim};
  all.kv_up = {.rows = s.tokens, .in = latent.kv_rank, .out = s.heads * (latent.nope_dim + latent.value_dim)};
  return all;
}

bool is_latent(const StepEmitter& emit) { return emit.setup().model.attention == AttentionKind::kLatent; }

Heads rotated_elements(const StepEmitter& emit) {
  if (!is_latent(emit)) return head_elements(emit);
  const std::int64_t each = emit.shapes().tokens * emit.setup().model.latent.rope_dim;
  return {.query = each * emit.shapes().heads, .key = each};
}

void project(StepEmitter& emit) {
  const Matrices all = matrices(emit);
  if (!is_latent(emit)) {
    linear(emit, all.query, "query");
    if (emit.setup().model.qk_norm) norm(emit, head_elements(emit).query);
    linear(emit, all.key, "key");
    if (emit.setup().model.qk_norm) norm(emit, head_elements(emit).key);
    return linear(emit, all.key, "value");
  }
  const LatentMatrices latent = latent_matrices(emit);
  if (latent.query_down.rows > 0) {
    linear(emit, latent.query_down, "query down");
    norm(emit, latent.query_down.rows * latent.query_down.out);
  }
  linear(emit, latent.query_up, "query up");
  linear(emit, latent.kv_down, "key and value down");
  norm(emit, latent.kv_up.rows * latent.kv_up.in);
  linear(emit, latent.kv_up, "key and value up");
}

void attention(StepEmitter& emit, std::int64_t layer) {
  const RankShapes& s = emit.shapes();
  python(emit, 10);
  project(emit);
  if (emit.setup().model.learned_positions == 0) {
    rotary(emit, rotated_elements(emit).query);
    rotary(emit, rotated_elements(emit).key);
  }
  if (is_latent(emit)) {
    strided(emit, StridedKind::kStack, head_elements(emit).query, "join parts of queries");
    strided(emit, StridedKind::kStack, head_elements(emit).key, "join parts of keys");
  }
  attention_scores(emit, layer);
  linear(emit, matrices(emit).proj, "proj");
  emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, s.hidden_bytes(), "all-reduce activations");
}

void project_backward(StepEmitter& emit, BackwardPart part) {
  const RankShapes& s = emit.shapes();
  const std::int64_t hidden = s.tokens * s.hidden;
  const Heads heads = head_elements(emit);
  const auto copy = [&](std::int64_t elements) {
    if (part.input) strided(emit, StridedKind::kCopy, elements, "copy to contiguous");
  };
  if (!is_latent(emit)) {
    const Matrices all = matrices(emit);
    const bool norms = emit.setup().model.qk_norm && part.input;
    linear_gradients(emit, all.key, part, "value");
    copy(heads.key);
    if (norms) norm_gradients(emit, heads.key);
    linear_gradients(emit, all.key, part, "key");
    if (part.input) add(emit, hidden);
    copy(heads.query);
    if (norms) norm_gradients(emit, heads.query);
    linear_gradients(emit, all.query, part, "query");
    if (part.input) add(emit, hidden);
    return;
  }
  const LatentMatrices latent = latent_matrices(emit);
  copy(latent.kv_up.rows * latent.kv_up.out);
  linear_gradients(emit, latent.kv_up, part, "key and value up");
  if (part.input) norm_gradients(emit, latent.kv_up.rows * latent.kv_up.in);
  linear_gradients(emit, latent.kv_down, part, "key and value down");
  copy(latent.query_up.rows * latent.query_up.out);
  linear_gradients(emit, latent.query_up, part, "query up");
  if (latent.query_down.rows > 0) {
    if (part.input) norm_gradients(emit, latent.query_down.rows * latent.query_down.out);
    linear_gradients(emit, latent.query_down, part, "query down");
  }
  if (part.input) add(emit, hidden);
}

void attention_gradients(StepEmitter& emit, GradientSync& gradients, std::int64_t layer, BackwardPart part) {
  linear_gradients(emit, matrices(emit).proj, part, "proj");
  if (part.weight) gradients.gradient_ready(emit, TensorKind::kProj);
  if (part.input) {
    const Heads heads = head_elements(emit);
    attention_scores_backward(emit, layer);
    if (is_latent(emit)) {
      strided(emit, StridedKind::kStack, heads.query, "part queries' gradients");
      strided(emit, StridedKind::kStack, heads.key, "part keys' gradients");
    }
    if (emit.setup().model.learned_positions == 0) {
      rotary_backward(emit, rotated_elements(emit).key);
      rotary_backward(emit, rotated_elements(emit).query);
    }
  }
  project_backward(emit, part);
  if (part.weight) gradients.gradient_ready(emit, TensorKind::kQkv);
}

// Gate, up, activation, down: of dense layers and of shared experts.
struct Mlp {
  std::int64_t ffn = 0;
  TensorKind up = TensorKind::kUp;
  TensorKind down = TensorKind::kDown;
};
Linear first_matrix(const StepEmitter& emit, const Mlp& mlp) {
  const RankShapes& s = emit.shapes();
  return {.rows = s.tokens, .in = s.hidden, .out = mlp.ffn, .bias = emit.setup().model.linear_bias};
}
Linear last_matrix(const StepEmitter& emit, const Mlp& mlp) {
  const RankShapes& s = emit.shapes();
  return {.rows = s.tokens, .in = mlp.ffn, .out = s.hidden, .bias = emit.setup().model.linear_bias};
}

void up_forward(StepEmitter& emit, const Mlp& mlp) {
  const std::int64_t elements = emit.shapes().tokens * mlp.ffn;
  const double w = emit.shapes().width;
  const bool gated = emit.setup().model.gated_mlp;
  python(emit, gated ? 4 : 3);
  linear(emit, first_matrix(emit, mlp), gated ? "gate" : "up");
  contiguous(emit, elements, 2 * w, "activation");
  if (!gated) return;
  linear(emit, first_matrix(emit, mlp), "up");
  contiguous(emit, elements, 3 * w, "multiply");
}
void down_forward(StepEmitter& emit, const Mlp& mlp) {
  linear(emit, last_matrix(emit, mlp), "down");
  emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, emit.shapes().hidden_bytes(), "all-reduce activations");
}

void mlp_backward(StepEmitter& emit, GradientSync& gradients, const Mlp& mlp, BackwardPart part) {
  const RankShapes& s = emit.shapes();
  const std::int64_t elements = s.tokens * mlp.ffn;
  const bool gated = emit.setup().model.gated_mlp;
  linear_gradients(emit, last_matrix(emit, mlp), part, "down");
  if (part.weight) gradients.gradient_ready(emit, mlp.down);
  if (part.input) {
    autograd(emit, 2);
    if (gated) {
      contiguous(emit, elements, 3 * s.width, "multiply backward");
      contiguous(emit, elements, 3 * s.width, "multiply backward");
    } else {
      contiguous(emit, elements, 3 * s.width, "activation backward");
    }
  }
  linear_gradients(emit, first_matrix(emit, mlp), part, "up");
  if (gated) {
    if (part.input) contiguous(emit, elements, 3 * s.width, "activation backward");
    linear_gradients(emit, first_matrix(emit, mlp), part, "gate");
    if (part.input) add(emit, s.tokens * s.hidden);
  }
  if (part.weight) gradients.gradient_ready(emit, mlp.up);
}

Mlp dense_mlp(const StepEmitter& emit) { return {.ffn = emit.shapes().ffn}; }
Mlp shared_mlp(const StepEmitter& emit) {
  return {.ffn = emit.experts().shared_ffn, .up = TensorKind::kSharedUp, .down = TensorKind::kSharedDown};
}

}  // namespace

std::string HuggingFace::refusal(const TrainingSetup& setup) const {
  const ParallelPlan& plan = setup.plan;
  const auto other = [&](std::string_view what) { return setup.framework + " has no " + std::string{what} + "; use megatron"; };
  if (setup.lora.rank > 0) return other("adapters (LoRA)");
  if (plan.sequence_parallel) return other("sequence parallelism");
  if (plan.context > 1) return other("context parallelism");
  if (plan.expert > 1) return other("expert parallelism");
  if (plan.overlap_tensor || plan.overlap_expert) return other("overlap of tensor or expert communication");
  if (plan.recompute == Recompute::kSelective) return other("selective recomputation");
  if (plan.recompute == Recompute::kOperators) return other("recomputation by operators");
  if (setup.model.moe.experts > 0 && plan.tensor > 1) return other("experts beside tensor parallelism");
  if (setup.model.parallel_block && setup.model.moe.experts > 0) return other("experts in parallel blocks");
  if (setup.expert_load.capacity_factor > 0) return other("capacity limits of experts");
  if (plan.data_parallelism == DataParallelism::kMegatron || plan.data_parallelism == DataParallelism::kDistributedOptimizer) {
    return setup.framework + " synchronises by ddp or fsdp; use megatron for others";
  }
  if (bytes_per_element(setup.precision.compute) != 2) return other("GEMMs of other precisions than 16 bit");
  return {};
}

void HuggingFace::head_norm(StepEmitter& emit) const { norm(emit, emit.shapes().tokens * emit.shapes().hidden); }
void HuggingFace::head_norm_backward(StepEmitter& emit) const {
  norm_gradients(emit, emit.shapes().tokens * emit.shapes().hidden);
}
std::int64_t HuggingFace::kept_by_head_norm(const StepEmitter& emit) const {
  const std::int64_t elements = emit.shapes().tokens * emit.shapes().hidden;
  return kept_by_norm(emit, elements) + emit.shapes().activation_bytes(elements);
}

// Position ids are compared to see whether sequences are packed, and the host waits for the answer before it issues a layer
// (masking_utils.create_causal_mask); then cosines and sines.
void HuggingFace::embedding_forward(StepEmitter& emit) const {
  python(emit, 20);
  PytorchEager::embedding_forward(emit);
  several(emit, 11, "look for packed sequences");
  emit.host_sync("packed sequences");
  python(emit, 20);
  if (emit.setup().model.learned_positions == 0) several(emit, 9, "cosines and sines");
}

// `again`: recomputed by torch.utils.checkpoint, which stops when all that the backward pass reads is there: before the last
// product, whose output is not among it.
void HuggingFace::forward(StepEmitter& emit, std::int64_t layer, bool again) {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  const std::int64_t elements = s.tokens * s.hidden;
  python(emit, 2);
  norm(emit, elements);
  attention(emit, layer);
  if (!model.parallel_block) {
    add(emit, elements);
    norm(emit, elements);
  }
  if (model.is_moe_layer(layer)) {
    experts(emit);
    if (model.moe.shared_experts > 0) {
      up_forward(emit, shared_mlp(emit));
      if (again) return;
      down_forward(emit, shared_mlp(emit));
      add(emit, elements);
    }
  } else {
    up_forward(emit, dense_mlp(emit));
    if (again) return;
    down_forward(emit, dense_mlp(emit));
  }
  if (again) return;
  python(emit, 2);
  add(emit, elements);
  if (model.parallel_block) add(emit, elements);
}

void HuggingFace::layer_backward(StepEmitter& emit, GradientSync& gradients, std::int64_t layer, BackwardPart part) const {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  const std::int64_t elements = s.tokens * s.hidden;
  const auto reduce = [&] {
    if (part.input) {
      emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, s.hidden_bytes(), "all-reduce gradients of activations");
    }
  };
  const auto before = [&](TensorKind kind) {
    if (!part.input) return;
    norm_gradients(emit, elements);
    add(emit, elements);
    gradients.gradient_ready(emit, kind);
  };
  if (model.is_moe_layer(layer)) {
    if (model.moe.shared_experts > 0) mlp_backward(emit, gradients, shared_mlp(emit), part);
    if (part.input) experts_gradients(emit, gradients);
  } else {
    mlp_backward(emit, gradients, dense_mlp(emit), part);
    reduce();
  }
  if (!model.parallel_block) before(TensorKind::kMlpNorm);
  attention_gradients(emit, gradients, layer, part);
  reduce();
  if (model.parallel_block && part.input) add(emit, elements);
  before(TensorKind::kAttentionNorm);
}

// The host looks at every tensor before it launches; Q, K and V are three, gate and up two.
void HuggingFace::optimizer(StepEmitter& emit, const std::vector<ParameterTensor>& tensors,
                            const GradientSync& gradients) const {
  std::int64_t looked_at = 0;
  for (const ParameterTensor& tensor : tensors) {
    const bool is_first = tensor.kind == TensorKind::kUp || tensor.kind == TensorKind::kSharedUp;
    looked_at += tensor.kind == TensorKind::kQkv ? 3 : is_first && emit.setup().model.gated_mlp ? 2 : 1;
  }
  python(emit, looked_at);
  PytorchEager::optimizer(emit, tensors, gradients);
}

// Autograd keeps of each norm its input in fp32, what its weight is multiplied with, and its output; Q, K and V as
// attention reads them, its output and statistics; gate, SiLU's output, up and their product.
std::int64_t HuggingFace::saved_by_layer(const StepEmitter& emit, std::int64_t layer) const {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  const Heads heads = head_elements(emit);
  const std::int64_t hidden = s.tokens * s.hidden;
  const auto of_mlp = [&](std::int64_t ffn) { return s.tokens * (model.gated_mlp ? 4 : 2) * ffn; };
  const int norms = model.parallel_block ? 1 : 2;
  std::int64_t bytes = norms * kept_by_norm(emit, hidden);
  std::int64_t elements = norms * hidden + heads.query + heads.key + s.tokens * s.attention_width;
  if (is_latent(emit)) {
    const LatentMatrices latent = latent_matrices(emit);
    elements +=
        s.tokens * s.attention_width + latent.kv_up.rows * latent.kv_up.in + latent.query_down.rows * latent.query_down.out;
    bytes += kept_by_norm(emit, latent.kv_up.rows * latent.kv_up.in + latent.query_down.rows * latent.query_down.out);
  } else {
    elements += heads.key;
    if (model.qk_norm) bytes += kept_by_norm(emit, heads.query + heads.key);
  }
  if (repeats_heads(emit, layer)) elements += 2 * (heads.query - heads.key);
  if (model.is_moe_layer(layer)) {
    const ExpertShapes& x = emit.experts();
    elements += x.sent * 2 * s.hidden + x.local_experts * x.per_expert * (model.gated_mlp ? 4 : 2) * x.ffn;
    if (model.moe.shared_experts > 0) elements += of_mlp(x.shared_ffn);
  } else {
    elements += of_mlp(s.ffn);
  }
  return bytes + s.activation_bytes(elements) + 4 * s.tokens * s.heads;
}

const Registration<LayerOperators> huggingface{
    .name = "huggingface",
    .summary = "models of Hugging Face's transformers in eager mode, with DDP or FSDP2",
    .make = [](ParamReader&) -> std::unique_ptr<LayerOperators> { return std::make_unique<HuggingFace>(); },
    .model = {.assumes =
                  "Training steps of transformers' models in PyTorch's eager mode: RMSNorm in fp32 by eight kernels, rotary "
                  "embedding by five each for queries and keys, products apart for Q, K, V, gate and up, norms of queries "
                  "and keys, logits cast to fp32 and a loss that is not fused; SDPA without a mask, or with one where a "
                  "window is shorter than the sequence; experts by grouped products between sorts and gathers; "
                  "checkpointing that stops before a layer's last product; the host's time for each operator, module and "
                  "hook of FSDP2; one wait of the host a microbatch.",
              .leaves_out = {"huggingface: dropout and losses of routers have no kernels",
                             "huggingface: a layer's activations live until its backward pass ends",
                             "huggingface: gradients of Q, K and V, and of gate and up, are announced together",
                             "huggingface: attention by other functions than SDPA, as gpt-oss's with sinks"},
              .sources = {"models/training_steps §3 to §5", "transformers 5.17: modeling_llama.py, integrations/moe.py"},
              .files = {"workloads/training/ddp_sync.cpp", "workloads/training/fsdp_sync.cpp"}},
};

}  // namespace weft::work
