// The work that the steps of a schedule ask of thread blocks.
#pragma once

#include "sim/collectives/schedule.h"
#include "sim/collectives/step_costs.h"

namespace weft::coll {

[[nodiscard]] StepWork work_of(const Step& step);
// StepCosts::effort of it; 0 where it has nothing to move.
[[nodiscard]] double effort_of(const StepCosts& costs, const Step& step);

// Means over the sending steps of a rank and lane that have most effort: a channel's pace is told by them where its steps are
// not walked.
struct UsualStep {
  double effort = 1.0;  // mean StepCosts::effort
  double copies = 0.0;  // share of Step::copies
};
// Looks at the first, the second and the last rank, at no more than 256 steps of each lane.
[[nodiscard]] UsualStep usual_step(const Schedule& schedule, const StepCosts& costs);

}  // namespace weft::coll
