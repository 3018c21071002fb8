// A floor plan adds a machine room to a bill of materials: cable lengths, the medium each length takes, optical modules, racks.
//
//   floor_plan:
//     servers_per_rack: 4
//     switches_per_rack: 16
//     lengths: {node: 15 m, leaf: 20 m, spine: 40 m, other: 10 m}     # of a cable, by its lower end
//     copper_up_to: 3 m                                               # longer cables are optical
//     ports_per_switch_module: 2                                      # NDR's twin-port OSFP; 1 elsewhere
//
// Model: every cable between two tiers is as long as the others; a server of more than 16 GPUs is a rack of its own; switches
// have racks of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/planning/cost/bill_of_materials.h"

namespace weft::plan {

struct FloorPlan {
  std::int64_t servers_per_rack = 4;  // DGX H100: 4 x 10.2 kW is what an air-cooled rack takes (models/workloads §7.3)
  std::int64_t switches_per_rack = 16;
  double node_metres = 15;   // server to first switch: to a row's end
  double leaf_metres = 20;   // first to second tier
  double spine_metres = 40;  // second to third
  double other_metres = 10;  // between switches without tiers
  double copper_up_to_metres = 3;
  std::int64_t ports_per_switch_module = 2;

  [[nodiscard]] static FloorPlan read(ParamReader& params);
};

// A kind of cable with the length and medium it takes.
struct LaidCable {
  CableLine line = {};
  double metres = 0;
  bool optical = false;
};

// Modules of optical cables: at a switch one carries several ports, at a NIC one.
struct ModuleLine {
  bool at_switch = false;
  Bandwidth port_rate = {};
  std::int64_t ports = 1;  // of one module
  std::int64_t count = 0;
};

struct Installation {
  std::vector<LaidCable> cables = {};
  std::vector<ModuleLine> modules = {};
  std::int64_t server_racks = 0;
  std::int64_t switch_racks = 0;
  [[nodiscard]] std::int64_t racks() const { return server_racks + switch_racks; }
};
[[nodiscard]] Installation install(const BillOfMaterials& bill, const FloorPlan& plan);

}  // namespace weft::plan
