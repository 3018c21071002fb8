// Megatron-LM with its fused kernels: one for norm, for bias and activation, for rotary embedding, for residual and dropout;
// cross entropy in two passes over the logits; weight gradients accumulated by their GEMM; one kernel of the optimizer. Other
// frameworks that fuse differ from it in a few points (FusedStyle).
#include "sim/workloads/training/megatron_operators.h"

#include <string>
#include <utility>
#include <vector>

#include "sim/workloads/model/memory.h"
#include "sim/workloads/training/megatron_attention.h"
#include "sim/workloads/training/megatron_experts.h"
#include "sim/workloads/training/megatron_host.h"
#include "sim/workloads/training/megatron_linear.h"
#include "sim/workloads/training/megatron_modules.h"
#include "sim/workloads/training/optimizer_bytes.h"

namespace weft::work {
namespace {

class Megatron final : public LayerOperators {
 public:
  explicit Megatron(const FusedStyle& style) : style_{style} {}
  [[nodiscard]] std::string refusal(const TrainingSetup& setup) const override;
  [[nodiscard]] FrameworkTraits traits() const override { return style_.traits; }

  void embedding_forward(StepEmitter& emit) const override;
  void layer_forward(StepEmitter& emit, std::int64_t layer) const override { forward(emit, layer, false); }
  void layer_again(StepEmitter& emit, std::int64_t layer) const override {
    forward(emit, layer, style_.stops_recomputing_early);
  }
  void operators_again(StepEmitter& emit, std::int64_t layer) const override;
  void head_forward(StepEmitter& emit) const override;
  void head_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part) const override;
  void layer_backward(StepEmitter& emit, GradientSync& gradients, std::int64_t layer, BackwardPart part) const override;
  void embedding_backward(StepEmitter& emit, GradientSync& gradients) const override;
  void optimizer(StepEmitter& emit, const std::vector<ParameterTensor>& tensors, const GradientSync& gradients) const override;
  [[nodiscard]] std::int64_t saved_by_layer(const StepEmitter& emit, std::int64_t layer) const override;

 private:
  static SplitLinear head(const StepEmitter& emit);
  void forward(StepEmitter& emit, std::int64_t layer, bool without_last_product) const;
  void rotary(StepEmitter& emit, std::string_view name) const;
  [[nodiscard]] bool activates_again_backward(const StepEmitter& emit) const {
    return style_.activation_again_in_backward && emit.setup().plan.recompute == Recompute::kOperators;
  }

