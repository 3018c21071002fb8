// Whether ranks that do alike also stand alike, so that one may stand for the others (Program::ranks, leader).
#pragma once

#include <string>

#include "sim/network/topology.h"
#include "sim/workloads/program.h"

namespace weft::work {

// Why some rank's groups and peers do not lie as its leader's do, by hosts and how near those of one host are; empty where all
// do.
//
// Model: two places are alike where the hosts of their groups repeat in the same pattern, and members on one host are as near
// to each other (class and rate of the path); which leaf or spine those hosts hang on is not compared. Followers' traffic over
// the links of hosts that are run is counted all the same.
[[nodiscard]] std::string difference_of_places(const Program& program, const net::Topology& topology);

// Every rank its own leader.
void unfold(Program& program);

}  // namespace weft::work
