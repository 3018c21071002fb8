// The resolved configuration and the profile, as results state them.
#pragma once

#include <string>

#include "sim/planning/collective_sweep.h"
#include "sim/planning/result_header.h"
#include "sim/planning/scenario.h"

namespace weft::plan {

[[nodiscard]] ProfileStatement profile_statement(const net::Cluster& cluster);

// Returns the configuration of a run, as far as it is not code: one line of JSON.
[[nodiscard]] std::string sweep_configuration(const CollectiveSweep& sweep);
[[nodiscard]] std::string run_configuration(const Scenario& scenario);

}  // namespace weft::plan
