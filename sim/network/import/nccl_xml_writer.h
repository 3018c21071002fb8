// Writes one host of any topology as NCCL's topology file (NCCL_TOPO_FILE; models/nccl §1.1), so that NCCL would see its graph.
//
// A host that came from such a file is written as it was: the same elements in the same order with the same values. For any
// other host, what NCCL wants and a topology does not say is made up, the same way every time:
//
//   bus ids      0000:<n>:00.0, n counting the devices (what a node template states in labels wins, here and below)
//   rank, dev    the GPU's number in the host, and on its OS host: CPUs that no socket link joins are of different ones
//   sm           by the generation of its NVLinks, else of its PCIe link
//   NVSwitches   all of a host are one invisible target with the sum of the links, as NCCL has it
//   CPU          by the link between sockets; Grace beside NVLink-C2C; one that owns what no CPU is linked to
//   speed        of a NIC: that of its links out of the host; absent without one
//
// Model: links that are no part of NCCL's tree (a second PCIe path, an NVSwitch to an NVSwitch) are left out, and links between
// GPUs of any other kind than PCIe are written as NVLinks; Infinity Fabric as the `xgmi` of RCCL's files (version 2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/network/import/nccl_xml.h"
#include "sim/network/topology.h"

namespace weft::net {

// ConfigError: the host has no GPU, NVSwitches that join its GPUs in several groups, or links of a generation that NCCL has no
// value for. `notes`: sentences on rates that the file does not say as the topology does.
[[nodiscard]] XmlElement nccl_xml_tree(const Topology& topology, std::size_t host = 0,
                                       std::vector<std::string>* notes = nullptr);
// A `net` of that file, and the device of the host's template that is its NIC.
struct NcclNet {
  std::uint32_t nic = 0;
  int system = 0;  // its OS host, counted as the file's CPUs come
  std::int64_t dev = 0;
};
[[nodiscard]] std::vector<NcclNet> nccl_nets(const Topology& topology, std::size_t host);
[[nodiscard]] std::string export_nccl_xml(const Topology& topology, std::size_t host = 0,
                                          std::vector<std::string>* notes = nullptr);

}  // namespace weft::net
