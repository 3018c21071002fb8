// A scenario from a tree that was read already: what a sweep has once it has laid a point's values over its scenario.
#pragma once

#include <string>

#include "sim/core/config/node.h"
#include "sim/core/config/params.h"
#include "sim/scenario/scenario.h"

namespace weft::scenario {

// As load_scenario, for `root`, which is called `default_name` unless it says otherwise. `overrides.sets` are not used.
[[nodiscard]] Scenario read_scenario(const ConfigNode& root, const std::string& default_name, const Overrides& overrides,
                                     Diagnostics& diagnostics);

}  // namespace weft::scenario
