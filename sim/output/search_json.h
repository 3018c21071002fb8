// The result file of `weft plan`.
#pragma once

#include <iosfwd>

#include "sim/core/result_header.h"
#include "sim/planning/plan_search/search.h"

namespace weft::output {

// "plans[]" best first, at most `settings.top`; counts of what was not simulated, and why.
void write_plan_result(std::ostream& out, const ResultHeader& header, const plan::PlanSpace& space,
                       const plan::PlanSearchSettings& settings, const plan::CostedCluster& costed,
                       const plan::PlanSearchResult& result);

}  // namespace weft::output
