// Costs of serving engines beyond their kernels and messages: group `inference.engine` of a profile.
#pragma once

#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::work {

struct ServingCosts {
  // A kernel of little data takes what its threads wait for memory, whatever its bytes: in place of gpu.memory.fixed.
  Duration small_kernel = Duration::from_ns(1'400);
  Duration strided_kernel = Duration::from_ns(1'900);
  Duration norm_kernel = Duration::from_ns(1'500);
  Duration norm_pass = Duration::from_ns(1'150);  // of a block of threads over eight elements of each, read twice
  Duration step = Duration::from_us(0);           // of a step, on the host, that the GPU waits for
  Bandwidth swap_rate = Bandwidth::from_bytes_per_second(50'000'000'000);  // of a GPU, to and from its host
};
extern const ParamGroup<ServingCosts> serving_costs;

}  // namespace weft::work
