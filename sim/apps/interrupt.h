// Ctrl-C: the first asks the running simulation to stop, so that what is finished is kept and printed; the second ends the
// program at once, as it does while nothing is simulated.
#pragma once

#include <atomic>

#include "sim/core/simulator.h"

namespace weft::apps {

// From now on Ctrl-C stops `simulator`. One simulation at a time.
void stop_on_interrupt(Simulator& simulator);
// The simulation is over; Ctrl-C ends the program again.
void forget_simulation();

// For what runs many simulations on many threads: true once Ctrl-C was pressed, or a batch system asked this program to end
// (SIGTERM). From the first call on; the second signal ends the program at once.
[[nodiscard]] const std::atomic<bool>& interrupt_flag();

}  // namespace weft::apps
