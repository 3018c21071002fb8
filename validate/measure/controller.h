// The run: takes the inventory, makes the plan, starts a worker per group and writes what they answer, within the budget.
#pragma once

#include <string>

#include "measurement_file.h"
#include "mpi_team.h"
#include "options.h"
#include "plan.h"

namespace weft::measure {

// Exit statuses.
inline constexpr int kDone = 0;
inline constexpr int kBadInput = 2;
inline constexpr int kInterrupted = 130;

[[nodiscard]] int measure_node(const Options& options);
// As one of several ranks that mpirun started.
[[nodiscard]] int measure_under_mpi(const Options& options, const MpiPlace& place);

}  // namespace weft::measure
