#include "sim/workloads/model/huggingface_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/workloads/model/families/tables.h"
#include "sim/workloads/model/model_checks.h"
#include "sim/workloads/model/quantization.h"

namespace weft::work {
namespace {

template <class Visit>
void each_family(Visit visit) {
#define WEFT_MODEL_FAMILIES(name) \
  for (const Family& family : name()) visit(family);
#include "sim/workloads/model/families/families.def"
}

std::vector<std::string_view> names_of(const Family& family) {
  std::vector<std::string_view> names;
  for (std::size_t at = 0; at < family.names.size();) {
    const std::size_t end = std::min(family.names.find(' ', at), family.names.size());
    names.push_back(family.names.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

const Family* named(std::string_view name) {
  const Family* found = nullptr;
  each_family([&](const Family& family) {
    const std::vector<std::string_view> names = names_of(family);
    if (found == nullptr && std::ranges::find(names, name) != names.end()) found = &family;
  });
  return found;
}

// The map that describes the decoder of a model with other towers, too; one that also speaks has it in its thinker's.
std::optional<ConfigNode> text_part(const ConfigNode& root) {
  if (const auto thinker = root.find("thinker_config"); thinker && thinker->is_map()) return text_part(*thinker);
  for (const char* key : {"text_config", "llm_config", "language_config"}) {
    const auto part = root.find(key);
    if (part && part->is_map() && (part->find("hidden_size") || part->find("num_hidden_layers"))) return part;
  }
  return std::nullopt;
}

// Reads what a map calls its architecture: `architectures` if there are any, else `model_type`.
std::optional<ConfigNode> stated_architecture(const ConfigNode& map) {
  std::optional<ConfigNode> written = map.find("architectures");
  if (written && written->is_list() && written->size() > 0) return (*written)[0];
  written = map.find("model_type");
  return written && written->is_scalar() ? written : std::nullopt;
}

// Looks in the decoder's own map first, then of the whole. Throws.
const Family& find_family(const ConfigNode& root, const std::optional<ConfigNode>& text) {
  for (const ConfigNode* map : {text ? &*text : nullptr, &root}) {
    if (map == nullptr) continue;
    for (const std::optional<ConfigNode>& name : {stated_architecture(*map), map->find("model_type")}) {
      if (!name || !name->is_scalar()) continue;
      if (const Family* known = named(name->scalar())) return *known;
    }
  }
  std::optional<ConfigNode> written = stated_architecture(root);
  if (!written && text) written = stated_architecture(*text);
  if (!written) {
    root.fail(fmt::format("{}: expected an architecture, such as architectures: [LlamaForCausalLM]", root.path()));
  }
  // All end alike, so that any two are near: only a slip of the pen is worth a guess.
  const std::vector<std::string> known = huggingface_architectures();
  const bool is_slip =
      std::ranges::any_of(known, [&](const std::string& n) { return edit_distance(written->scalar(), n) <= 2; });
  const std::string guess = is_slip ? fmt::format("did you mean '{}'? ", nearest(written->scalar(), known)) : std::string{};
  written->fail(fmt::format("{}: cannot read architecture '{}'", written->path(), written->scalar()),
                guess + "`weft list models` names those that can be read");
}

// The file says what the model is called, or the folder it lies in does.
std::string name_of(const ConfigNode& root) {
  const auto stated = root.find("_name_or_path");
  if (stated && stated->is_scalar() && !stated->scalar().empty()) return stated->scalar();
  const std::filesystem::path file{root.file()};
  const std::string folder = file.parent_path().filename().string();
  return file.stem() == "config" && !folder.empty() ? folder : file.stem().string();
}

// The shortest list that repeats to `windows`.
std::vector<std::int64_t> shortest_period(std::vector<std::int64_t> windows) {
  for (std::size_t period = 1; period < windows.size(); ++period) {
    bool repeats = true;
    for (std::size_t i = period; i < windows.size() && repeats; ++i) repeats = windows[i] == windows[i - period];
    if (repeats) windows.resize(period);
  }
  return windows;
}

// Names what attention is in the layers that have one with a cache; the first of all layers where none has.
void settle_attention(const std::vector<LayerShape>& layers, TransformerModel& model) {
  const auto attends = [](const LayerShape& layer) {
    return layer.mixer.kind == AttentionKind::kGrouped || layer.mixer.kind == AttentionKind::kLatent;
  };
  const auto found = std::ranges::find_if(layers, attends);
  const Mixer& mixer = (found != layers.end() ? *found : layers.front()).mixer;
  model.attention = mixer.kind;
  model.heads = mixer.heads;
  model.kv_heads = mixer.kv_heads;
  model.head_dim = mixer.head_dim;
  model.latent = mixer.latent;
  model.qk_norm = mixer.kind == AttentionKind::kGrouped && mixer.norm_elements > 0;
  std::vector<std::int64_t> windows;
  for (const LayerShape& layer : layers) windows.push_back(layer.mixer.window);
  model.windows = shortest_period(std::move(windows));
}

void settle_feed(const std::vector<LayerShape>& layers, TransformerModel& model) {
  const auto experts = std::ranges::find_if(layers, [](const LayerShape& layer) { return layer.feed.moe.experts > 0; });
  const auto dense = std::ranges::find_if(layers, [](const LayerShape& layer) { return layer.feed.moe.experts == 0; });
  const auto fed = std::ranges::find_if(layers, [](const LayerShape& layer) { return !layer.feed.is_none(); });
  if (dense != layers.end()) model.ffn = dense->feed.ffn;
  if (fed != layers.end()) model.gated_mlp = fed->feed.is_gated;
  model.moe = {};
  if (experts == layers.end()) return;
  model.moe = experts->feed.moe;
  model.moe.dense_layers = experts - layers.begin();
}

// The fields of the whole model from its layers; shapes of their own for layers that these do not describe.
void settle(ModelDraft& draft) {
  TransformerModel& model = draft.model;
  const std::vector<LayerShape>& layers = draft.layers;
  if (layers.empty()) return;
  settle_attention(layers, model);
  settle_feed(layers, model);
  const Mixer& mixer = layers.front().mixer;
  model.linear_bias = mixer.qkv_bias && mixer.output_bias && (model.moe.experts > 0 || layers.front().feed.bias);
  model.qkv_bias = mixer.qkv_bias && !model.linear_bias;
  bool is_plain = true;
  for (std::size_t i = 0; i < layers.size() && is_plain; ++i) {
    is_plain = layers[i] == plain_layer_shape(model, static_cast<std::int64_t>(i));
  }
  if (is_plain) return;
  for (const LayerShape& layer : layers) {
    const auto known = std::ranges::find(model.shapes, layer);
    model.shape_of_layer.push_back(static_cast<std::uint16_t>(known - model.shapes.begin()));
    if (known == model.shapes.end()) model.shapes.push_back(layer);
  }
}

void check_shapes(ParamReader& params, const TransformerModel& model) {
  for (const LayerShape& shape : model.shapes) {
    const Mixer& m = shape.mixer;
    if (m.kind != AttentionKind::kGrouped || m.kv_heads == 0 || m.heads % m.kv_heads == 0) continue;
    params.error("num_attention_heads", fmt::format("{} heads cannot share {} key/value heads evenly", m.heads, m.kv_heads));
    return;
  }
}

// Parts beside the decoder.
void note_towers(const ConfigNode& root, ModelDraft& draft) {
  if (const auto talker = root.find("talker_config"); talker && talker->is_map()) {
    draft.untimed("the part that speaks, which is not counted");
  }
  if (const auto thinker = root.find("thinker_config"); thinker && thinker->is_map()) return note_towers(*thinker, draft);
  for (const char* key : {"vision_config", "audio_config"}) {
    const auto tower = root.find(key);
    if (!tower || tower->is_null()) continue;
    draft.untimed(key[0] == 'v' ? "the vision tower, which is not counted" : "the audio tower, which is not counted");
  }
}

}  // namespace

bool is_huggingface_config(const ConfigNode& root) {
  return root.find("architectures") || root.find("model_type") || text_part(root);
}

TransformerModel read_huggingface_config(const ConfigNode& root, Diagnostics& diagnostics) {
  const std::optional<ConfigNode> text = text_part(root);
  const Family& family = find_family(root, text);
  FamilyConfig config{text ? *text : root, diagnostics};
  ModelDraft draft;
  draft.model.name = name_of(root);
  const std::size_t errors = diagnostics.errors().size();
  family.read(config, draft);
  // A head may be tied for the whole only.
  const auto tied = root.find("tie_word_embeddings");
  if (text && !text->find("tie_word_embeddings") && tied && tied->is_scalar()) {
    draft.model.tied_embedding = tied->scalar() == "true";
  }
  settle(draft);
  note_towers(root, draft);
  draft.model.stored = read_stored_weights(root, text ? *text : root, diagnostics);
  for (const std::string& part : draft.model.untimed) {
    diagnostics.warning(root.diagnostic(fmt::format("{}: what takes no time here: {}", root.path(), part)));
  }
  const ShapeKeys keys{.heads = "num_attention_heads",
                       .kv_heads = "num_key_value_heads",
                       .layers = "num_hidden_layers",
                       .windows = "layer_types",
                       .experts = config.has("n_routed_experts") ? "n_routed_experts"
                                  : config.has("num_experts")    ? "num_experts"
                                                                 : "num_local_experts",
                       .experts_per_token = "num_experts_per_tok",
                       .dense_layers = config.has("mlp_only_layers") ? "mlp_only_layers" : "first_k_dense_replace",
                       .groups = "n_group",
                       .groups_per_token = "topk_group"};
  check_shape(config.params(), config.params(), draft.model, keys);
  if (diagnostics.errors().size() == errors) check_shapes(config.params(), draft.model);
  config.finish();
  return draft.model;
}

std::vector<std::string> huggingface_architectures() {
  std::vector<std::string> names;
  each_family([&names](const Family& family) {
    for (const std::string_view name : names_of(family)) {
      if (name.ends_with("ForCausalLM") || name.ends_with("ForConditionalGeneration") || name.ends_with("Model")) {
        names.emplace_back(name);
      }
    }
  });
  std::ranges::sort(names);
  return names;
}

}  // namespace weft::work
