// Reads a model: our YAML (configs/models/*.yaml) or a Hugging Face config.json as it is.
//
//   kind: model
//   name: mixtral_8x7b
//   layers: 32
//   hidden: 4096
//   heads: 32
//   kv_heads: 8                    # as `heads` if absent
//   vocab: 32000
//   moe: {experts: 8, experts_per_token: 2, expert_ffn: 14336}
//
// Further keys: head_dim (hidden / heads), ffn (where a layer is dense), learned_positions, mla, norm, gated_mlp,
// tied_embedding, linear_bias, qkv_bias, qk_norm, parallel_block, windows, mtp_modules, dropout; transformer.h says what each
// means.
#pragma once

#include <filesystem>

#include "sim/core/config/params.h"
#include "sim/workloads/model/transformer.h"

namespace weft::work {

// `node` is a map of either kind, the path of a file that holds one (.yaml, .json), or the name of a shipped model. Errors go
// to `diagnostics`, and the model is not to be used then.
[[nodiscard]] TransformerModel read_model(const ConfigNode& node, Diagnostics& diagnostics);

// The map that a file holds, under the path "model". ConfigError: unreadable.
[[nodiscard]] ConfigNode load_model_file(const std::filesystem::path& file);

}  // namespace weft::work
