#include "sim/scenario/run_stats.h"

#include "sim/scenario/link_use.h"

namespace weft::scenario {

RunStats run_stats(const net::Machine& machine, Digest& digest) {
  add_link_bytes(digest, machine);
  return {.digest = digest.value(),
          .events = machine.simulator.events(),
          .transfers = machine.fabric.totals().posted,
          .solves = machine.fabric.totals().solves,
          .peak_live = machine.fabric.totals().peak_live};
}

}  // namespace weft::scenario
