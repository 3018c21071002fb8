// Fabrics between hosts: a shape turns a few numbers (ports of a leaf, oversubscription, k, dimensions) into switches and
// cables.
//
//   shape = topology_shapes().find("leaf_spine")->make(reader);   // reads its own keys of `fabric:`
//   size = shape->plan(demand, diagnostics);                      // counts, and every relation checked; nothing is built yet
//   shape->build(site);                                           // adds switches, then cables, host side first
//
// Switches are named leaf0, spine0, core0 (edge, agg, core in a fat tree; router in dragonfly and torus) and carry the labels
// `tier` (0: hosts hang on it), `rail`, `unit`, `pod` or `group` where they mean something.
//
// Implementations live in topologies/, one file each. Not here: which of several equal paths is taken (router.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/core/profile.h"
#include "sim/core/units.h"
#include "sim/network/topology.h"

namespace weft::net {

// A fabric must join these: `nodes` equal hosts of `rails` NICs each (1 for a bare host).
struct FabricDemand {
  std::int64_t nodes = 0;
  std::int64_t rails = 1;
  const HostTemplate* host = nullptr;
  const Profile* profile = nullptr;  // of links a shape reads itself

  [[nodiscard]] std::int64_t ports() const { return nodes * rails; }
};

// Counts of what would be built.
struct FabricSize {
  std::int64_t switches = 0;
  std::int64_t cables = 0;
};

// Where a shape builds: hosts are there already; switches and cables are added.
class FabricSite {
 public:
  FabricSite(TopologyBuilder& builder, const FabricDemand& demand, std::uint32_t link, std::uint32_t uplink,
             Forwarding forwarding);

  [[nodiscard]] TopologyBuilder& builder() { return *builder_; }
  [[nodiscard]] const FabricDemand& demand() const { return demand_; }
  // The device of `node` that a fabric cable plugs into: NIC number `rail`, or the bare host itself.
  [[nodiscard]] DeviceId port(std::int64_t node, std::int64_t rail) const;
  // Port `index` of all, counted node by node.
  [[nodiscard]] DeviceId port(std::int64_t index) const { return port(index / demand_.rails, index % demand_.rails); }

  [[nodiscard]] const Forwarding& forwarding() const { return forwarding_; }
  DeviceId add_switch(std::string name, Labels labels);
  void join_host(DeviceId port, DeviceId leaf) { builder_->add_cable(port, leaf, link_); }
  void join_switches(DeviceId a, DeviceId b, std::int64_t cables = 1);

 private:
  TopologyBuilder* builder_;
  FabricDemand demand_;
  std::vector<std::uint32_t> local_ports_;
  std::uint32_t link_;
  std::uint32_t uplink_;
  Forwarding forwarding_;
};

// Local indices of the devices of a host that cables of the fabric plug into: its NICs, or a bare host.
[[nodiscard]] std::vector<std::uint32_t> fabric_ports(const HostTemplate& host);

class TopologyShape {
 public:
  virtual ~TopologyShape() = default;

  // Checks the demand against the parameters and says what it takes, in O(1) of the fabric's size (custom: of the file's).
  virtual FabricSize plan(const FabricDemand& demand, Diagnostics& diagnostics) = 0;

  // Only after a plan() for the same demand that found no errors.
  virtual void build(FabricSite& site) const = 0;

  // Whether every link states its own type, so that `fabric.link` may be absent.
  [[nodiscard]] virtual bool states_links() const { return false; }
};

}  // namespace weft::net
