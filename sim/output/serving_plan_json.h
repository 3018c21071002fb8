// The result file of `weft plan --serve`.
#pragma once

#include <iosfwd>

#include "sim/core/result_header.h"
#include "sim/planning/serving_search/serving_search.h"

namespace weft::output {

// "servings[]": all that were simulated, most tokens/s a user first; "best": the index of what meets the targets at most
// tokens/s, with the commands of engines; counts of what was not simulated.
void write_serving_plan(std::ostream& out, const ResultHeader& header, const work::InferenceSetup& setup,
                        const plan::ServingSpace& space, const plan::ServingSettings& settings,
                        const plan::CostedCluster& costed, const plan::ServingSearchResult& result);

}  // namespace weft::output
