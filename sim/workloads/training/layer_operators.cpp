#include "sim/workloads/training/layer_operators.h"

#include <array>

namespace weft::work {

const Registry<LayerOperators>& training_frameworks() {
  static constexpr std::array<const Registration<LayerOperators>*, 3> kBuiltin = {&pytorch_eager, &pytorch_compile, &megatron};
  static const Registry<LayerOperators> registry{"framework", kBuiltin};
  return registry;
}

}  // namespace weft::work
