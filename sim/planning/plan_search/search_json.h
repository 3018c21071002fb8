// The result file of `weft plan`.
#pragma once

#include <iosfwd>

#include "sim/planning/plan_search/search.h"
#include "sim/planning/result_header.h"

namespace weft::plan {

// "plans[]" best first, at most `settings.top`; counts of what was not simulated, and why.
void write_plan_result(std::ostream& out, const ResultHeader& header, const PlanSpace& space,
                       const PlanSearchSettings& settings, const CostedCluster& costed, const PlanSearchResult& result);

}  // namespace weft::plan
