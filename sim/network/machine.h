// A machine is a topology brought to life: its clock, its routes and the fabric that moves its transfers.
//
//   Machine machine{topology, "adaptive", seed};                                                    // transfers are flows
//   Machine packets{topology, "ecmp", seed, 0, {.fidelity = Fidelity::kPacket, .packet = &settings}};
//   const FootprintId way = machine.fabric.add_footprint(machine.router.route(from, to, {}));
//   machine.fabric.post({.footprint = way, .bytes = 1_MiB}, listener);
//   machine.simulator.run();
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/core/simulator.h"
#include "sim/network/fabric.h"
#include "sim/network/fidelity.h"
#include "sim/network/packet_level/settings.h"
#include "sim/network/router.h"

namespace weft::net {

struct Partition;    // partition.h
class PartedFabric;  // parted_fabric.h
class PartProcesses;

// Chooses the fabric of a machine.
struct FabricChoice {
  Fidelity fidelity = Fidelity::kFlow;
  const PacketSettings* packet = nullptr;  // read where there are packets, and copied
  const Partition* parts = nullptr;        // at packet fidelity: flows of one message in these parts; null: in one
  int threads = 1;                         // that run the parts
  PartProcesses* processes = nullptr;      // that run them; null: this one alone
  std::vector<bool> packet_links = {};     // by link, at hybrid fidelity: what crosses one of these is packets
};

// The topology must outlive it.
struct Machine {
  // `hosts`: as Router's, another machine's of the same topology.
  Machine(const Topology& topology, std::string_view routing, std::uint64_t seed, std::uint64_t shuffle_ties = 0,
          const FabricChoice& choice = {}, std::shared_ptr<const HostRoutes> hosts = nullptr);

  // Both directions of a cable fail, or are back: for routes and for the fabric at once. `returns`: it fails for a time only.
  void set_cable_state(LinkId link, bool up, bool returns = false);

  const Topology& topology;
  Simulator simulator;
  Router router;
  std::unique_ptr<Fabric> owned_fabric;
  Fabric& fabric;
  PartedFabric* parted = nullptr;  // the fabric, where it is in parts
};

}  // namespace weft::net
