#include "sim/workloads/inference/serving_costs.h"

namespace weft::work {

using namespace weft::literals;

namespace {

Param<ServingCosts> measured(const char* name, Duration ServingCosts::*member, const char* description) {
  return param<ServingCosts>(
      name, member,
      {.max = 100_us,
       .source = ParamSource::kMeasured,
       .reference = "kernels of PyTorch 2.11 in CUDA graphs, as its profiler sees them, batches of 1 and "
                    "widths of 4096 and 8192 (validate/serving/measured/h100_decode_tp1.json)",
       .description = description,
       .gpu = "H100"});
}

}  // namespace

const ParamGroup<ServingCosts> serving_costs{
    "inference.engine",
    "what a serving engine costs beyond its kernels",
    {measured("small_kernel", &ServingCosts::small_kernel, "an elementwise kernel of little data"),
     measured("strided_kernel", &ServingCosts::strided_kernel, "the same of strided tensors"),
     measured("norm_kernel", &ServingCosts::norm_kernel, "a norm of short rows"),
     measured("norm_pass", &ServingCosts::norm_pass, "more of it for eight elements of each thread of a row's block"),
     param("step", &ServingCosts::step,
           {.max = 1_s, .description = "a step's scheduling and sampling on the host that the GPU waits for"}),
     param("swap_rate", &ServingCosts::swap_rate,
           {.min = Bandwidth::from_bytes_per_second(1'000'000),
            .source = ParamSource::kLiterature,
            .reference = "models/network §1.1: PCIe 5 x16",
            .description = "a GPU's cache blocks to and from its host"})}};

}  // namespace weft::work
