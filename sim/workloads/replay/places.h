// Whether ranks that do alike also stand alike, so that one may stand for the others (Program::ranks, leader).
#pragma once

#include <string>

#include "sim/network/router.h"
#include "sim/workloads/program.h"

namespace weft::work {

// Why some rank's groups and peers do not lie as its leader's do: by hosts, how near those of one host are, and where links
// between switches may hold them up, by what those carry (fabric_places.h). Empty where all do.
//
// Model: members on one host are as near to each other where class and rate of their paths are equal. Followers' traffic over
// the links of hosts that are run is counted all the same, and where switches may hold it up, all of it.
[[nodiscard]] std::string difference_of_places(const Program& program, const net::Router& router);

// Where all ranks run the same program of computation and collectives, and none is folded yet, the first leads all. Whether
// they stand alike is difference_of_places's to say.
void fold_alike(Program& program);

// Every rank its own leader.
void unfold(Program& program);

}  // namespace weft::work
