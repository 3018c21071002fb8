#include "sim/workloads/model/huggingface_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/workloads/model/model_checks.h"

namespace weft::work {
namespace {

// A ParamReader for which `null` is as good as absent.
class Config {
 public:
  Config(const ConfigNode& root, Diagnostics& diagnostics) : params_{root, diagnostics} {}

  [[nodiscard]] bool has(std::string_view key) const {
    const auto value = params_.node().find(key);
    return value && !value->is_null();
  }
  std::int64_t required(std::string_view key, std::int64_t max, std::int64_t min = 1) {
    return params_.required<std::int64_t>(key, between(min, max));
  }
  std::int64_t optional(std::string_view key, std::int64_t otherwise, std::int64_t max, std::int64_t min = 1) {
    return has(key) ? required(key, max, min) : otherwise;
  }
  bool flag(std::string_view key, bool otherwise) { return has(key) ? params_.required<bool>(key) : otherwise; }
  double real(std::string_view key, double otherwise, double max) {
    return has(key) ? params_.required<double>(key, between(0.0, max)) : otherwise;
  }
  std::string text(std::string_view key, std::string otherwise) {
    return has(key) ? params_.required<std::string>(key) : std::move(otherwise);
  }
  // What we can only read one way.
  void expect(std::string_view key, std::int64_t value) {
    const std::int64_t written = optional(key, value, kMaxLayers, 0);
    if (written != value) params_.error(key, fmt::format("only {} can be modelled, got {}", value, written));
  }
  [[nodiscard]] ParamReader& params() { return params_; }

  void finish() {
    for (const std::string& key : params_.node().keys()) {
      if (!params_.declared().contains(key)) static_cast<void>(params_.optional_raw(key));
    }
    params_.finish();
  }

