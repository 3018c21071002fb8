#include "sim/workloads/model/families/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/workloads/model/model_checks.h"

namespace weft::work {
namespace {

// One letter too many or too few, or two swapped. Another letter in its place may be another name: o_lora_rank, q_lora_rank.
bool is_slip(const std::string& key, const std::string& name) {
  constexpr std::size_t kShortest = 8;
  if (name.size() < kShortest || edit_distance(key, name) != 1) return false;
  return key.size() != name.size() || std::ranges::is_permutation(key, name);
}

}  // namespace

bool FamilyConfig::has(std::string_view key) const {
  const auto value = params_.node().find(key);
  if (!value) absent_.emplace(key);
  return value && !value->is_null();
}

std::int64_t FamilyConfig::required(std::string_view key, std::int64_t max, std::int64_t min) {
  const auto value = params_.node().find(key);
  if (!value || !value->is_list() || value->size() == 0) return params_.required<std::int64_t>(key, between(min, max));
  // A list says it for each layer.
  const std::vector<std::int64_t> each = params_.required_list<std::int64_t>(key);
  if (each.empty()) return min;
  if (std::ranges::adjacent_find(each, std::ranges::not_equal_to{}) != each.end()) {
    params_.error(key, "differs between layers, which cannot be modelled");
  } else if (each.front() < min || each.front() > max) {
    params_.error(key, fmt::format("expected {} to {}, got {}", min, max, each.front()));
  }
  return std::clamp(each.front(), min, max);
}

std::int64_t FamilyConfig::optional(std::string_view key, std::int64_t otherwise, std::int64_t max, std::int64_t min) {
  return has(key) ? required(key, max, min) : otherwise;
}

std::string_view FamilyConfig::spelling(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (has(key)) return key;
  }
  return *keys.begin();
}

bool FamilyConfig::flag(std::string_view key, bool otherwise) { return has(key) ? params_.required<bool>(key) : otherwise; }

double FamilyConfig::real(std::string_view key, double otherwise, double max) {
  return has(key) ? params_.required<double>(key, between(0.0, max)) : otherwise;
}

std::string FamilyConfig::text(std::string_view key, std::string otherwise) {
  return has(key) ? params_.required<std::string>(key) : std::move(otherwise);
}

std::vector<std::string> FamilyConfig::words(std::string_view key) {
  return has(key) ? params_.required_list<std::string>(key) : std::vector<std::string>{};
}

std::vector<std::int64_t> FamilyConfig::numbers(std::string_view key) {
  return has(key) ? params_.required_list<std::int64_t>(key) : std::vector<std::int64_t>{};
}

void FamilyConfig::finish() {
  for (const auto& [key, declaration] : params_.declared()) {
    if (!params_.node().find(key)) absent_.insert(key);
  }
  for (const std::string& key : params_.node().keys()) {
    if (params_.declared().contains(key)) continue;
    const auto meant = std::ranges::find_if(absent_, [&key](const std::string& name) { return is_slip(key, name); });
    if (meant != absent_.end()) params_.warning(key, "nothing reads this key", fmt::format("did you mean '{}'?", *meant));
    static_cast<void>(params_.optional_raw(key));
  }
  params_.finish();
}

void ModelDraft::each(const std::function<void(LayerShape&, std::int64_t)>& change) {
  for (std::size_t layer = 0; layer < layers.size(); ++layer) change(layers[layer], static_cast<std::int64_t>(layer));
}

void ModelDraft::untimed(std::string what) {
  if (std::ranges::find(model.untimed, what) == model.untimed.end()) model.untimed.push_back(std::move(what));
}

void read_size(FamilyConfig& config, TransformerModel& model, SizeDefaults defaults) {
  const auto size = [&config](std::string_view key, std::int64_t otherwise, std::int64_t max) {
    return otherwise > 0 ? config.optional(key, otherwise, max) : config.required(key, max);
  };
  model.layers = config.required({"num_hidden_layers", "num_layers"}, kMaxLayers);
  model.hidden = config.required("hidden_size", kMaxHidden);
  model.heads = size("num_attention_heads", defaults.heads, kMaxHeads);
  model.vocab = size("vocab_size", defaults.vocab, kMaxVocab);
  model.tied_embedding = config.flag("tie_word_embeddings", defaults.tied);
}

