#include "sim/workloads/kernels/copy_costs.h"

namespace weft::work {
namespace {

Param<CopyCosts> time(const char* name, Duration CopyCosts::*member, const char* reference, const char* description) {
  return param<CopyCosts>(
      name, member,
      {.max = 1_ms, .source = ParamSource::kMeasured, .reference = reference, .description = description, .gpu = "H200"});
}

}  // namespace

const ParamGroup<CopyCosts> copy_costs{
    "gpu.copy",
    "copies between GPUs, and to and from host memory",
    {time(
         "engine_start", &CopyCosts::engine_start,
         "2 x H200: 4 KiB by copy engines in 2.7 to 3.0 us through NVLink and PCIe alike (validate/measured/h200x2_full.jsonl)",
         "from start to start of copies by an engine, beyond their bytes and the way of the last"),
     time("block_start", &CopyCosts::block_start,
          "2 x H200: 64 KiB to 1 MiB stored by thread blocks take 2.9 us beyond their bytes, 0.6 us of it the way there and "
          "back (validate/measured/h200x2_full.jsonl)",
          "the same by thread blocks, beyond the ways of the last request and the last acknowledgement too")}};

}  // namespace weft::work
