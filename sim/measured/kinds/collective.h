// Collectives: rows of nccl-tests' logs, whatever file they stand in. Each is one simulated call on the log's ranks, with its
// collective, size, type, root, NCCL settings and launch mode.
//
// Model: in-place calls take as long as out-of-place ones; aggregated calls take what one call of all their bytes does, but
// those of sends and receives what plain calls do; several communicators side by side are one by itself. Where a log is of that
// kind, a note says so. Where a file says what each call took its host
// (`weft measure` does), that is the host's cost of a launch; rows where the host was all that the loop waited for are marked.
#pragma once

#include <string>
#include <vector>

#include "sim/measured/fit/sample.h"
#include "sim/measured/predict.h"
#include "sim/measured/readers/measurement_set.h"

namespace weft::measured {

// The rows of a log, which all have a time out of place; `digest` is that of the whole log. Predicting them adds to `notes`
// what is not modelled. `measurement` and `notes` must outlive the samples.
[[nodiscard]] std::vector<Sample> samples_of(const Measurement& measurement, const std::string& digest,
                                             const PredictOptions& options, std::vector<std::string>& notes);

}  // namespace weft::measured
