#include "sim/network/launch_timings.h"

namespace weft::net {

using namespace literals;

const ParamGroup<LaunchTimings> launch_timings{
    "device.launch",
    "what launching kernels costs the host",
    {param("host_cost", &LaunchTimings::host_cost,
           {.max = 1_ms,
            .source = ParamSource::kFitted,
            .reference = "models/nccl_calibration §1: host launch of one kernel, 4 x H200",
            .description = "CPU time of one kernel launch by one thread"}),
     param("graph_kernel_cost", &LaunchTimings::graph_kernel_cost,
           {.max = 1_ms,
            .source = ParamSource::kFitted,
            .reference = "models/nccl_calibration §3.2: start skew of graphs, per GPU and operation; one log of 4 x H200",
            .description = "CPU time of launching a CUDA graph, per kernel in it"}),
     param("channel_cost", &LaunchTimings::channel_cost,
           {.max = 1_ms, .description = "more of a kernel of NCCL's, for each of its channels"})}};

}  // namespace weft::net
