// A bill of materials lists a cluster as a buyer counts it: servers, GPUs, NICs, switches per tier, cables per pair of tiers.
//
//   const BillOfMaterials bill = bill_of_materials(cluster.topology);
//   bill.switches[0]      // 16 x leaf, infiniband 400 Gb/s, 64 ports in use
//   bill.cables[1]        // 512 x leaf-spine, infiniband 400 Gb/s
//
// Counted from the topology alone, device by device and cable by cable (models/network §5.2 has NVIDIA's counts). Not here:
// what depends on a machine room (lengths, optics, racks: floor_plan.h) and prices (price_book.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/network/topology.h"

namespace weft::plan {

// Hosts of one template, with what is inside one of them.
struct ServerLine {
  std::string model = {};  // name of the node template
  std::int64_t count = 0;
  std::string gpu = {};  // model of its GPUs; empty: it has none, or they are not named
  double gpu_watts = 0;  // of one of them by its data sheet; 0: not stated
  std::int64_t gpus = 0;
  std::int64_t nvswitches = 0;
  std::int64_t pcie_switches = 0;
  std::int64_t cpus = 0;
  std::int64_t nics = 0;
  std::int64_t fabric_ports = 0;  // cables of one host into the fabric
  Bandwidth port_rate = {};       // of the fastest of them
};

struct SwitchLine {
  std::string tier = {};        // "leaf", "spine", "core"; where the fabric has no tiers the stem of the switches' names
  std::string type = {};        // of its links: "infiniband", "ethernet"
  Bandwidth rate = {};          // of its fastest port
  std::int64_t ports = 0;       // in use, of the one that uses most
  std::int64_t ports_used = 0;  // of all together
  std::int64_t count = 0;
};

struct CableLine {
  std::string tiers = {};  // "node-leaf", "leaf-spine", "spine-core"
  std::string type = {};
  Bandwidth rate = {};
  std::int64_t count = 0;
  bool at_node = false;  // one end is a host
};

struct BillOfMaterials {
  std::vector<ServerLine> servers = {};   // in order of appearance
  std::vector<SwitchLine> switches = {};  // by tier from the hosts up
  std::vector<CableLine> cables = {};     // of the fabric, from the hosts up; what is inside a host comes with it

  [[nodiscard]] std::int64_t server_count() const;
  [[nodiscard]] std::int64_t gpus() const;
  [[nodiscard]] std::int64_t nics() const;
  [[nodiscard]] std::int64_t nvswitches() const;
  [[nodiscard]] std::int64_t switch_count() const;
  [[nodiscard]] std::int64_t cable_count() const;
  // Count one tier, or one pair of tiers; 0 where there is none.
  [[nodiscard]] std::int64_t switches_of(std::string_view tier) const;
  [[nodiscard]] std::int64_t cables_of(std::string_view tiers) const;
};

[[nodiscard]] BillOfMaterials bill_of_materials(const net::Topology& topology);

}  // namespace weft::plan