Mixer read_grouped(FamilyConfig& config, TransformerModel& model, AttentionTraits traits) {
  Mixer mixer;
  mixer.heads = model.heads;
  mixer.kv_heads = config.optional({"num_key_value_heads", "num_attention_groups"},
                                   traits.kv_heads > 0 ? traits.kv_heads : model.heads, kMaxHeads);
  const std::string_view head_dim = config.spelling({"head_dim", "attention_head_dim"});
  mixer.head_dim = config.has(head_dim) ? config.required(head_dim, kMaxHeadDim)
                                        : default_head_dim(config.params(), model.hidden, model.heads, "num_attention_heads");
  mixer.value_dim = mixer.head_dim;
  model.kv_heads = mixer.kv_heads;
  mixer.qkv_bias = config.flag("attention_bias", traits.bias);
  mixer.output_bias = config.flag("attention_out_bias", config.has("attention_bias") ? mixer.qkv_bias : traits.output_bias);
  if (traits.norm == QkNorm::kHead) mixer.norm_elements = 2 * mixer.head_dim;
  if (traits.norm == QkNorm::kWidth) mixer.norm_elements = (mixer.heads + mixer.kv_heads) * mixer.head_dim;
  return mixer;
}

Mixer read_latent(FamilyConfig& config, TransformerModel& model) {
  Mixer mixer;
  mixer.kind = AttentionKind::kLatent;
  model.attention = mixer.kind;
  mixer.heads = model.heads;
  mixer.kv_heads = model.heads;
  mixer.latent.query_rank = config.optional("q_lora_rank", 0, kMaxHidden);
  mixer.latent.kv_rank = config.required("kv_lora_rank", kMaxHidden);
  mixer.latent.nope_dim = config.required("qk_nope_head_dim", kMaxHeadDim);
  mixer.latent.rope_dim = config.required("qk_rope_head_dim", kMaxHeadDim);
  mixer.latent.value_dim = config.required("v_head_dim", kMaxHeadDim);
  mixer.norm_elements = mixer.latent.query_rank + mixer.latent.kv_rank;
  return mixer;
}

KeyIndex read_key_index(FamilyConfig& config) {
  KeyIndex index;
  if (!config.has("index_n_heads")) return index;
  index.heads = config.required("index_n_heads", kMaxHeads);
  index.dim = config.required("index_head_dim", kMaxHeadDim);
  index.top_k = config.required("index_topk", kMaxSequence);
  return index;
}

std::int64_t read_ffn(FamilyConfig& config) {
  return config.required({"intermediate_size", "ffn_hidden_size", "dense_intermediate_size"}, kMaxFfn);
}

void fill(ModelDraft& draft, const Mixer& mixer, const FeedForward& feed) {
  draft.layers.assign(static_cast<std::size_t>(std::max<std::int64_t>(draft.model.layers, 0)), LayerShape{mixer, feed});
}

bool read_layer_types(FamilyConfig& config, ModelDraft& draft, std::int64_t window, std::int64_t chunk) {
  const std::vector<std::string> types = config.words("layer_types");
  if (types.empty()) return false;
  for (const std::string& type : types) {
    if (type == "full_attention" || type == "sliding_attention" || (chunk > 0 && type == "chunked_attention")) continue;
    config.params().error("layer_types", fmt::format("cannot model layers of '{}'", type),
                          "sliding_attention and full_attention can be");
    return true;
  }
  // A list that is longer names the layers of prediction modules, too; a shorter one is repeated.
  draft.each([&](LayerShape& layer, std::int64_t i) {
    const std::string& type = types[static_cast<std::size_t>(i) % types.size()];
    layer.mixer.window = type == "sliding_attention" ? window : 0;
    layer.mixer.chunk = type == "chunked_attention" ? chunk : 0;
  });
  return true;
}

void read_windows(FamilyConfig& config, ModelDraft& draft, std::int64_t window, std::int64_t first) {
  if (window == 0 || read_layer_types(config, draft, window)) return;
  draft.each([&](LayerShape& layer, std::int64_t i) { layer.mixer.window = i >= first ? window : 0; });
}

MixtureOfExperts read_experts(FamilyConfig& config, std::initializer_list<std::string_view> expert_ffn) {
  MixtureOfExperts moe;
  moe.experts = config.required({"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"}, kMaxExperts);
  moe.experts_per_token = config.required(
      {"num_experts_per_tok", "experts_per_token", "num_experts_per_token", "moe_topk", "moe_top_k", "top_k_experts", "moe_k"},
      kMaxExperts);
  moe.expert_ffn = config.required(expert_ffn, kMaxFfn);
  return moe;
}

