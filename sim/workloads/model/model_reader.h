// Reads a model: our YAML (configs/models/*.yaml) or a Hugging Face config.json as it is.
#pragma once

#include <filesystem>

#include "sim/core/config/params.h"
#include "sim/workloads/model/transformer.h"

namespace weft::work {

// `node` is a map, or names a file: .yaml of ours, or .json of Hugging Face's (LlamaForCausalLM, MixtralForCausalLM,
// DeepseekV3ForCausalLM, Qwen3MoeForCausalLM, GptOssForCausalLM, GPT2LMHeadModel and their kin).
[[nodiscard]] TransformerModel read_model(const ConfigNode& node, Diagnostics& diagnostics);

}  // namespace weft::work
