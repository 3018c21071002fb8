// `recompute: as_needed`: the fewest layers of each chunk that are computed again so that the step fits its GPUs.
#pragma once

#include <cstdint>

#include "sim/scenario/scenario.h"
#include "sim/workloads/training/training.h"

namespace weft::scenario {

// Returns the setup with the first `layers` of each chunk recomputed.
[[nodiscard]] work::TrainingSetup recomputing(work::TrainingSetup setup, std::int64_t layers);

// Returns the fewest layers with which the step's program fits if its operations run in the order of issue; all of a chunk
// where none fits.
[[nodiscard]] std::int64_t fewest_recomputed_layers(const Scenario& scenario, const work::TrainingSetup& setup);

// Returns the setup itself where it does not ask for as_needed.
[[nodiscard]] work::TrainingSetup with_needed_recomputation(const Scenario& scenario, const work::TrainingSetup& setup);

}  // namespace weft::scenario