void read_shared_experts(FamilyConfig& config, MixtureOfExperts& moe) {
  const std::string_view width = config.spelling({"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                                                  "share_expert_dim", "shared_intermediate_size"});
  const std::string_view count = config.spelling({"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"});
  const std::int64_t experts = config.optional(count, config.has(width) ? 1 : 0, kMaxSharedExperts, 0);
  std::int64_t all = experts * moe.expert_ffn;
  // The width of all shared experts together, or of the only one.
  if (config.has(width) && experts > 0) all = config.optional(width, 0, kMaxFfn, 0);
  if (moe.expert_ffn <= 0) return;
  if (all % moe.expert_ffn != 0) {
    config.params().error(width, "must be a multiple of 'moe_intermediate_size'");
  } else {
    moe.shared_experts = all / moe.expert_ffn;
  }
}

void read_groups(FamilyConfig& config, MixtureOfExperts& moe) {
  moe.groups = config.optional("n_group", 1, kMaxExperts);
  const std::int64_t groups_per_token = config.optional("topk_group", moe.groups, kMaxExperts);
  moe.groups_per_token = groups_per_token == moe.groups ? 0 : groups_per_token;
}

std::vector<bool> read_expert_layers(FamilyConfig& config, const TransformerModel& model) {
  std::vector<bool> has_experts(static_cast<std::size_t>(std::max<std::int64_t>(model.layers, 0)), true);
  const auto where = [&](const std::function<bool(std::int64_t)>& keep) {
    for (std::size_t i = 0; i < has_experts.size(); ++i) has_experts[i] = has_experts[i] && keep(static_cast<std::int64_t>(i));
  };
  const std::int64_t first = config.optional({"first_k_dense_replace", "num_dense_layers"}, 0, kMaxLayers, 0);
  where([first](std::int64_t i) { return i >= first; });
  const std::int64_t step = config.optional("decoder_sparse_step", 1, kMaxLayers);
  where([step](std::int64_t i) { return (i + 1) % std::max<std::int64_t>(step, 1) == 0; });
  const std::vector<std::int64_t> dense = config.numbers("mlp_only_layers");
  where([&dense](std::int64_t i) { return std::ranges::find(dense, i) == dense.end(); });
  if (const auto freq = config.params().node().find("moe_layer_freq"); freq && freq->is_list()) {
    const std::vector<std::int64_t> flags = config.numbers("moe_layer_freq");
    where([&flags](std::int64_t i) {
      return static_cast<std::size_t>(i) >= flags.size() || flags[static_cast<std::size_t>(i)] != 0;
    });
  } else {
    const std::int64_t every = std::max<std::int64_t>(config.optional("moe_layer_freq", 1, kMaxLayers), 1);
    where([every](std::int64_t i) { return i % every == 0; });
  }
  const std::vector<std::string> kinds = config.words("mlp_layer_types");
  where([&kinds](std::int64_t i) {
    return static_cast<std::size_t>(i) >= kinds.size() || kinds[static_cast<std::size_t>(i)] != "dense";
  });
  if (config.has("moe_layers_enum")) {  // "3,4,5"
    std::vector<std::int64_t> listed;
    std::string text = config.text("moe_layers_enum", "") + ",";
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find(',', at);
      if (const auto number = parse_number(text.substr(at, end - at))) listed.push_back(static_cast<std::int64_t>(*number));
      at = end + 1;
    }
    where([&listed](std::int64_t i) { return std::ranges::find(listed, i) != listed.end(); });
  }
  return has_experts;
}

void place_experts(FamilyConfig& config, ModelDraft& draft, const MixtureOfExperts& moe) {
  draft.model.moe = moe;  // checked even where it is not known which layers have it
  const std::vector<bool> has_experts = read_expert_layers(config, draft.model);
  const bool has_dense = std::ranges::find(has_experts, false) != has_experts.end();
  const std::int64_t ffn =
      has_dense ? config.required({"dense_intermediate_size", "intermediate_size", "ffn_hidden_size"}, kMaxFfn) : 0;
  draft.each([&](LayerShape& layer, std::int64_t i) {
    if (has_experts[static_cast<std::size_t>(i)]) {
      layer.feed.ffn = 0;
      layer.feed.moe = moe;
    } else {
      layer.feed.ffn = ffn;
      layer.feed.moe = {};
    }
  });
}

void read_grouped_experts(FamilyConfig& config, ModelDraft& draft, bool has_router_bias) {
  MixtureOfExperts moe = read_experts(config, {"moe_intermediate_size"});
  moe.router_bias = has_router_bias;
  read_shared_experts(config, moe);
  read_groups(config, moe);
  place_experts(config, draft, moe);
}

void read_prediction(FamilyConfig& config, TransformerModel& model) {
  model.mtp_modules = config.optional({"num_nextn_predict_layers", "mtp_num_hidden_layers"}, 0, kMaxMtpModules, 0);
}

}  // namespace weft::work
