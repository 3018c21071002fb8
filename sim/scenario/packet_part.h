// The packet part of a hybrid run, as a scenario states it:
//
//   simulation:
//     fidelity: hybrid
//     packets: {links: ["leaf0..3->*", "n4.*"], collectives: [alltoall]}
//
// A link is named as `weft topo` prints it, a device stands for all links that begin or end there; `0..3` counts and `*` is any
// text. A transfer that crosses one of the links is packets, all others are flows. Without `links`: those between hosts, so
// that what stays inside a host is flows. With `collectives`: as long as one of these runs; the others are flows throughout.
#pragma once

#include <string>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/core/config/params.h"
#include "sim/network/fabric.h"
#include "sim/network/topology.h"
#include "sim/workloads/workload.h"

namespace weft::scenario {

// Hybrid fidelity sends chosen links' and collectives' traffic as packets and everything else as flows.
struct PacketPart {
  std::vector<bool> links;                    // what crosses one of these, by link
  std::vector<coll::Collective> collectives;  // as long as one of these runs; empty: always
};

// All links between hosts, by link.
[[nodiscard]] std::vector<bool> links_between_hosts(const net::Topology& topology);

// Reads the part from the scenario `root`. It is checked at any fidelity and used at hybrid only, so that the same file runs at
// all.
[[nodiscard]] PacketPart read_packet_part(const ConfigNode& root, const net::Topology& topology, const work::Workload& workload,
                                          Diagnostics& diagnostics);

// Hybrid fidelity cannot say what happens where flows go before packets: an error, at the workload.
void check_priorities(const ConfigNode& root, const work::Workload& workload, Diagnostics& diagnostics);

// Says in words which part of a run was packets.
[[nodiscard]] std::string hybrid_note(const net::HybridTotals& totals);

}  // namespace weft::scenario
