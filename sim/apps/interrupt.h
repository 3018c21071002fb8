// Ctrl-C: the first asks the running simulation to stop, so that what is finished is kept and printed; the second ends the
// program at once, as it does while nothing is simulated.
#pragma once

#include "sim/core/simulator.h"

namespace weft::apps {

// From now on Ctrl-C stops `simulator`. One simulation at a time.
void stop_on_interrupt(Simulator& simulator);
// The simulation is over; Ctrl-C ends the program again.
void forget_simulation();

}  // namespace weft::apps
