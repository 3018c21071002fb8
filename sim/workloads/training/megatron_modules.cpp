// Read off Megatron-LM's sources (23.06 and core_v0.19.0): tensor_parallel/layers.py adds and sums the bias apart,
// FlashSelfAttention of the releases that have it copies Q, K and V, and the context where sequences lie beside one another.
// Transformer Engine's SplitAlongDim concatenates gradients that do not lie in one tensor, and its get_qkv_layout copies what
// has no layout of its list. PyTorch's kernels of a step like this are in validate/measured/h200x2_megatron_profiles.json.
#include "sim/workloads/training/megatron_modules.h"

namespace weft::work {
namespace {

bool has_biases(const StepEmitter& emit) {
  return emit.traits().megatron_modules && emit.setup().model.linear_bias && emit.setup().lora.rank == 0;
}

void by_element(StepEmitter& emit, StridedKind kind, std::int64_t elements, std::string_view name) {
  emit.kernel({.kind = KernelKind::kStrided, .strided = kind, .elements = static_cast<double>(elements)}, name);
}

// Rotary embedding or a norm writes queries and keys anew; values stay where QKV's product wrote them.
bool moves_queries(const TransformerModel& model) { return model.learned_positions == 0 || model.qk_norm; }

// Model: latent attention's own splits and concatenations are not here.
bool splits_one_tensor(const StepEmitter& emit) {
  return emit.traits().megatron_modules && emit.setup().flash_attention &&
         emit.setup().model.attention != AttentionKind::kLatent;
}

}  // namespace

bool runs_local(const TrainingSetup& setup) {
  return setup.transformer_impl == TransformerImpl::kLocal || !setup.flash_attention;
}

void bias_of_qkv(StepEmitter& emit) {
  if (!has_biases(emit) || !runs_local(emit.setup())) return;
  by_element(emit, StridedKind::kForward, emit.shapes().tokens * emit.shapes().qkv_width, "bias of QKV");
}

void bias_gradients(StepEmitter& emit, std::int64_t layer) {
  if (!has_biases(emit)) return;
  const RankShapes& s = emit.shapes();
  const bool dense = !emit.setup().model.is_moe_layer(layer);
  const auto sum = [&](std::int64_t rows, std::int64_t width, std::string_view name) {
    elementwise(emit, s.width * static_cast<double>(rows * width), name);
  };
  if (dense) {
    sum(s.norm_tokens, s.hidden, "bias gradient of down");
    sum(s.tokens, s.ffn, "bias gradient of up");
  }
  sum(s.norm_tokens, s.hidden, "bias gradient of proj");
  if (runs_local(emit.setup())) sum(s.tokens, s.qkv_width, "bias gradient of qkv");
}

void layout_of_qkv(StepEmitter& emit) {
  if (!splits_one_tensor(emit)) return;
  const RankShapes& s = emit.shapes();
  const TransformerModel& model = emit.setup().model;
  if (runs_local(emit.setup())) return by_element(emit, StridedKind::kCopy, s.tokens * s.qkv_width, "QKV to contiguous");
  if (moves_queries(model)) {
    by_element(emit, StridedKind::kCopy, s.tokens * s.kv_heads * model.value_dim(), "values to contiguous");
  } else if (model.kv_heads != model.heads) {
    by_element(emit, StridedKind::kCopy, s.tokens * s.qkv_width, "QKV to contiguous");
  }
}

// FlashAttention has a sequence's tokens one after the other, Megatron-LM a token of every sequence.
bool transposes_context(const StepEmitter& emit) {
  return splits_one_tensor(emit) && runs_local(emit.setup()) && emit.shapes().sequences > 1;
}
void layout_of_context(StepEmitter& emit) {
  if (!transposes_context(emit)) return;
  by_element(emit, StridedKind::kCopy, emit.shapes().tokens * emit.shapes().attention_width, "context to contiguous");
}
void gradient_layout_of_context(StepEmitter& emit) {
  if (!transposes_context(emit)) return;
  by_element(emit, StridedKind::kCopy, emit.shapes().tokens * emit.shapes().attention_width,
             "gradient of context to contiguous");
}

void gradients_of_qkv_to_one(StepEmitter& emit) {
  const TransformerModel& model = emit.setup().model;
  if (!splits_one_tensor(emit)) return;
  if (!runs_local(emit.setup()) && !moves_queries(model) && model.kv_heads == model.heads) return;
  by_element(emit, StridedKind::kStack, emit.shapes().tokens * emit.shapes().qkv_width, "gradients of QKV to one");
}

}  // namespace weft::work
