// Ctrl-C (SIGINT) and SIGTERM: the first asks the running simulation to stop, so that what is finished is kept and printed; the
// second, of either kind, ends the program at once, as the first does while nothing is simulated.
#pragma once

#include <atomic>

#include "sim/core/simulator.h"

namespace weft::apps {

// From now on they stop `simulator`. One simulation at a time.
void stop_on_interrupt(Simulator& simulator);
// The simulation is over; they end the program again.
void forget_simulation();

// For what runs many simulations on many threads: true once either came. From the first call on; the second signal ends the
// program at once.
[[nodiscard]] const std::atomic<bool>& interrupt_flag();

// Does what Ctrl-C does, for a command with a Listener: no signal is taken from its program. From any thread; it lasts until
// the command ends.
void request_interrupt();

}  // namespace weft::apps