  FusedStyle style_;
};

std::string Megatron::refusal(const TrainingSetup& setup) const {
  const ParallelPlan& plan = setup.plan;
  if (setup.model.moe.experts > 0 && plan.tensor > 1 && !plan.sequence_parallel) {
    return "experts beside tensor parallelism need sequence_parallel: each tensor rank routes its own tokens";
  }
  if (plan.sequence_parallel && (setup.batch.micro * setup.batch.sequence / plan.context) % plan.tensor != 0) {
    return "the tokens of a microbatch do not divide by the tensor-parallel ranks";
  }
  if (!setup.flash_attention && plan.context > 1) return "context parallelism needs flash_attention";
  if (setup.transformer_impl == TransformerImpl::kLocal && setup.flash_attention) {
    const TransformerModel& model = setup.model;
    if (plan.context > 1) return "context parallelism needs transformer_impl: transformer_engine";
    if (bytes_per_element(setup.precision.compute) < 2) return "fp8 needs transformer_impl: transformer_engine";
    if (model.moe.experts > 0 || model.attention == AttentionKind::kLatent || model.kv_heads != model.heads) {
      return "transformer_impl: local with flash attention is for dense layers whose heads have keys and values each";
    }
  }
  if (setup.model.parallel_block && setup.model.moe.experts > 0) return "a parallel block has no operators for experts";
  if (plan.context > 1 && plan.context_kind == ContextKind::kUlysses && (setup.model.heads / plan.tensor) % plan.context != 0) {
    return "the heads of a tensor rank do not divide by the context-parallel ranks, as ulysses needs";
  }
  if (setup.model.moe.experts > 0 && plan.fsdp_shard > 0) return "experts cannot be sharded within fsdp_shard";
  if (plan.recompute == Recompute::kOperators && (setup.model.moe.experts > 0 || setup.model.parallel_block ||
                                                  setup.model.attention == AttentionKind::kLatent || !setup.flash_attention)) {
    return "recompute: operators is for dense layers in sequence, grouped heads and flash attention";
  }
  if (setup.lora.rank > 0 && setup.model.moe.experts > 0) return "adapters (LoRA) of experts have no operators";
  return {};
}

SplitLinear qkv(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  return {.kind = TensorKind::kQkv,
          .split = Split::kColumn,
          .rows = s.tokens,
          .in = s.hidden,
          .out = s.qkv_width,
          .lora = "qkv",
          .name = "qkv"};
}
SplitLinear proj(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  return {.kind = TensorKind::kProj,
          .split = Split::kRow,
          .rows = s.tokens,
          .in = s.attention_width,
          .out = s.hidden,
          .lora = "proj",
          .name = "proj"};
}
SplitLinear up(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const std::int64_t halves = emit.setup().model.gated_mlp ? 2 : 1;
  return {.kind = TensorKind::kUp,
          .split = Split::kColumn,
          .rows = s.tokens,
          .in = s.hidden,
          .out = halves * s.ffn,
          .lora = "fc1",
          .name = "up"};
}
SplitLinear down(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  return {.kind = TensorKind::kDown,
          .split = Split::kRow,
          .rows = s.tokens,
          .in = s.ffn,
          .out = s.hidden,
          .lora = "fc2",
          .name = "down"};
}
SplitLinear Megatron::head(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  return {.kind = TensorKind::kHead, .split = Split::kColumn, .rows = s.tokens, .in = s.hidden, .out = s.vocab, .name = "head"};
}

// Latent attention's projections: down to the latents (every tensor rank computes them), up to the heads.
struct LatentLinears {
  SplitLinear down;
  SplitLinear query_up;
  SplitLinear kv_up;
};
LatentLinears latent_linears(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const LatentAttention& latent = emit.setup().model.latent;
  const std::int64_t heads = s.heads;
  const std::int64_t query_in = latent.query_rank > 0 ? latent.query_rank : s.hidden;
  SplitLinear shared = {.kind = TensorKind::kQkv, .rows = s.norm_tokens, .in = s.hidden, .name = "latents down"};
  shared.out = latent.query_rank + latent.kv_rank + latent.rope_dim;
  SplitLinear query = qkv(emit);
  query.in = query_in;
  query.out = heads * (latent.nope_dim + latent.rope_dim);
  query.name = "query up";
  SplitLinear kv = qkv(emit);
  kv.split = Split::kNone;
  kv.in = latent.kv_rank;
  kv.out = heads * (latent.nope_dim + latent.value_dim);
  kv.name = "key and value up";
  return {.down = shared, .query_up = query, .kv_up = kv};
}

void qkv_forward(StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  if (model.attention == AttentionKind::kLatent) {
    const LatentLinears linears = latent_linears(emit);
    linear_forward(emit, linears.down);
    of_elements(emit, KernelKind::kNormForward, s.norm_tokens * (model.latent.query_rank + model.latent.kv_rank),
                "norm of latents");
    linear_forward(emit, linears.query_up);
    linear_forward(emit, linears.kv_up);
  } else {
    linear_forward(emit, qkv(emit));
    bias_of_qkv(emit);
  }
  if (model.qk_norm)
    of_elements(emit, KernelKind::kNormForward, s.tokens * (s.heads + s.kv_heads) * model.head_dim, "norm of queries and keys");
}

std::int64_t rotated(const StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  if (model.attention == AttentionKind::kLatent) return s.tokens * (s.heads + 1) * model.latent.rope_dim;
  return s.tokens * (s.heads + s.kv_heads) * model.head_dim;
}
void Megatron::rotary(StepEmitter& emit, std::string_view name) const {
  if (emit.setup().model.learned_positions > 0) return;
  const double each = style_.rotary_bytes > 0 ? style_.rotary_bytes : 2 * emit.shapes().width;
  elementwise(emit, each * static_cast<double>(rotated(emit)), name);
}

void qkv_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part) {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  if (model.qk_norm && part.input) {
    of_elements(emit, KernelKind::kNormBackward, s.tokens * (s.heads + s.kv_heads) * model.head_dim,
                "norm of queries and keys backward");
  }
  if (model.attention != AttentionKind::kLatent) return linear_backward(emit, gradients, qkv(emit), part);
  // The three matrices are one tensor to gradient synchronisation: it is ready with the last of them.
  class Silent final : public GradientSync {
    void gradient_ready(StepEmitter&, TensorKind) override {}
    void before_optimizer(StepEmitter&) override {}
  } silent;
  const LatentLinears linears = latent_linears(emit);
  linear_backward(emit, silent, linears.kv_up, part);
  linear_backward(emit, silent, linears.query_up, part);
  if (part.input)
    of_elements(emit, KernelKind::kNormBackward, s.norm_tokens * (model.latent.query_rank + model.latent.kv_rank),
                "norm of latents backward");
  linear_backward(emit, gradients, linears.down, part);
}

