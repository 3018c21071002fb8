// Costs of serving engines beyond their kernels and messages: group `inference.engine` of a profile.
#pragma once

#include "sim/core/profile.h"
#include "sim/core/units.h"

namespace weft::work {

struct ServingCosts {
  Duration graph_kernel = Duration::from_ns(1'500);  // of a kernel in a CUDA graph, beyond its work
  // Fixed time of an all-reduce by one kernel over NVLink. Every GPU reads all the others' vectors, or twice an n-th of them.
  Duration one_shot = Duration::from_us(10);
  Duration two_shot = Duration::from_us(15);
  Duration step = Duration::from_us(0);                                    // of a step, on the host, that the GPU waits for
  Bandwidth swap_rate = Bandwidth::from_bytes_per_second(50'000'000'000);  // of a GPU, to and from its host
};
extern const ParamGroup<ServingCosts> serving_costs;

}  // namespace weft::work
