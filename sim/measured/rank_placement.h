// Which device held each rank of a measured log.
#pragma once

#include <vector>

#include "sim/core/ids.h"
#include "sim/measured/readers/measurement_set.h"
#include "sim/network/cluster.h"

namespace weft::measured {

// By host in order of appearance, and on it by bus id where the cluster's devices carry the ids that the log prints
// ("0000:00:06" is "0000:00:06.0"); otherwise the first of the host, or of the cluster. Rank r is element r. ConfigError, with
// the log's name, where the cluster has too few devices.
[[nodiscard]] std::vector<DeviceId> devices_of(const net::Cluster& cluster, const Measurement& measurement);

}  // namespace weft::measured
