#include "sim/workloads/kernels/launch_costs.h"

namespace weft::work {
namespace {

constexpr Origin kLaunches{.source = ParamSource::kFitted,
                           .reference =
                               "launches of empty kernels on H200: validate/measured/h200x1_full.jsonl, "
                               "h200x2_full_later.jsonl, h200x2_quick.jsonl, h200x4_quick.jsonl",
                           .gpu = "H200"};

Param<LaunchCosts> time(const char* name, Duration LaunchCosts::*member, const char* description) {
  return from_origin(param<LaunchCosts>(name, member, {.max = 1_ms, .description = description}), kLaunches);
}

Param<LaunchCosts> share(const char* name, double LaunchCosts::*member, const char* description) {
  return from_origin(param<LaunchCosts>(name, member, {.unit = "ratio", .min = 0.01, .max = 10.0, .description = description}),
                     kLaunches);
}

}  // namespace

const ParamGroup<LaunchCosts> launch_costs{
    "gpu.launch",
    "launches by the host, beside those of NCCL's calls",
    {time("host", &LaunchCosts::host, "of the host for launching a kernel"),
     share("event_share", &LaunchCosts::event_share, "of that: recording an event"),
     share("graph_share", &LaunchCosts::graph_share, "of that: launching a CUDA graph"),
     time("graph_kernel", &LaunchCosts::graph_kernel, "of the host for each kernel of a graph that it launches"),
     time("empty_kernel", &LaunchCosts::empty_kernel, "of the device for a kernel that does nothing, beyond the gap before it"),
     time("answer", &LaunchCosts::answer, "from the end of a kernel until the host that waits for it goes on")}};

Duration LaunchTimes::event() const { return Duration::nearest_ps(static_cast<double>(costs_.host.ps()) * costs_.event_share); }

Duration LaunchTimes::graph(std::int64_t kernels) const {
  return Duration::nearest_ps(static_cast<double>(costs_.host.ps()) * costs_.graph_share) + kernels * costs_.graph_kernel;
}

Duration LaunchTimes::graph_until_waited(std::int64_t kernels) const {
  return graph(kernels) + kernels * kernel_in_graph() + costs_.answer;
}

Duration LaunchTimes::kernel_in_graphs(std::int64_t kernels) const {
  return Duration::from_ps(((kernels - 1) * kernel_in_graph() + kernel_in_stream()).ps() / kernels);
}

}  // namespace weft::work
