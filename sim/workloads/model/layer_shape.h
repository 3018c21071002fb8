// One layer of a decoder as data: what mixes tokens (a kind of attention, a recurrence, nothing) and what feeds each token
// forward (an MLP, experts, both, nothing). Parameters, FLOPs, bytes of cache and kernels come from it, so that a new family of
// models is a new reading (families/), not new formulas.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::work {

enum class AttentionKind : std::uint8_t {
  kGrouped,     // MHA where kv_heads == heads, GQA and MQA where fewer
  kLatent,      // MLA (DeepSeek): low-rank queries, keys and values
  kLinear,      // lightning attention (MiniMax-01): a state per head, decayed
  kMamba2,      // Mamba-2: a state per head, a convolution before it
  kGatedDelta,  // gated delta rule (Qwen3-Next, Kimi Linear): as kMamba2, and the state corrects itself
  kNone,        // the layer feeds forward only
};
[[nodiscard]] std::string_view to_string(AttentionKind kind);  // "grouped attention", "gated delta attention"
[[nodiscard]] bool is_recurrent(AttentionKind kind);

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
  bool shared_gate = false;        // a scalar gate on the shared experts' output (Qwen2-MoE): h more in the router
  bool expert_bias = false;        // on the matrices of experts (GPT-OSS)
  std::int64_t latent = 0;         // width at which routed experts work, below h (Nemotron-3); 0: h
  std::int64_t empty_experts = 0;  // rows of the router that lead to no expert (LongCat)
  std::int64_t router_extra = 0;   // parameters of the router beyond its matrix and its bias (Gemma 4)

  friend bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;
};

// Sparse attention (DSA, DeepSeek-V3.2): a small attention that chooses the keys that the other one meets.
struct KeyIndex {
  std::int64_t heads = 0;  // 0: none
  std::int64_t dim = 0;
  std::int64_t top_k = 0;     // keys that a query meets
  bool reads_hidden = false;  // its queries are projected from the hidden states, not from the latent ones
  bool is_borrowed = false;   // the choice of an earlier layer: no matrices, no cache of its own

  friend bool operator==(const KeyIndex&, const KeyIndex&) = default;
};

// Recurrent mixers: widths K = key_heads x key_dim and V = value_heads x value_dim, a state of key_dim x value_dim for each
// value head. Mamba-2 calls its groups and its state size key heads and key width.
struct Recurrence {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t conv_kernel = 0;  // of the convolution over 2 K + V channels; 0: none
  bool conv_bias = false;
  // Kimi's delta attention: a decay for each channel of the keys, through a rank; the gate through one, too. 0: a decay for
  // each head, a gate of full rank.
  std::int64_t decay_rank = 0;
  std::int64_t gate_rank = 0;

  [[nodiscard]] std::int64_t keys() const { return key_heads * key_dim; }
  [[nodiscard]] std::int64_t values() const { return value_heads * value_dim; }
  // Columns that the hidden states are projected to, of heads alone: `scalars` for each value head.
  [[nodiscard]] std::int64_t columns(std::int64_t scalars) const {
    const std::int64_t decays = decay_rank > 0 ? decay_rank - value_heads : 0;  // in place of one of the scalars
    return 2 * keys() + values() + (gate_rank > 0 ? gate_rank : values()) + scalars * value_heads + decays;
  }
  [[nodiscard]] std::int64_t channels() const { return 2 * keys() + values(); }
  friend bool operator==(const Recurrence&, const Recurrence&) = default;
};

struct Mixer {
  AttentionKind kind = AttentionKind::kGrouped;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;   // of queries and keys
  std::int64_t value_dim = 0;  // of values
  LatentAttention latent = {};
  Recurrence recurrence = {};
  KeyIndex index = {};
  std::int64_t window = 0;         // keys that a query meets at most; 0: all before it
  std::int64_t chunk = 0;          // queries meet the keys of their own chunk only (Llama 4); 0: none
  std::int64_t gate_width = 0;     // columns of a gate on the output
  std::int64_t norm_elements = 0;  // of norms of queries and keys
  bool keys_are_values = false;    // one projection makes both (Gemma 4)
  bool shares_cache = false;       // keys and values of an earlier layer: none of its own (Gemma 3n)
  bool qkv_bias = false;
  bool output_bias = false;
  bool sinks = false;  // a learned score per head that no key has

  friend bool operator==(const Mixer&, const Mixer&) = default;
  // Widths of one head in the score and in the value product.
  [[nodiscard]] std::int64_t score_width() const {
    return kind == AttentionKind::kLatent ? latent.nope_dim + latent.rope_dim : head_dim;
  }
  [[nodiscard]] std::int64_t value_width() const { return kind == AttentionKind::kLatent ? latent.value_dim : value_dim; }
  // Elements of a cached token, and of a sequence whatever its length.
  [[nodiscard]] std::int64_t cache_elements() const;
  [[nodiscard]] std::int64_t state_elements() const;
};

struct FeedForward {
  std::int64_t ffn = 0;  // of the MLP, beside the experts where there are both; 0: none
  bool is_gated = true;  // three matrices, of experts too
  bool bias = false;     // of the MLP
  MixtureOfExperts moe = {};

  [[nodiscard]] bool is_none() const { return ffn == 0 && moe.experts == 0; }
  [[nodiscard]] std::int64_t matrices() const { return is_gated ? 3 : 2; }
  friend bool operator==(const FeedForward&, const FeedForward&) = default;
};

struct LayerShape {
  Mixer mixer = {};
  FeedForward feed = {};
  std::int64_t norms = 2;  // of the hidden states
  std::int64_t other = 0;  // parameters of no matrix of these
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

}  // namespace weft::work