// Residual, dropout and bias in one kernel, which writes dropout's mask.
void residual(StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  const double mask = emit.setup().model.dropout > 0 ? 1 : 0;
  elementwise(emit, (3 * s.width + mask) * static_cast<double>(s.norm_tokens * s.hidden), "residual");
}
void dropout_backward(StepEmitter& emit) {
  if (emit.setup().model.dropout <= 0) return;
  const RankShapes& s = emit.shapes();
  elementwise(emit, (2 * s.width + 1) * static_cast<double>(s.norm_tokens * s.hidden), "dropout backward");
}
void residual_backward(StepEmitter& emit) {
  const RankShapes& s = emit.shapes();
  elementwise(emit, 3 * s.width * static_cast<double>(s.norm_tokens * s.hidden), "residual");
}
void norm_forward(StepEmitter& emit) {
  of_elements(emit, KernelKind::kNormForward, emit.shapes().norm_tokens * emit.shapes().hidden, "norm");
}
void norm_backward(StepEmitter& emit, GradientSync& gradients, TensorKind kind) {
  const std::int64_t elements = emit.shapes().norm_tokens * emit.shapes().hidden;
  of_elements(emit, KernelKind::kNormBackward, elements, "norm backward");
  if (emit.setup().lora.rank > 0) return;
  of_elements(emit, KernelKind::kNormWeightGradient, elements, "norm weight gradient");
  gradients.gradient_ready(emit, kind);
}

void Megatron::embedding_forward(StepEmitter& emit) const {
  const RankShapes& s = emit.shapes();
  of_elements(emit, KernelKind::kEmbeddingForward, s.tokens * s.hidden, "embedding");
  emit.blocking(GroupSlot::kTensor,
                emit.setup().plan.sequence_parallel ? coll::Collective::kReduceScatter : coll::Collective::kAllReduce,
                s.hidden_bytes(), "reduce embedding");
}

void Megatron::forward(StepEmitter& emit, std::int64_t layer, bool without_last_product) const {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  const bool has_experts = model.is_moe_layer(layer);
  if (has_experts) megatron_host::around_forward(emit);
  emit.begin_graph(emit.setup().graphs.attention);
  norm_forward(emit);
  qkv_forward(emit);
  rotary(emit, "rotary");
  attention_forward(emit, layer);
  if (model.parallel_block) {
    // One gather serves both first matrices, one reduction both last ones.
    SplitLinear first = up(emit);
    first.split = Split::kNone;
    linear_forward(emit, first);
    fused_activation(emit, s.tokens * s.ffn, false);
    SplitLinear partial = proj(emit);
    partial.split = Split::kNone;
    linear_forward(emit, partial);
    emit.end_graph();
    if (without_last_product) return;
    linear_forward(emit, down(emit));
    return residual(emit);
  }
  linear_forward(emit, proj(emit));
  residual(emit);
  emit.end_graph();
  norm_forward(emit);
  if (has_experts) {
    experts_forward(emit);
  } else {
    linear_forward(emit, up(emit));
    fused_activation(emit, s.tokens * s.ffn, false);
    if (without_last_product) return;
    linear_forward(emit, down(emit));
  }
  if (!without_last_product) residual(emit);
}

// Computes again every second of the matrices' products in order (Q, K, V, output, gate, up, down), with what lies between; the
// last one's result is kept. Results that a tensor group reduced are kept too, and those it gathered are gathered again
// (torchtitan's apply_ac, "selective op").
void Megatron::operators_again(StepEmitter& emit, std::int64_t layer) const {
  static_cast<void>(layer);
  const RankShapes& s = emit.shapes();
  norm_forward(emit);
  SplitLinear keys = qkv(emit);
  keys.out = s.kv_heads * emit.setup().model.head_dim;
  keys.name = "keys";
  linear_forward(emit, keys);
  rotary(emit, "rotary");
  SplitLinear partial = proj(emit);
  partial.split = Split::kNone;
  linear_forward(emit, partial);
  residual(emit);
  norm_forward(emit);
  if (emit.setup().model.gated_mlp) {
    SplitLinear second = up(emit);
    second.out = s.ffn;
    linear_forward(emit, second);
  }
  if (!activates_again_backward(emit)) fused_activation(emit, s.tokens * s.ffn, false);
}

