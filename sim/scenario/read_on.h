// Reading on after an error. What was wrong in one part of a file must not keep the errors of the other parts from being told;
// nor may it make errors of its own there. So what depends on a part that could not be read is read twice, under two different
// assumptions about that part, and only what is wrong under both is an error of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/core/config/params.h"
#include "sim/network/topology.h"

namespace weft::scenario {

// Takes the error over that ends the reading of this part.
void read_part(Diagnostics& diagnostics, const std::function<void()>& read);

// Adds the errors that both readings find. Each is given the errors so far: they are not told again.
using ReadUnder = std::function<void(Diagnostics&)>;
void add_common_errors(Diagnostics& diagnostics, const ReadUnder& first, const ReadUnder& second);

// Two that stand for the devices of a cluster that could not be read: more of them than a file would name by number.
enum class StandIn : std::uint8_t { kSome, kOthers };
[[nodiscard]] const net::Topology& stand_in_topology(StandIn which);
// For notes on names that are not found: what is said of a topology that stands in; empty: it is a cluster's own.
[[nodiscard]] std::string stand_in_note(const net::Topology& topology);

}  // namespace weft::scenario
