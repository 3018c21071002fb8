// A plan that a search found, as a scenario that `weft run` simulates to the same step.
#pragma once

#include <filesystem>
#include <string>

#include "sim/planning/plan_search/space.h"
#include "sim/scenario/scenario.h"

namespace weft::plan {

struct PlanFiles {
  std::filesystem::path model;
  std::filesystem::path cluster;
  std::filesystem::path written;  // the scenario; what it names is named from its folder
};

// YAML. `overrides`: what the command line said over the cluster's file.
[[nodiscard]] std::string plan_scenario(const PlanSpace& space, const PlanCandidate& candidate, const PlanFiles& files,
                                        const scenario::Overrides& overrides, const scenario::SimulationOptions& simulation);

}  // namespace weft::plan
