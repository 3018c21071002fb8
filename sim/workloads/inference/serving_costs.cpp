#include "sim/workloads/inference/serving_costs.h"

namespace weft::work {

using namespace weft::literals;

const ParamGroup<ServingCosts> serving_costs{
    "inference.engine",
    "what a serving engine costs beyond its kernels",
    {param("step", &ServingCosts::step,
           {.max = 1_s, .description = "a step's scheduling and sampling on the host that the GPU waits for"}),
     param("swap_rate", &ServingCosts::swap_rate,
           {.min = Bandwidth::from_bytes_per_second(1'000'000),
            .source = ParamSource::kLiterature,
            .reference = "models/network §1.1: PCIe 5 x16",
            .description = "a GPU's cache blocks to and from its host"})}};

}  // namespace weft::work
