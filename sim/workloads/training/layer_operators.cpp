#include "sim/workloads/training/layer_operators.h"

namespace weft::work {

const Registry<LayerOperators>& training_frameworks() {
  static const Registration<LayerOperators>* const kBuiltin[] = {
#define WEFT_FRAMEWORK(name) &name,
#include "sim/workloads/training/frameworks.def"
  };
  static const Registry<LayerOperators> registry{"framework", kBuiltin};
  return registry;
}

}  // namespace weft::work
