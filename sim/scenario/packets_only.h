// Names what a cluster or a workload states that only packets heed. Flow fidelity says so, lest its shares pass for what
// pauses, marks or windows would give.
#pragma once

#include <string>
#include <vector>

#include "sim/network/cluster.h"
#include "sim/network/fidelity.h"
#include "sim/workloads/workload.h"

namespace weft::scenario {

// Key paths, as "fabric.pfc"; sections with `enabled: false` are none.
[[nodiscard]] std::vector<std::string> packets_only(const net::Cluster& cluster);
[[nodiscard]] std::vector<std::string> packets_only(const net::Cluster& cluster, const work::Workload& workload);

// Flow fidelity answers these, but not as packets do: a sentence each. `any_cable_fails`: while the scenario runs.
[[nodiscard]] std::vector<std::string> approximated(const net::Cluster& cluster, bool any_cable_fails);

// The warning; empty where nothing is ignored.
[[nodiscard]] std::string ignored_note(net::Fidelity fidelity, const std::vector<std::string>& keys);

}  // namespace weft::scenario
