// Cycles of buffers that routes could close, found without a run: a link waits for the next one on a route through the same
// switch (Dally and Seitz, 1987). With pauses or credits, and one virtual lane, packets on such a cycle may block each other
// for ever. Whether they do depends on their traffic (packet_level/deadlock.cpp).
#pragma once

#include <span>
#include <vector>

#include "sim/core/ids.h"
#include "sim/network/router.h"
#include "sim/network/transfer.h"

namespace weft::net {

[[nodiscard]] bool joins_switches(const Topology& topology, LinkId link);
// Over the ways of these flows. The links of the first cycle found, in order; empty: there is none.
[[nodiscard]] std::vector<LinkId> find_buffer_cycle(const Router& router, std::span<const PathEnds> flows);
// Over all equal-cost ways between all leaves, and all detours where the policy takes them.
[[nodiscard]] std::vector<LinkId> find_buffer_cycle(const Router& router);
// How much work the second one is: about so many steps.
[[nodiscard]] double buffer_cycle_steps(const Router& router);

}  // namespace weft::net
