#include "sim/collectives/costs.h"

namespace weft::coll {

// Defaults: fits on a 4 x H200 node (nccl-calibration-notes, "Parameters").
const ParamGroup<SimpleCosts> simple_costs{
    "collectives.simple",
    "NCCL's Simple protocol",
    {
        param("base_latency", &SimpleCosts::base_latency,
              {.max = 1_ms,
               .source = ParamSource::kLiterature,
               .reference = "nccl-calibration-notes: Simple kernel base 12.5 us (H200)",
               .description = "start and end of the kernel, and the fill of its pipeline"}),
        param("step_latency", &SimpleCosts::step_latency,
              {.max = 1_ms,
               .source = ParamSource::kLiterature,
               .reference = "nccl-calibration-notes: Simple hop 1.1 us (H200)",
               .description = "synchronisation of one message with its receiver"}),
        param("channel_rate", &SimpleCosts::channel_rate,
              {.min = Bandwidth::from_bytes_per_second(1'000'000),
               .source = ParamSource::kLiterature,
               .reference = "nccl-calibration-notes: Simple rate of one CTA 30.3 GB/s (H200)",
               .description = "most that one channel's thread block moves"}),
    }};

const ParamGroup<ChannelCounts> channel_counts{"collectives.channels",
                                               "channels NCCL opens",
                                               {
                                                   param("one_node", &ChannelCounts::one_node,
                                                         {.min = 1,
                                                          .max = 64,
                                                          .source = ParamSource::kLiterature,
                                                          .reference = "nccl-model §2.5 (H100, H200: 24)",
                                                          .description = "of a communicator inside one NVLink domain"}),
                                                   param("several_nodes", &ChannelCounts::several_nodes,
                                                         {.min = 1,
                                                          .max = 64,
                                                          .source = ParamSource::kLiterature,
                                                          .reference = "nccl-model §2.5 (H100, H200: 16)",
                                                          .description = "of a communicator over several nodes"}),
                                               }};

ParamGroups collective_param_groups() { return {&simple_costs, &channel_counts}; }

}  // namespace weft::coll
