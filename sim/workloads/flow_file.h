// Reads a list of flows from a text file, in one of three forms, told apart by their first line:
//
//   3 17 4194304                  ours: source host, destination host, bytes or `unlimited`; all start at 0
//
//   2                             that of the HPCC simulator: how many flows, then one a line:
//   3 17 3 100 4194304 2.0001     source, destination, priority, port, bytes, start in seconds
//
//   Nodes 16                      htsim's connection matrix (connection_matrix.h)
//
// Hosts are numbered as endpoints are. Lines that are empty or begin with '#' do not count. Ports are read and left aside: a
// flow's number in the list is its entropy.
#pragma once

#include <filesystem>

#include "sim/core/config/params.h"
#include "sim/workloads/workload.h"

namespace weft::work {

// Appends to out.flows; the first mistake ends the reading.
void read_flow_file(const std::filesystem::path& path, const net::Topology& topology, Diagnostics& diagnostics, Workload& out);

}  // namespace weft::work
