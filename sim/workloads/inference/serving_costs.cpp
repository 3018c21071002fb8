#include "sim/workloads/inference/serving_costs.h"

namespace weft::work {

using namespace weft::literals;

const ParamGroup<ServingCosts> serving_costs{
    "inference.engine",
    "what a serving engine costs beyond its kernels",
    {param("graph_kernel", &ServingCosts::graph_kernel,
           {.max = 1_ms,
            .source = ParamSource::kLiterature,
            .reference = "models/workloads §6: 1 to 3 us, 5 to 10 kernels a layer",
            .description = "a kernel in a CUDA graph, beyond its work"}),
     param("one_shot", &ServingCosts::one_shot,
           {.max = 1_ms,
            .source = ParamSource::kLiterature,
            .reference = "models/workloads §6: 8 to 15 us, 160 all-reduces about 1.6 ms",
            .description = "an all-reduce in which every GPU reads all the others' vectors, beyond its bytes"}),
     param("two_shot", &ServingCosts::two_shot,
           {.max = 1_ms,
            .source = ParamSource::kLiterature,
            .reference = "models/workloads §6: 8 to 15 us",
            .description = "one in two rounds, each of an n-th part, beyond its bytes"}),
     param("step", &ServingCosts::step,
           {.max = 1_s, .description = "a step's scheduling and sampling on the host that the GPU waits for"}),
     param("swap_rate", &ServingCosts::swap_rate,
           {.min = Bandwidth::from_bytes_per_second(1'000'000),
            .source = ParamSource::kLiterature,
            .reference = "models/network §1.1: PCIe 5 x16",
            .description = "a GPU's cache blocks to and from its host"})}};

}  // namespace weft::work