 private:
  ParamReader params_;
};

// The shortest list that repeats to `windows`.
std::vector<std::int64_t> shortest_period(std::vector<std::int64_t> windows) {
  for (std::size_t period = 1; period < windows.size(); ++period) {
    bool repeats = true;
    for (std::size_t i = period; i < windows.size(); ++i) repeats = repeats && windows[i] == windows[i - period];
    if (repeats) windows.resize(period);
  }
  return windows;
}

// `layer_types` says of each layer whether it slides; without it the first `full_layers` do not.
void read_windows(Config& config, std::int64_t window, std::int64_t full_layers, TransformerModel& model) {
  if (window == 0) return;
  std::vector<std::int64_t> windows;
  if (config.has("layer_types")) {
    for (const std::string& type : config.params().required_list<std::string>("layer_types")) {
      if (type != "sliding_attention" && type != "full_attention") {
        config.params().error("layer_types", fmt::format("cannot model layers of '{}'", type),
                              "sliding_attention and full_attention can be");
        return;
      }
      windows.push_back(type == "sliding_attention" ? window : 0);
    }
    if (windows.empty()) return;
  } else {
    for (std::int64_t layer = 0; layer < model.layers; ++layer) windows.push_back(layer < full_layers ? 0 : window);
  }
  model.windows = shortest_period(std::move(windows));
}

void read_size(Config& config, TransformerModel& model) {
  model.layers = config.required("num_hidden_layers", kMaxLayers);
  model.hidden = config.required("hidden_size", kMaxHidden);
  model.heads = config.required("num_attention_heads", kMaxHeads);
  model.vocab = config.required("vocab_size", kMaxVocab);
  model.tied_embedding = config.flag("tie_word_embeddings", false);
}

void read_grouped_attention(Config& config, std::int64_t default_kv_heads, TransformerModel& model) {
  model.kv_heads = config.optional("num_key_value_heads", default_kv_heads, kMaxHeads);
  model.head_dim = config.has("head_dim") ? config.required("head_dim", kMaxHeadDim)
                                          : default_head_dim(config.params(), model.hidden, model.heads, "num_attention_heads");
}

// Ours are on all matrices or on none.
void read_biases(Config& config, TransformerModel& model) {
  model.linear_bias = config.flag("attention_bias", false);
  if (config.flag("mlp_bias", false) != model.linear_bias) {
    config.params().error(model.linear_bias ? "attention_bias" : "mlp_bias",
                          "biases on attention or on MLP alone cannot be modelled");
  }
}

void read_llama(Config& config, TransformerModel& model) {
  read_size(config, model);
  read_grouped_attention(config, model.heads, model);
  model.ffn = config.required("intermediate_size", kMaxFfn);
  read_biases(config, model);
}

void read_mistral(Config& config, TransformerModel& model) {
  read_size(config, model);
  read_grouped_attention(config, 8, model);
  model.ffn = config.required("intermediate_size", kMaxFfn);
  const bool stated = config.params().has("sliding_window");  // null: full attention
  read_windows(config, config.optional("sliding_window", stated ? 0 : 4096, kMaxSequence), 0, model);
}

void read_mixtral(Config& config, TransformerModel& model) {
  read_size(config, model);
  read_grouped_attention(config, 8, model);
  model.moe.experts = config.required("num_local_experts", kMaxExperts);
  model.moe.experts_per_token = config.required("num_experts_per_tok", kMaxExperts);
  model.moe.expert_ffn = config.required("intermediate_size", kMaxFfn);
  read_windows(config, config.optional("sliding_window", 0, kMaxSequence), 0, model);
}

// Of all Qwen2 and Qwen3 but for the MLP.
void read_qwen_attention(Config& config, TransformerModel& model, bool is_third) {
  read_size(config, model);
  read_grouped_attention(config, model.heads, model);
  model.qk_norm = is_third;
  model.qkv_bias = !is_third;
  if (!config.flag("use_sliding_window", false)) return;
  const std::int64_t full_layers = config.optional("max_window_layers", 28, kMaxLayers, 0);
  read_windows(config, config.optional("sliding_window", 0, kMaxSequence), full_layers, model);
}

// Layers without experts must be the first ones.
void read_dense_layers(Config& config, TransformerModel& model) {
  config.expect("decoder_sparse_step", 1);
  if (!config.has("mlp_only_layers")) return;
  for (const std::int64_t layer : config.params().required_list<std::int64_t>("mlp_only_layers")) {
    if (layer != model.moe.dense_layers) {
      config.params().error("mlp_only_layers", "dense layers other than the first ones cannot be modelled");
      return;
    }
    ++model.moe.dense_layers;
  }
}

void read_qwen_experts(Config& config, TransformerModel& model) {
  model.moe.experts = config.required("num_experts", kMaxExperts);
  model.moe.experts_per_token = config.required("num_experts_per_tok", kMaxExperts);
  model.moe.expert_ffn = config.required("moe_intermediate_size", kMaxFfn);
  read_dense_layers(config, model);
  if (model.moe.dense_layers > 0) model.ffn = config.required("intermediate_size", kMaxFfn);
}

void read_qwen2(Config& config, TransformerModel& model) {
  read_qwen_attention(config, model, false);
  model.ffn = config.required("intermediate_size", kMaxFfn);
}

void read_qwen2_moe(Config& config, TransformerModel& model) {
  read_qwen_attention(config, model, false);
  read_qwen_experts(config, model);
  const std::int64_t shared = config.required("shared_expert_intermediate_size", kMaxFfn);
  if (model.moe.expert_ffn > 0 && shared % model.moe.expert_ffn != 0) {
    config.params().error("shared_expert_intermediate_size", "must be a multiple of 'moe_intermediate_size'");
  } else if (model.moe.expert_ffn > 0) {
    model.moe.shared_experts = shared / model.moe.expert_ffn;
  }
  model.moe.shared_gate = true;
}

void read_qwen3(Config& config, TransformerModel& model) {
  read_qwen_attention(config, model, true);
  model.ffn = config.required("intermediate_size", kMaxFfn);
}

void read_qwen3_moe(Config& config, TransformerModel& model) {
  read_qwen_attention(config, model, true);
  read_qwen_experts(config, model);
}

void read_deepseek(Config& config, TransformerModel& model) {
  read_size(config, model);
  model.kv_heads = model.heads;
  model.attention = AttentionKind::kLatent;
  model.latent.query_rank = config.optional("q_lora_rank", 0, kMaxHidden);
  model.latent.kv_rank = config.required("kv_lora_rank", kMaxHidden);
  model.latent.nope_dim = config.required("qk_nope_head_dim", kMaxHeadDim);
  model.latent.rope_dim = config.required("qk_rope_head_dim", kMaxHeadDim);
  model.latent.value_dim = config.required("v_head_dim", kMaxHeadDim);
  model.moe.experts = config.required("n_routed_experts", kMaxExperts);
  model.moe.experts_per_token = config.required("num_experts_per_tok", kMaxExperts);
  model.moe.shared_experts = config.optional("n_shared_experts", 0, kMaxSharedExperts, 0);
  model.moe.expert_ffn = config.required("moe_intermediate_size", kMaxFfn);
  model.moe.dense_layers = config.optional("first_k_dense_replace", 0, kMaxLayers, 0);
  config.expect("moe_layer_freq", 1);
  if (model.moe.dense_layers > 0) model.ffn = config.required("intermediate_size", kMaxFfn);
  model.moe.groups = config.optional("n_group", 1, kMaxExperts);
  const std::int64_t groups_per_token = config.optional("topk_group", model.moe.groups, kMaxExperts);
  model.moe.groups_per_token = groups_per_token == model.moe.groups ? 0 : groups_per_token;
}

void read_deepseek_v2(Config& config, TransformerModel& model) { read_deepseek(config, model); }

void read_deepseek_v3(Config& config, TransformerModel& model) {
  read_deepseek(config, model);
  model.moe.router_bias = config.text("topk_method", "noaux_tc") == "noaux_tc";
  model.mtp_modules = config.optional("num_nextn_predict_layers", 0, kMaxMtpModules, 0);
}

// Model: GPT-OSS's biases and attention sinks are not counted (workload-models §1.1).
void read_gpt_oss(Config& config, TransformerModel& model) {
  read_size(config, model);
  read_grouped_attention(config, 8, model);
  model.moe.experts = config.required("num_local_experts", kMaxExperts);
  const char* per_token = config.has("num_experts_per_tok") ? "num_experts_per_tok" : "experts_per_token";
  model.moe.experts_per_token = config.required(per_token, kMaxExperts);
  model.moe.expert_ffn = config.required("intermediate_size", kMaxFfn);
  const std::int64_t window = config.optional("sliding_window", 0, kMaxSequence);
  if (window > 0 && !config.has("layer_types")) {
    model.windows = {window, 0};
  } else {
    read_windows(config, window, 0, model);
  }
}

void read_gpt2(Config& config, TransformerModel& model) {
  model.layers = config.required("n_layer", kMaxLayers);
  model.hidden = config.required("n_embd", kMaxHidden);
  model.heads = config.required("n_head", kMaxHeads);
  model.kv_heads = model.heads;
  model.head_dim = default_head_dim(config.params(), model.hidden, model.heads, "n_head");
  model.ffn = config.optional("n_inner", 4 * model.hidden, kMaxFfn);
  model.vocab = config.required("vocab_size", kMaxVocab);
  model.learned_positions = config.optional("n_positions", 1024, kMaxPositions);
  model.norm = NormKind::kLayerNorm;
  model.gated_mlp = false;
  model.linear_bias = true;
  model.tied_embedding = config.flag("tie_word_embeddings", true);
  model.dropout = config.real("resid_pdrop", 0.1, 0.99);
}

struct Architecture {
  std::string_view name;
  std::string_view model_type;
  void (*read)(Config&, TransformerModel&);
  const char* experts = "num_experts";  // keys that differ
};
constexpr std::array kArchitectures{
    Architecture{"DeepseekV2ForCausalLM", "deepseek_v2", read_deepseek_v2, "n_routed_experts"},
    Architecture{"DeepseekV3ForCausalLM", "deepseek_v3", read_deepseek_v3, "n_routed_experts"},
    Architecture{"GPT2LMHeadModel", "gpt2", read_gpt2},
    Architecture{"GptOssForCausalLM", "gpt_oss", read_gpt_oss, "num_local_experts"},
    Architecture{"LlamaForCausalLM", "llama", read_llama},
    Architecture{"MistralForCausalLM", "mistral", read_mistral},
    Architecture{"MixtralForCausalLM", "mixtral", read_mixtral, "num_local_experts"},
    Architecture{"Qwen2ForCausalLM", "qwen2", read_qwen2},
    Architecture{"Qwen2MoeForCausalLM", "qwen2_moe", read_qwen2_moe},
    Architecture{"Qwen3ForCausalLM", "qwen3", read_qwen3},
    Architecture{"Qwen3MoeForCausalLM", "qwen3_moe", read_qwen3_moe},
};

const Architecture* named(std::string_view name) {
  for (const Architecture& known : kArchitectures) {
    if (known.name == name || known.model_type == name) return &known;
  }
  return nullptr;
}

// By `architectures` if there are any, else by `model_type`. Throws.
const Architecture& find_architecture(const ConfigNode& root) {
  std::optional<ConfigNode> written = root.find("architectures");
  if (written && written->is_list() && written->size() > 0) {
    written = (*written)[0];
  } else {
    written = root.find("model_type");
  }
  if (!written || !written->is_scalar()) {
    root.fail(fmt::format("{}: expected an architecture, such as architectures: [LlamaForCausalLM]", root.path()));
  }
  if (const Architecture* known = named(written->scalar())) return *known;
  // All end alike, so that any two are near: only a slip of the pen is worth a guess.
  const std::vector<std::string> known = huggingface_architectures();
  const bool is_slip =
      std::ranges::any_of(known, [&](const std::string& n) { return edit_distance(written->scalar(), n) <= 2; });
  written->fail(fmt::format("{}: cannot read architecture '{}'", written->path(), written->scalar()),
                did_you_mean(is_slip ? written->scalar() : std::string{}, known, "architectures here"));
}

// The file says what the model is called, or the folder it lies in does.
std::string name_of(const ConfigNode& root) {
  const auto stated = root.find("_name_or_path");
  if (stated && stated->is_scalar() && !stated->scalar().empty()) return stated->scalar();
  const std::filesystem::path file{root.file()};
  const std::string folder = file.parent_path().filename().string();
  return file.stem() == "config" && !folder.empty() ? folder : file.stem().string();
}

}  // namespace

bool is_huggingface_config(const ConfigNode& root) { return root.find("architectures") || root.find("model_type"); }

TransformerModel read_huggingface_config(const ConfigNode& root, Diagnostics& diagnostics) {
  const Architecture& architecture = find_architecture(root);
  Config config{root, diagnostics};
  TransformerModel model;
  model.name = name_of(root);
  architecture.read(config, model);
  const ShapeKeys keys{.heads = "num_attention_heads",
                       .kv_heads = "num_key_value_heads",
                       .layers = "num_hidden_layers",
                       .windows = "layer_types",
                       .experts = architecture.experts,
                       .experts_per_token = "num_experts_per_tok",
                       .dense_layers = config.has("mlp_only_layers") ? "mlp_only_layers" : "first_k_dense_replace",
                       .groups = "n_group",
                       .groups_per_token = "topk_group"};
  check_shape(config.params(), config.params(), model, keys);
  config.finish();
  return model;
}

std::vector<std::string> huggingface_architectures() {
  std::vector<std::string> names;
  for (const Architecture& known : kArchitectures) names.emplace_back(known.name);
  return names;
}

}  // namespace weft::work
