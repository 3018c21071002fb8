// Costs of serving engines beyond their kernels and messages: group `inference.engine` of a profile.
#pragma once

#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::work {

struct ServingCosts {
  Duration step = Duration::from_us(0);                                    // of a step, on the host, that the GPU waits for
  Bandwidth swap_rate = Bandwidth::from_bytes_per_second(50'000'000'000);  // of a GPU, to and from its host
};
extern const ParamGroup<ServingCosts> serving_costs;

}  // namespace weft::work
