// Hugging Face's config.json of a causal language model. Keys that say nothing about shapes are let pass; absent ones take the
// default of the model's class in `transformers`.
#pragma once

#include <string>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/workloads/model/transformer.h"

namespace weft::work {

// Whether a map is such a configuration: it names an architecture or a type of model.
[[nodiscard]] bool is_huggingface_config(const ConfigNode& root);

[[nodiscard]] TransformerModel read_huggingface_config(const ConfigNode& root, Diagnostics& diagnostics);

// Architectures that can be read, in byte order.
[[nodiscard]] std::vector<std::string> huggingface_architectures();

}  // namespace weft::work
