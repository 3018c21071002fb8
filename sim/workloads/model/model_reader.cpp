#include "sim/workloads/model/model_reader.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "sim/core/config/shipped_file.h"
#include "sim/workloads/model/huggingface_config.h"
#include "sim/workloads/model/json_config.h"
#include "sim/workloads/model/model_checks.h"

namespace weft::work {
namespace {

namespace fs = std::filesystem;

constexpr ShapeKeys kKeys{.heads = "heads",
                          .kv_heads = "kv_heads",
                          .layers = "layers",
                          .windows = "windows",
                          .experts = "experts",
                          .experts_per_token = "experts_per_token",
                          .dense_layers = "dense_layers",
                          .groups = "groups",
                          .groups_per_token = "groups_per_token"};

void read_latent(ParamReader& top, TransformerModel& model) {
  std::optional<ParamReader> mla = top.optional_map("mla");
  if (!mla) return;
  model.attention = AttentionKind::kLatent;
  model.latent.query_rank = mla->optional<std::int64_t>("query_rank", 0, between(std::int64_t{0}, kMaxHidden));
  model.latent.kv_rank = mla->required<std::int64_t>("kv_rank", between(std::int64_t{1}, kMaxHidden));
  model.latent.nope_dim = mla->required<std::int64_t>("nope_dim", between(std::int64_t{0}, kMaxHeadDim));
  model.latent.rope_dim = mla->required<std::int64_t>("rope_dim", between(std::int64_t{0}, kMaxHeadDim));
  model.latent.value_dim = mla->required<std::int64_t>("value_dim", between(std::int64_t{1}, kMaxHeadDim));
  mla->finish();
  for (const char* key : {"kv_heads", "head_dim", "qk_norm", "qkv_bias"}) {
    if (top.has(key)) top.error(key, "has no effect on latent attention", "'mla' states its widths");
  }
}

void read_attention(ParamReader& top, TransformerModel& model) {
  read_latent(top, model);
  model.kv_heads = top.optional<std::int64_t>("kv_heads", model.heads, between(std::int64_t{1}, kMaxHeads));
  const auto head_dim = top.optional<std::int64_t>("head_dim", between(std::int64_t{1}, kMaxHeadDim));
  if (model.attention == AttentionKind::kGrouped) {
    model.head_dim = head_dim ? *head_dim : default_head_dim(top, model.hidden, model.heads, "heads");
  }
  model.qk_norm = top.optional<bool>("qk_norm", false);
  model.qkv_bias = top.optional<bool>("qkv_bias", false);
  model.windows = top.list<std::int64_t>("windows", between(std::int64_t{0}, kMaxSequence));
  if (model.windows.empty()) {
    if (top.has("windows")) top.error("windows", "expected one window or more", "0 is full attention");
    model.windows = {0};
  }
}

void read_experts(ParamReader& moe, MixtureOfExperts& out) {
  out.experts = moe.required<std::int64_t>("experts", between(std::int64_t{1}, kMaxExperts));
  out.experts_per_token = moe.required<std::int64_t>("experts_per_token", between(std::int64_t{1}, kMaxExperts));
  out.expert_ffn = moe.required<std::int64_t>("expert_ffn", between(std::int64_t{1}, kMaxFfn));
  out.shared_experts = moe.optional<std::int64_t>("shared_experts", 0, between(std::int64_t{0}, kMaxSharedExperts));
  out.dense_layers = moe.optional<std::int64_t>("dense_layers", 0, between(std::int64_t{0}, kMaxLayers));
  out.groups = moe.optional<std::int64_t>("groups", 1, between(std::int64_t{1}, kMaxExperts));
  out.groups_per_token = moe.optional<std::int64_t>("groups_per_token", 0, between(std::int64_t{0}, kMaxExperts));
  out.router_bias = moe.optional<bool>("router_bias", false);
  out.shared_gate = moe.optional<bool>("shared_gate", false);
}

TransformerModel read_ours(const ConfigNode& node, Diagnostics& diagnostics) {
  ParamReader top{node, diagnostics};
  TransformerModel model;
  static_cast<void>(top.choice("kind", {"model"}, "model"));
  model.name = top.optional<std::string>("name", fs::path{node.file()}.stem().string());
  static_cast<void>(top.optional<std::string>("description", ""));
  model.layers = top.required<std::int64_t>("layers", between(std::int64_t{1}, kMaxLayers));
  model.hidden = top.required<std::int64_t>("hidden", between(std::int64_t{1}, kMaxHidden));
  model.heads = top.required<std::int64_t>("heads", between(std::int64_t{1}, kMaxHeads));
  read_attention(top, model);
  std::optional<ParamReader> moe = top.optional_map("moe");
  if (moe) read_experts(*moe, model.moe);
  const bool has_dense_layer = !moe || model.moe.dense_layers > 0;
  model.ffn = has_dense_layer ? top.required<std::int64_t>("ffn", between(std::int64_t{1}, kMaxFfn)) : 0;
  if (!has_dense_layer && top.optional<std::int64_t>("ffn")) top.error("ffn", "has no effect: no layer is dense");
  model.vocab = top.required<std::int64_t>("vocab", between(std::int64_t{1}, kMaxVocab));
  model.learned_positions = top.optional<std::int64_t>("learned_positions", 0, between(std::int64_t{0}, kMaxPositions));
  model.norm = top.choice<NormKind>("norm", {{"rms_norm", NormKind::kRmsNorm}, {"layer_norm", NormKind::kLayerNorm}},
                                    NormKind::kRmsNorm);
  model.gated_mlp = top.optional<bool>("gated_mlp", true);
  model.tied_embedding = top.optional<bool>("tied_embedding", false);
  model.linear_bias = top.optional<bool>("linear_bias", false);
  model.parallel_block = top.optional<bool>("parallel_block", false);
  model.mtp_modules = top.optional<std::int64_t>("mtp_modules", 0, between(std::int64_t{0}, kMaxMtpModules));
  model.dropout = top.optional<double>("dropout", 0.0, between(0.0, 0.99));
  check_shape(top, moe ? *moe : top, model, kKeys);
  if (moe) moe->finish();
  top.finish();
  return model;
}

bool is_json(const fs::path& file) { return file.extension() == ".json"; }

// The map that `node` is or names.
ConfigNode resolve(const ConfigNode& node) {
  const std::string& name = node.scalar();
  if (node.is_scalar() && is_json(name)) return load_json_config(referenced_file(node), node.path());
  return load_reference(node);  // a file, or the name of a shipped model
}

}  // namespace

TransformerModel read_model(const ConfigNode& node, Diagnostics& diagnostics) {
  try {
    const ConfigNode root = resolve(node);
    return is_huggingface_config(root) ? read_huggingface_config(root, diagnostics) : read_ours(root, diagnostics);
  } catch (const ConfigError& error) {
    diagnostics.absorb(error);
    return {};
  }
}

ConfigNode load_model_file(const fs::path& named) {
  const fs::path file = file_or_shipped(named, "models");
  return is_json(file) ? load_json_config(file, "model") : ConfigNode::load_file(file, "model");
}

}  // namespace weft::work