void Megatron::layer_backward(StepEmitter& emit, GradientSync& gradients, std::int64_t layer, BackwardPart part) const {
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  const auto attention = [&] {
    if (!part.input) return;
    if (emit.setup().plan.recompute == Recompute::kSelective) attention_forward(emit, layer);
    attention_backward(emit, layer);
    rotary(emit, "rotary backward");
    gradients_of_qkv_to_one(emit);
  };
  if (part.input) dropout_backward(emit);
  if (model.parallel_block) {
    linear_backward(emit, gradients, down(emit), part);
    SplitLinear partial = proj(emit);
    partial.split = Split::kNone;
    linear_backward(emit, gradients, partial, part);
    attention();
    if (part.input) fused_activation(emit, s.tokens * s.ffn, true);
    SplitLinear first = up(emit);
    first.split = Split::kNone;
    linear_backward(emit, gradients, first, part);
    qkv_backward(emit, gradients, part);
  } else {
    if (model.is_moe_layer(layer)) {
      experts_backward(emit, gradients, part);
      megatron_host::around_backward(emit, part);
    } else {
      linear_backward(emit, gradients, down(emit), part);
      if (part.input) fused_activation(emit, s.tokens * s.ffn, true, activates_again_backward(emit) ? 1 : 0);
      linear_backward(emit, gradients, up(emit), part);
    }
    if (part.input) {
      norm_backward(emit, gradients, TensorKind::kMlpNorm);
      residual_backward(emit);
      dropout_backward(emit);
    }
    emit.begin_graph(emit.setup().graphs.attention);
    linear_backward(emit, gradients, proj(emit), part);
    attention();
    qkv_backward(emit, gradients, part);
  }
  if (part.input) {
    bias_gradients(emit, layer);
    norm_backward(emit, gradients, TensorKind::kAttentionNorm);
    residual_backward(emit);
  }
  emit.end_graph();
}

void Megatron::head_forward(StepEmitter& emit) const {
  const RankShapes& s = emit.shapes();
  const std::int64_t logits = s.tokens * s.vocab;
  emit.allocate(2 * s.activation_bytes(s.norm_tokens * s.hidden) + 4 * logits);
  norm_forward(emit);
  linear_forward(emit, head(emit));
  if (!emit.setup().fused_loss) elementwise(emit, 6.0 * static_cast<double>(logits), "cast to fp32");
  emit.kernel({.kind = KernelKind::kSoftmaxLoss, .bytes = (emit.setup().fused_loss ? 6.0 : 8.0) * static_cast<double>(logits)},
              "cross entropy");
  // Vocabulary-parallel: maximum, the target's logit, sum (models/workloads §2.4).
  for (const std::string_view name : {"all-reduce maxima", "all-reduce target logits", "all-reduce sums"}) {
    emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, Bytes{4 * s.tokens}, name);
  }
}

void Megatron::head_backward(StepEmitter& emit, GradientSync& gradients, BackwardPart part) const {
  const RankShapes& s = emit.shapes();
  const std::int64_t logits = s.tokens * s.vocab;
  if (part.input) {
    emit.kernel(
        {.kind = KernelKind::kSoftmaxLoss, .bytes = (emit.setup().fused_loss ? 6.0 : 12.0) * static_cast<double>(logits)},
        "cross entropy backward");
    if (!emit.setup().fused_loss) elementwise(emit, 6.0 * static_cast<double>(logits), "cast to 16 bit");
  }
  linear_backward(emit, gradients, head(emit), part);
  if (part.input) norm_backward(emit, gradients, TensorKind::kFinalNorm);
  if (part.weight) emit.release(2 * s.activation_bytes(s.norm_tokens * s.hidden) + 4 * logits);
}

void Megatron::embedding_backward(StepEmitter& emit, GradientSync& gradients) const {
  if (emit.setup().lora.rank > 0) return;
  const RankShapes& s = emit.shapes();
  const auto table = static_cast<double>(s.vocab * s.hidden);
  if (emit.setup().plan.sequence_parallel) {
    emit.blocking(GroupSlot::kTensor, coll::Collective::kAllGather, s.hidden_bytes(), "all-gather gradients of activations");
  }
  emit.kernel({.kind = KernelKind::kMemset, .elements = table, .bytes = s.width * table}, "fill");
  of_elements(emit, KernelKind::kEmbeddingBackward, s.tokens * s.hidden, "embedding backward");
  elementwise(emit, (s.width + 2 * bytes_per_element(emit.setup().precision.gradients)) * table, "accumulate gradient");
  gradients.gradient_ready(emit, TensorKind::kEmbedding);
}

