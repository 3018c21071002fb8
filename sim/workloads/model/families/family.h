// How families of models are read from Hugging Face's config.json. A family is a row of a table in one of the files here: the
// names it goes by, and a function that fills a draft. Tables are listed in families.def.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/workloads/model/transformer.h"

namespace weft::work {

// A ParamReader for which `null` is as good as absent.
class FamilyConfig {
 public:
  FamilyConfig(const ConfigNode& root, Diagnostics& diagnostics) : params_{root, diagnostics} {}

  [[nodiscard]] bool has(std::string_view key) const;
  std::int64_t required(std::string_view key, std::int64_t max, std::int64_t min = 1);
  std::int64_t optional(std::string_view key, std::int64_t otherwise, std::int64_t max, std::int64_t min = 1);
  // Picks, of keys that mean the same in different classes and versions, the one that is there, else the first.
  [[nodiscard]] std::string_view spelling(std::initializer_list<std::string_view> keys) const;
  std::int64_t required(std::initializer_list<std::string_view> keys, std::int64_t max, std::int64_t min = 1) {
    return required(spelling(keys), max, min);
  }
  std::int64_t optional(std::initializer_list<std::string_view> keys, std::int64_t otherwise, std::int64_t max,
                        std::int64_t min = 1) {
    return optional(spelling(keys), otherwise, max, min);
  }
  bool flag(std::string_view key, bool otherwise);
  double real(std::string_view key, double otherwise, double max);
  std::string text(std::string_view key, std::string otherwise);
  // Empty where absent.
  std::vector<std::string> words(std::string_view key);
  std::vector<std::int64_t> numbers(std::string_view key);
  [[nodiscard]] ParamReader& params() { return params_; }

  void finish();  // lets pass what nobody asked for, with a warning where it looks like a key that is absent

 private:
  ParamReader params_;
  mutable std::set<std::string, std::less<>> absent_;  // asked for and not there
};

// A model in the making. What the fields of the whole model say of layers follows from `layers` (huggingface_config.cpp).
struct ModelDraft {
  TransformerModel model;
  std::vector<LayerShape> layers;

  void each(const std::function<void(LayerShape&, std::int64_t)>& change);
  void untimed(std::string what);  // once each
};

struct Family {
  std::string_view names;  // the class first, then other classes and types of model, with blanks between
  void (*read)(FamilyConfig&, ModelDraft&);
};

// Norms of queries and keys.
enum class QkNorm : std::uint8_t {
  kNone,
  kHead,   // one of a head's width for queries, one for keys
  kWidth,  // of all heads together
};

struct AttentionTraits {
  std::int64_t kv_heads = 0;  // where no key says it; 0: as heads
  QkNorm norm = QkNorm::kNone;
  bool bias = false;         // on Q, K and V where no key says it
  bool output_bias = false;  // and on the output
};

// Where the class has a default that configurations rely on; 0: none.
struct SizeDefaults {
  std::int64_t heads = 0;
  std::int64_t vocab = 0;
  bool tied = false;
};
// Layers, widths, vocabulary, tied head.
void read_size(FamilyConfig& config, TransformerModel& model, SizeDefaults defaults = {});
[[nodiscard]] Mixer read_grouped(FamilyConfig& config, TransformerModel& model, AttentionTraits traits = {});
[[nodiscard]] Mixer read_latent(FamilyConfig& config, TransformerModel& model);
// Sparse attention; no index where the configuration has none.
[[nodiscard]] KeyIndex read_key_index(FamilyConfig& config);
[[nodiscard]] std::int64_t read_ffn(FamilyConfig& config);
void fill(ModelDraft& draft, const Mixer& mixer, const FeedForward& feed);

// `layer_types` of full_attention, sliding_attention and chunked_attention, cut to the layers; false where there are none.
bool read_layer_types(FamilyConfig& config, ModelDraft& draft, std::int64_t window, std::int64_t chunk = 0);
// Windows in all layers from `first` on, unless layer_types says otherwise.
void read_windows(FamilyConfig& config, ModelDraft& draft, std::int64_t window, std::int64_t first = 0);

// Experts under any of their spellings, `expert_ffn` of the first key that is there.
[[nodiscard]] MixtureOfExperts read_experts(FamilyConfig& config, std::initializer_list<std::string_view> expert_ffn);
// n_shared_experts and its like, or a width of all of them together.
void read_shared_experts(FamilyConfig& config, MixtureOfExperts& moe);
void read_groups(FamilyConfig& config, MixtureOfExperts& moe);
// Which layers have experts, as true, under any of the ways to say it.
[[nodiscard]] std::vector<bool> read_expert_layers(FamilyConfig& config, const TransformerModel& model);
// Gives layers their experts, the others an MLP of intermediate_size, which is asked for where such a layer is.
void place_experts(FamilyConfig& config, ModelDraft& draft, const MixtureOfExperts& moe);
// Reads and places experts of moe_intermediate_size with groups and shared ones, as DeepSeek has them.
void read_grouped_experts(FamilyConfig& config, ModelDraft& draft, bool has_router_bias);
void read_prediction(FamilyConfig& config, TransformerModel& model);

}  // namespace weft::work
