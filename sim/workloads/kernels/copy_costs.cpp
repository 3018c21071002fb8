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
     param("join", &CopyCosts::join,
           {.max = 1_ms,
            .source = ParamSource::kFitted,
            .reference = "4 to 64 KiB to and from one H200 at once (validate/measured/h200x2_full.jsonl)",
            .description = "of several copies that start together, until the next ones start after all of them",
            .gpu = "H200"}),
     param("pcie_share", &CopyCosts::pcie_share,
           {.unit = "ratio",
            .min = 0.5,
            .max = 1.0,
            .source = ParamSource::kFitted,
            .reference = "64 and 256 MiB to and from H200, 55.2 GB/s of 57.6 (validate/measured/h200x2_full.jsonl)",
            .description = "of a PCIe link's rate, that copy engines reach",
            .gpu = "H200"}),
     time("block_start", &CopyCosts::block_start,
          "2 x H200: 64 KiB to 1 MiB stored by thread blocks take 2.9 us beyond their bytes, 0.6 us of it the way there and "
          "back (validate/measured/h200x2_full.jsonl)",
          "the same by thread blocks, beyond the ways of the last request and the last acknowledgement too")}};

}  // namespace weft::work
