// The results of a sweep as CSV and JSON, whether it is complete or not: one row a point, by id.
#pragma once

#include <iosfwd>

#include "sim/core/result_header.h"
#include "sim/planning/sweep/database.h"

namespace weft::plan {

// A line of column names, then one a point: id, status, axes, metrics, digest, error (RFC 4180; what there is not is empty).
void write_sweep_csv(std::ostream& out, const SweepPlan& plan, const SweepDatabase& database);
// The members of every result, then `points_total`, `columns[]` and `points[]`: id, status, the columns by name, digest, error.
void write_sweep_json(std::ostream& out, const ResultHeader& header, const SweepPlan& plan, const SweepDatabase& database);

}  // namespace weft::plan
