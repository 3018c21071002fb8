// From the machines to what NCCL knows of a communicator: the graphs that its search finds on every kind of node, and how many
// channels it makes of them (models/nccl §2.4).
//
//   const CommInfo info = comm_info(topology, devices, settings, NcclVersion::k2_30);
//   info.channels                                                     // CTAs of a ring or tree
//   const Connections all = connect(info, node_ranks(topology, devices));   // connect.h
//
// A node is a host of the topology: one OS host, or all hosts of an NVLink domain. Only the communicator's own GPUs count.
//
// Model: hosts of one template with the same GPUs in the communicator are alike, whatever their cables; NCCL's plugins for
// networks and tuning, CTA policies and the settings of ncclConfig_t are left out.
#pragma once

#include <span>
#include <vector>

#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/core/ids.h"
#include "sim/network/import/nccl_xml.h"
#include "sim/network/topology.h"

namespace weft::coll::nccl {

// `devices[r]` holds rank r. ConfigError: a device is no GPU, or NCCL_GRAPH_FILE cannot be used.
[[nodiscard]] CommInfo comm_info(const net::Topology& topology, std::span<const DeviceId> devices, const Settings& settings,
                                 NcclVersion version);
// All GPUs with a rank of `nodes` alike nodes, as NCCL's topology file describes them.
[[nodiscard]] CommInfo comm_info(const net::XmlElement& topology_xml, int nodes, const Settings& settings, NcclVersion version);

// The ranks of every node in rank order; nodes in the order in which ranks first meet them, as NCCL counts them.
[[nodiscard]] std::vector<std::vector<Rank>> node_ranks(const net::Topology& topology, std::span<const DeviceId> devices);

// NCCL's view of one node of such a communicator: of the first, by whose ranks the graphs' GPUs and NICs are numbered.
[[nodiscard]] net::XmlElement node_xml(const net::Topology& topology, std::span<const DeviceId> devices, int node);
[[nodiscard]] SystemOptions system_options(const Settings& settings, NcclVersion version, bool several_nodes);

}  // namespace weft::coll::nccl
