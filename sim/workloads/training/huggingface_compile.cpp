// Hugging Face's models with each layer under torch.compile: products and attention stay kernels of their libraries, all
// between them is fused. The kernels are those that Inductor's rules give: a reduction takes in what is computed on its inputs,
// a kernel of elements what is computed on the same elements. What products and attention read is kept, not computed again: it
// would have to be written (ban_recompute_materialized_backward).
// Embedding, last norm, head and loss are not compiled.
#include <string>

#include "sim/workloads/training/huggingface_operators.h"

namespace weft::work {
namespace {

using namespace eager;
using namespace huggingface_parts;

constexpr std::int64_t kCompiledCall = 10;  // operators: guards, the wrapper of autograd

std::int64_t hidden_elements(const StepEmitter& emit) { return emit.shapes().tokens * emit.shapes().hidden; }

Linear first_of_mlp(const StepEmitter& emit) {
  return {.rows = emit.shapes().tokens, .in = emit.shapes().hidden, .out = emit.shapes().ffn};
}
Linear last_of_mlp(const StepEmitter& emit) {
  return {.rows = emit.shapes().tokens, .in = emit.shapes().ffn, .out = emit.shapes().hidden};
}

// A norm that reads `tensors` of its shape and writes one.
void fused_norm(StepEmitter& emit, std::int64_t elements, int tensors) {
  const auto count = static_cast<double>(elements);
  emit.kernel({.kind = KernelKind::kNormForward, .elements = count, .bytes = (tensors + 1) * emit.shapes().width * count},
              "norm");
}
// Its gradient and the sums for its weight, with `gradients` of matrices to add, its `tensors`, and the residual's gradient.
void fused_norm_backward(StepEmitter& emit, std::int64_t elements, int gradients, int tensors) {
  const auto count = static_cast<double>(elements);
  const double each = emit.shapes().width * count;
  emit.kernel({.kind = KernelKind::kNormBackward, .elements = count, .bytes = (gradients + tensors + 2) * each},
              "norm backward");
  emit.kernel({.kind = KernelKind::kNormWeightGradient, .elements = count, .bytes = (gradients + tensors) * each},
              "norm weight gradient");
}

void head_norms(StepEmitter& emit) {
  if (!emit.setup().model.qk_norm) return;
  fused_norm(emit, head_elements(emit).query, 1);
  fused_norm(emit, head_elements(emit).key, 1);
}

void fused_rotary(StepEmitter& emit) {
  if (emit.setup().model.learned_positions > 0) return;
  contiguous(emit, head_elements(emit).query, 2 * emit.shapes().width, "rotary");
  contiguous(emit, head_elements(emit).key, 2 * emit.shapes().width, "rotary");
}

class HuggingFaceCompile final : public HuggingFace {
 public:
  [[nodiscard]] std::string refusal(const TrainingSetup& setup) const override;
  void layer_forward(StepEmitter& emit, std::int64_t layer) const override;
  // A compiled forward pass is one function to checkpointing: it keeps its tensors at its end.
  void layer_again(StepEmitter& emit, std::int64_t layer) const override { layer_forward(emit, layer); }
  void layer_backward(StepEmitter& emit, GradientSync& gradients, std::int64_t layer, BackwardPart part) const override;
  [[nodiscard]] std::int64_t saved_by_layer(const StepEmitter& emit, std::int64_t layer) const override;
};

std::string HuggingFaceCompile::refusal(const TrainingSetup& setup) const {
  const TransformerModel& model = setup.model;
  if (model.moe.experts > 0 || model.parallel_block || model.attention == AttentionKind::kLatent || !model.gated_mlp ||
      model.norm != NormKind::kRmsNorm) {
    return "huggingface_compile has kernels for dense layers in sequence with RMSNorm, grouped heads and gated MLPs; use "
           "huggingface";
  }
  return HuggingFace::refusal(setup);
}

void HuggingFaceCompile::layer_forward(StepEmitter& emit, std::int64_t layer) const {
  const RankShapes& s = emit.shapes();
  const std::int64_t elements = hidden_elements(emit);
  const Matrices all = matrices(emit);
  const auto reduce = [&] {
    emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, s.hidden_bytes(), "all-reduce activations");
  };
  python(emit, kCompiledCall);
  fused_norm(emit, elements, 1);
  matmul(emit, all.query, "query");
  matmul(emit, all.key, "key");
  matmul(emit, all.key, "value");
  head_norms(emit);
  fused_rotary(emit);
  attention_scores(emit, layer);
  matmul(emit, all.proj, "proj");
  reduce();
  fused_norm(emit, elements, 2);
  matmul(emit, first_of_mlp(emit), "gate");
  matmul(emit, first_of_mlp(emit), "up");
  contiguous(emit, s.tokens * s.ffn, 3 * s.width, "activation");
  matmul(emit, last_of_mlp(emit), "down");
  reduce();
  contiguous(emit, elements, 4 * s.width, "add");
}

void HuggingFaceCompile::layer_backward(StepEmitter& emit, GradientSync& gradients, std::int64_t layer,
                                        BackwardPart part) const {
  const RankShapes& s = emit.shapes();
  const std::int64_t elements = hidden_elements(emit);
  const Matrices all = matrices(emit);
  const auto ready = [&](TensorKind kind) {
    if (part.weight) gradients.gradient_ready(emit, kind);
  };
  const auto reduce = [&] {
    if (!part.input) return;
    emit.blocking(GroupSlot::kTensor, coll::Collective::kAllReduce, s.hidden_bytes(), "all-reduce gradients of activations");
  };
  const auto products = [&](const Linear& linear, std::string_view name) {
    if (part.input) input_gradient(emit, linear, name);
    if (part.weight) weight_gradient(emit, linear, name);
  };
  autograd(emit, 2 * kCompiledCall);
  if (part.input) {
    input_gradient(emit, last_of_mlp(emit), "down");
    // Reads the gradient, gate and up, and writes the gradients of both.
    contiguous(emit, s.tokens * s.ffn, 5 * s.width, "activation backward");
  }
  if (part.weight) weight_gradient(emit, last_of_mlp(emit), "down");
  ready(TensorKind::kDown);
  products(first_of_mlp(emit), "up");
  products(first_of_mlp(emit), "gate");
  reduce();
  ready(TensorKind::kUp);
  if (part.input) {
    fused_norm_backward(emit, elements, 2, 2);
    gradients.gradient_ready(emit, TensorKind::kMlpNorm);
  }
  products(all.proj, "proj");
  ready(TensorKind::kProj);
  if (part.input) {
    attention_scores_backward(emit, layer);
    fused_rotary(emit);
    if (emit.setup().model.qk_norm) {
      fused_norm_backward(emit, head_elements(emit).query, 1, 0);
      fused_norm_backward(emit, head_elements(emit).key, 1, 0);
    }
  }
  products(all.key, "value");
  products(all.key, "key");
  products(all.query, "query");
  reduce();
  ready(TensorKind::kQkv);
  if (!part.input) return;
  fused_norm_backward(emit, elements, 3, 1);
  gradients.gradient_ready(emit, TensorKind::kAttentionNorm);
}

// Keeps the layer's input and the output matrix's product, both norms' outputs, Q, K and V as attention reads them, its output
// and statistics, gate, up and the product of both.
std::int64_t HuggingFaceCompile::saved_by_layer(const StepEmitter& emit, std::int64_t layer) const {
  static_cast<void>(layer);
  const RankShapes& s = emit.shapes();
  const Heads heads = head_elements(emit);
  const std::int64_t again = emit.setup().model.qk_norm ? heads.query + heads.key : 0;
  const std::int64_t elements =
      4 * hidden_elements(emit) + heads.query + 2 * heads.key + again + s.tokens * (s.attention_width + 3 * s.ffn);
  return s.activation_bytes(elements) + 4 * s.tokens * (s.heads + 2);
}

}  // namespace

const Registration<LayerOperators> huggingface_compile{
    .name = "huggingface_compile",
    .summary = "models of Hugging Face's transformers, each layer under torch.compile",
    .make = [](ParamReader&) -> std::unique_ptr<LayerOperators> { return std::make_unique<HuggingFaceCompile>(); },
    .model = {.assumes =
                  "As huggingface, with a layer's kernels between its products and attention fused: one for a norm with "
                  "the sums before it, one each for queries' and keys' rotary embedding, one for activation and product; "
                  "backward one for each of these, and one for a norm's weight. "
                  "Embedding, last norm, head and the loss in fp32 are eager.",
              .leaves_out = {"huggingface_compile: compilation itself, and CUDA graphs unless cuda_graph says so"},
              .sources = {"models/training_steps §3 to §5", "Ansel et al., PyTorch 2, ASPLOS 2024"},
              .files = {"workloads/training/huggingface_operators.cpp"}},
};

}  // namespace weft::work
