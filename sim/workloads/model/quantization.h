// How a configuration says that weights are stored (quantization_config): FP8, MXFP4, NVFP4, AWQ, GPTQ, compressed-tensors,
// bitsandbytes. What kernels compute in is a scenario's to say.
#pragma once

#include "sim/core/config/params.h"
#include "sim/workloads/model/transformer.h"

namespace weft::work {

// Reads the entry of `root` or, if it has none, of `text`. A method that is not known is a warning, and counts as 16 bits.
[[nodiscard]] StoredWeights read_stored_weights(const ConfigNode& root, const ConfigNode& text, Diagnostics& diagnostics);

// Bytes of all weights as stored, scales included; embedding, head, norms, routers and biases in 16 bits.
[[nodiscard]] double stored_bytes(const TransformerModel& model);

}  // namespace weft::work
