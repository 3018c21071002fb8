// The resolved configuration and the profile, as results state them.
#pragma once

#include <string>

#include "sim/core/result_header.h"
#include "sim/scenario/collective_sweep.h"
#include "sim/scenario/scenario.h"

namespace weft::scenario {

[[nodiscard]] ProfileStatement profile_statement(const net::Cluster& cluster);

// Returns the configuration of a run, as far as it is not code: one line of JSON.
[[nodiscard]] std::string sweep_configuration(const CollectiveSweep& sweep);
[[nodiscard]] std::string run_configuration(const Scenario& scenario);

}  // namespace weft::scenario
