// Whether ranks that do alike find the links between switches alike too: places.h, one step further out.
#pragma once

#include <string>

#include "sim/network/router.h"
#include "sim/workloads/program.h"

namespace weft::work {

// Links between switches may hold up what the program's ranks send: from some switches less leads up than their hosts send, or
// routing picks one of several links for each flow. Else only links of hosts do.
[[nodiscard]] bool switches_hold_up(const Program& program, const net::Router& router);

// Why a group, or a pair of peers, finds other links between switches than that of its leaders, or finds them loaded otherwise;
// empty where all find the same, or nothing there holds anybody up.
//
// Exact for traffic that is spread: alike are groups of which each member lies below a switch (and a pod, where more tiers
// hold up) that repeats in the same pattern, has as much up, and has below it as many members of as many groups of every kind.
// Shares of links are then the same for all of them (an equitable partition of groups and links).
[[nodiscard]] std::string difference_of_switches(const Program& program, const net::Router& router);

}  // namespace weft::work
