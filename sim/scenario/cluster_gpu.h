// The GPU of a cluster, as its node template names it.
#pragma once

#include <string_view>

#include "sim/core/profile.h"
#include "sim/network/topology.h"
#include "sim/workloads/kernels/gpu_rates.h"

namespace weft::scenario {

// Returns the first endpoint's GPU; all are alike. Throws ConfigError where the template does not say which GPU, or its data
// sheet lacks what kernels need. `what` names who needs it: "a training step".
[[nodiscard]] const work::GpuSpec& cluster_gpu(const net::Topology& topology, std::string_view what);
// Bytes of its memory: the template's `memory`, or the data sheet's.
[[nodiscard]] double gpu_memory(const net::Topology& topology, const work::GpuSpec& gpu);
// Bytes a second that each SM gets of a memory that all of them fill. 0 where nothing is known of the GPU.
[[nodiscard]] double sm_memory_rate(const net::Topology& topology, const Profile& profile);

}  // namespace weft::scenario
