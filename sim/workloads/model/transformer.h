// A transformer as its paper or its Hugging Face config.json describes it: shapes, no weights. What follows from the shapes
// (parameters, FLOPs, bytes) is in parameters.h, flops.h and memory.h; how to read it from a file in model_reader.h.
//
// Symbols as in workload-models: a heads, kv key/value heads, d_h head width, h hidden, f FFN width, L layers, V vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::work {

enum class Precision : std::uint8_t { kFp32, kTf32, kFp16, kBf16, kFp8, kMxfp8, kFp4 };
[[nodiscard]] std::string_view to_string(Precision precision);
// Bytes of one stored element: 4, 4, 2, 2, 1, 1 + 1/32 (a scale for 32 elements), 1/2 + 1/16 (for 16).
[[nodiscard]] double bytes_per_element(Precision precision);

enum class AttentionKind : std::uint8_t {
  kGrouped,  // MHA where kv_heads == heads, GQA and MQA where fewer
  kLatent,   // MLA (DeepSeek): low-rank queries, keys and values
};

enum class NormKind : std::uint8_t { kRmsNorm, kLayerNorm };

struct LatentAttention {
  std::int64_t query_rank = 0;  // r_q; 0: queries are not compressed
  std::int64_t kv_rank = 0;     // r_kv
  std::int64_t nope_dim = 0;    // d_nope: per head, without position
  std::int64_t rope_dim = 0;    // d_rope
  std::int64_t value_dim = 0;   // d_v

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

// Mixture of experts; experts == 0: none.
struct MixtureOfExperts {
  std::int64_t experts = 0;            // E, routed
  std::int64_t experts_per_token = 0;  // k
  std::int64_t shared_experts = 0;     // E_shared
  std::int64_t expert_ffn = 0;         // f_e
  std::int64_t dense_layers = 0;       // the first layers that have a plain MLP instead
  std::int64_t groups = 1;             // of experts, for node-limited routing
  std::int64_t groups_per_token = 0;   // at most this many groups serve one token; 0: no limit
  bool router_bias = false;
  bool shared_gate = false;  // a scalar gate on the shared experts' output (Qwen2-MoE): h more in the router

  friend bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;
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

// LoRA: adapters of `rank` on some matrices; everything else is frozen.
struct LoraAdapters {
  std::int64_t rank = 0;                  // 0: none
  std::vector<std::string> targets = {};  // qkv, proj, fc1, fc2
};

}  // namespace weft::work
