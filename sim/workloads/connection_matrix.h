// Reads htsim's connection matrices, a text file of flows and of triggers that start them:
//
//   Nodes 16
//   Connections 3
//   Triggers 1
//   0->13 id 1 start 0 size 2000000 send_done_trigger 1       # start in picoseconds
//   0->5 id 2 trigger 1 size 2000000                          # starts when flow 1 is through
//   13->0 id 3 start 1000000 size 2000000 prio 3
//   trigger id 1 oneshot                                      # or multishot, or barrier count 4
//
// Hosts are numbered as endpoints are. `prio` (of receivers' credits) and `msg` (messages of one connection) are read and left
// aside. Failures are refused: a scenario states them under `faults`.
#pragma once

#include <filesystem>
#include <string_view>

#include "sim/core/config/params.h"
#include "sim/workloads/workload.h"

namespace weft::work {

// Whether a file with this first line, neither empty nor a comment, is one.
[[nodiscard]] bool begins_connection_matrix(std::string_view line);
// Appends to out.flows and out.chains. Mistakes are told with their lines, at most twenty.
void read_connection_matrix(const std::filesystem::path& path, const net::Topology& topology, Diagnostics& diagnostics,
                            Workload& out);

}  // namespace weft::work
