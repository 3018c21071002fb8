// Turns the YAML of a GPU into a GpuSpec. gpu_spec.h says what stands in it, and finds files by name.
#pragma once

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/network/gpu_spec.h"

namespace weft::net {

// `name` serves where the map states none. Errors go to `diagnostics`; the result is then unfit for use. ConfigError where what
// `base` names cannot be read.
[[nodiscard]] GpuSpec read_gpu_spec(const ConfigNode& node, const std::string& name, Diagnostics& diagnostics);

}  // namespace weft::net