void Megatron::optimizer(StepEmitter& emit, const std::vector<ParameterTensor>& tensors, const GradientSync& gradients) const {
  double elements = 0;
  for (const ParameterTensor& tensor : tensors) elements += static_cast<double>(tensor.trainable) / gradients.shards(tensor);
  const PrecisionPlan& precision = emit.setup().precision;
  const auto update = [&](double bytes) {
    emit.kernel({.kind = KernelKind::kOptimizer, .elements = elements, .bytes = bytes * elements}, "optimizer");
  };
  const double each = optimizer_bytes(precision, emit.setup().optimizer);
  if (!emit.traits().megatron_modules || !has_cast_masters(precision, emit.setup().optimizer)) return update(each);
  const auto cast = [&](double bytes, std::string_view name) {
    emit.kernel({.kind = KernelKind::kElementwise, .bytes = bytes * elements}, name, Category::kOptimizer);
  };
  const double gradient = bytes_per_element(precision.gradients);
  const double parameter = bytes_per_element(precision.parameters);
  constexpr double kMaster = 4;
  if (gradient < kMaster) cast(gradient + kMaster, "gradients to fp32");
  update(each - gradient + kMaster - parameter);
  cast(kMaster + parameter, "master weights to parameters");
}

// Counts what the backward pass reads; a recomputed layer has all of it again, for a while.
std::int64_t Megatron::saved_by_layer(const StepEmitter& emit, std::int64_t layer) const {
  const TrainingSetup& setup = emit.setup();
  ParallelPlan plan = setup.plan;
  if (plan.recompute == Recompute::kFull || plan.recompute == Recompute::kOperators) plan.recompute = Recompute::kNone;
  const RankShapes& s = emit.shapes();
  const bool whole = style_.traits.keeps_gathered && plan.sequence_parallel;  // inputs of the first matrices of both halves
  return static_cast<std::int64_t>(
             activation_bytes(setup.model, layer, plan, setup.batch, setup.precision, emit.experts().load())) +
         (whole ? 2 * s.activation_bytes((s.tokens - s.norm_tokens) * s.hidden) : 0) + saved_scores(emit);
}

}  // namespace

std::unique_ptr<LayerOperators> fused_operators(const FusedStyle& style) { return std::make_unique<Megatron>(style); }

const Registration<LayerOperators> megatron{
    .name = "megatron",
    .summary = "fused kernels of Megatron-LM and Transformer Engine",
    .make = [](ParamReader&) { return fused_operators({.traits = {.host_of_experts = true, .megatron_modules = true}}); },
    .model =
        {.assumes =
             "Training steps of Megatron-LM, with tensor, sequence, context and expert parallelism: one kernel "
             "each for norm, activation, rotary embedding and residual, cross entropy in two passes, weight "
             "gradients accumulated by their GEMMs in a buffer that is zeroed each step; kernels of their own for gradients of "
             "biases, for values that rotary embedding left behind and gradients of QKV that it took apart, and for casts of "
             "gradients and master weights around Adam; with transformer_impl: local also for QKV's bias and copies around "
             "flash "
             "attention; with flash_attention: false softmax, dropout and GeLU "
             "as before FlashAttention and Transformer Engine; tensor-parallel communication blocks "
             "forward and runs beside the other GEMM backward; gradients and parameters in contiguous buffers and buckets. The "
             "host of "
             "a layer with experts pays for operators, a product and a gradient of each expert among them, and waits for the "
             "counts of "
             "tokens, but for what cuda_graph (the whole) or cuda_graph_modules has.",
         .leaves_out =
             {"megatron: gradients of biases and norm weights are added to their buffers at no cost: they have few bytes",
              "megatron: latent attention's splits and concatenations are not run",
              "megatron: padding of buckets to even shards",
              "megatron: modules of multi-token prediction and dropout of embeddings are not run",
              "overlap_tensor: the collective is cut in two, that which is exposed and the rest; the GEMM stays "
              "whole",
              "context parallelism: causal work is spread exactly evenly",
              "experts: all ranks of an expert group do what the most loaded one does",
              "experts: the host's operators are those of the all-to-all dispatcher, also where DeepEP's or HybridEP's runs; "
              "that "
              "of dense layers pays launches only",
              "experts: with pad_to_capacity: false capacity cuts a power law's loads expert by expert, a stated "
              "imbalance as a whole",
              "experts: copies of a token to one node travel as one where routing is node-limited "
              "or dispatch is per_node"},
         .sources = {"models/workloads §2", "Narayanan et al., 2021", "Korthikanti et al., 2022", "Megatron-core"},
         .files = {"workloads/training/megatron_linear.cpp", "workloads/training/megatron_attention.cpp",
                   "workloads/training/megatron_modules.cpp", "workloads/training/buffer_sync.cpp",
                   "workloads/training/stage_model.h", "workloads/training/megatron_host.h"}},
};

}  // namespace weft::work
