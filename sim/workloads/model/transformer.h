// A transformer as its paper or its Hugging Face config.json describes it: shapes, no weights. What follows from the shapes
// (parameters, FLOPs, bytes) is in parameters.h, flops.h and memory.h; how to read it from a file in model_reader.h.
//
// Symbols as in models/workloads: a heads, kv key/value heads, d_h head width, h hidden, f FFN width, L layers, V vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workloads/model/layer_shape.h"

namespace weft::work {

// kInt8: both operands (W8A8, SmoothQuant). kW8A16, kW4A16: weights alone are integers of 8 or 4 bits (AWQ, GPTQ). Their kernel
// makes them bf16 and computes in that.
enum class Precision : std::uint8_t { kFp32, kTf32, kFp16, kBf16, kFp8, kMxfp8, kFp4, kInt8, kW8A16, kW4A16 };
[[nodiscard]] std::string_view to_string(Precision precision);
// Bytes of one stored element: 4, 4, 2, 2, 1, 1 + 1/32 (a scale for 32 elements), 1/2 + 1/16 (for 16), 1, 1 (a scale for a
// column), 1/2 + 20/1024 (a scale of 16 bits and a zero of 4 for 128). Of the last two: of a weight.
[[nodiscard]] double bytes_per_element(Precision precision);
// Bytes of an element of a product's two operands.
struct OperandBytes {
  double activation = 2;
  double weight = 2;
};
[[nodiscard]] OperandBytes operand_bytes(Precision precision);
// Weights alone are narrow.
[[nodiscard]] bool is_weight_only(Precision precision);
// Weights of layers are integers; embedding and head keep 16 bits.
[[nodiscard]] bool has_integer_weights(Precision precision);

enum class NormKind : std::uint8_t { kRmsNorm, kLayerNorm };

// Weights as a file holds them. Matrices of layers have `bits` an element, scales included.
struct StoredWeights {
  std::string name = {};         // "fp8", "modelopt NVFP4"; empty: 16 bits
  double bits = 0;               // 0: 16
  bool attention = true;         // matrices of attention are stored so, too
  bool shared = true;            // and MLPs beside routed experts
  bool is_block_scaled = false;  // FP8 with a scale for a block
  // Integers: what engines compute their products in.
  std::optional<Precision> served = {};

  friend bool operator==(const StoredWeights&, const StoredWeights&) = default;
};

struct TransformerModel {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  // of kGrouped
  std::int64_t ffn = 0;       // of dense layers
  std::int64_t vocab = 0;
  std::int64_t learned_positions = 0;  // rows of a learned position embedding; 0: rotary or none
  AttentionKind attention = AttentionKind::kGrouped;
  LatentAttention latent = {};
  NormKind norm = NormKind::kRmsNorm;
  bool gated_mlp = true;        // SwiGLU, GeGLU: three matrices instead of two
  bool tied_embedding = false;  // the head is the embedding
  bool linear_bias = false;     // on attention and MLP matrices (GPT-2 and 3)
  bool qkv_bias = false;        // on Q, K and V alone (Qwen2)
  bool qk_norm = false;         // an RMSNorm of head_dim on queries and on keys
  bool parallel_block = false;  // attention and MLP read the same norm and are summed once
  MixtureOfExperts moe = {};
  // Width of the attention window by layer, repeated over the layers: {0} full, {128, 0} alternating. 0: full.
  std::vector<std::int64_t> windows = {0};
  std::int64_t mtp_modules = 0;  // multi-token prediction; counted by mtp_parameters and mtp_forward_flops only
  double dropout = 0;            // more than 0: masks are kept
  bool head_bias = false;        // of the head, an element per word
  // Layers that the fields above do not describe: the shapes that occur, and which of them each layer has. Empty: none, all
  // layers are as above. Read them through layer_shape().
  std::vector<LayerShape> shapes = {};
  std::vector<std::uint16_t> shape_of_layer = {};
  // Layers of one module of multi-token prediction; empty: one like the model's last.
  std::vector<LayerShape> mtp_layers = {};
  StoredWeights stored = {};
  std::vector<std::string> untimed = {};  // parts of the model that take no time here, by name

  [[nodiscard]] bool is_moe_layer(std::int64_t layer) const { return moe.experts > 0 && layer >= moe.dense_layers; }
  [[nodiscard]] std::int64_t window(std::int64_t layer) const {
    return windows[static_cast<std::size_t>(layer) % windows.size()];
  }
  // Widths of one head in the score and in the value product.
  [[nodiscard]] std::int64_t score_dim() const {
    return attention == AttentionKind::kLatent ? latent.nope_dim + latent.rope_dim : head_dim;
  }
  [[nodiscard]] std::int64_t value_dim() const { return attention == AttentionKind::kLatent ? latent.value_dim : head_dim; }
  // Matrices of one MLP or expert.
  [[nodiscard]] std::int64_t mlp_matrices() const { return gated_mlp ? 3 : 2; }

  friend bool operator==(const TransformerModel&, const TransformerModel&) = default;
};

// The shape of a layer, whichever of the fields of `model` say it.
[[nodiscard]] LayerShape layer_shape(const TransformerModel& model, std::int64_t layer);
// The shapes that occur, each once, in the order of their first layers.
[[nodiscard]] std::vector<LayerShape> distinct_shapes(const TransformerModel& model);
// As the fields of the whole model say it.
[[nodiscard]] LayerShape plain_layer_shape(const TransformerModel& model, std::int64_t layer);
// Names of what sets layers apart from those that training has operators for; empty: nothing does.
[[nodiscard]] std::string irregularity(const TransformerModel& model);

// LoRA: adapters of `rank` on some matrices; everything else is frozen.
struct LoraAdapters {
  std::int64_t rank = 0;                  // 0: none
  std::vector<std::string> targets = {};  // qkv, proj, fc1, fc2
};

}  // namespace weft::work
