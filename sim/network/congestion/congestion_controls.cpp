// The registry of congestion controls.
#include <limits>

#include "sim/network/builtin.h"
#include "sim/network/congestion.h"

namespace weft::net {

double CongestionControl::state(std::string_view /*name*/) const { return std::numeric_limits<double>::quiet_NaN(); }

const Registry<CongestionFactory>& congestion_controls() {
  static const Registration<CongestionFactory>* const kBuiltin[] = {
#define WEFT_CONGESTION(name) &name,
#include "sim/network/builtin.def"
  };
  static const Registry<CongestionFactory> registry{"congestion control", kBuiltin};
  return registry;
}

}  // namespace weft::net
