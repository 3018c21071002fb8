// Models for tests: shipped ones, and GPTs of given dimensions.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "sim/core/error.h"
#include "sim/workloads/model/memory.h"
#include "sim/workloads/model/model_reader.h"

namespace weft::work {

inline TransformerModel model_of(const std::filesystem::path& file) {
  Diagnostics diagnostics;
  const TransformerModel model = read_model(load_model_file(file), diagnostics);
  diagnostics.throw_if_any();
  return model;
}

inline TransformerModel shipped_model(const std::string& name) {
  return model_of(std::filesystem::path{WEFT_SOURCE_DIR} / "configs" / "models" / (name + ".yaml"));
}

inline TransformerModel model_from(const std::string& yaml) {
  Diagnostics diagnostics;
  const TransformerModel model = read_model(ConfigNode::parse(yaml, "model.yaml", "model"), diagnostics);
  diagnostics.throw_if_any();
  return model;
}

// As published: f = 4 h, biases, LayerNorm, tied head.
inline TransformerModel gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t vocab,
                            std::int64_t positions) {
  TransformerModel model;
  model.name = "gpt";
  model.layers = layers;
  model.hidden = hidden;
  model.heads = heads;
  model.kv_heads = heads;
  model.head_dim = hidden / heads;
  model.ffn = 4 * hidden;
  model.vocab = vocab;
  model.learned_positions = positions;
  model.norm = NormKind::kLayerNorm;
  model.gated_mlp = false;
  model.tied_embedding = true;
  model.linear_bias = true;
  return model;
}

// Returns the error of a model that is refused.
inline std::string refusal_of(const std::string& text) {
  try {
    static_cast<void>(model_from(text));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

inline Batch one_sequence(std::int64_t sequence) { return {.global = 1, .micro = 1, .sequence = sequence}; }

}  // namespace weft::work
