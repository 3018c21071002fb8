#include "sim/network/machine.h"

#include <utility>

#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "sim/network/hybrid_fabric.h"
#include "sim/network/packet_level/packet_fabric.h"
#include "sim/network/parted_fabric.h"

namespace weft::net {
namespace {

std::unique_ptr<Fabric> make_fabric(Simulator& simulator, const Router& router, std::string_view routing,
                                    const FabricChoice& choice, std::uint64_t seed) {
  WEFT_CHECK(!has_packets(choice.fidelity) || choice.packet != nullptr);
  switch (choice.fidelity) {
    case Fidelity::kFlow:
      return std::make_unique<FlowFabric>(simulator, router.topology());
    case Fidelity::kPacket:
      if (choice.parts != nullptr)
        return std::make_unique<PartedFabric>(simulator, router, routing, *choice.packet, seed, *choice.parts,
                                              PartHands{choice.threads, choice.processes});
      return std::make_unique<PacketFabric>(simulator, router, *choice.packet, seed);
    case Fidelity::kHybrid:
      return std::make_unique<HybridFabric>(simulator, router, *choice.packet, seed, choice.packet_links);
  }
  throw InternalError("a fidelity without a fabric");
}

}  // namespace

Machine::Machine(const Topology& t, std::string_view routing, std::uint64_t seed, std::uint64_t shuffle_ties,
                 const FabricChoice& choice, std::shared_ptr<const HostRoutes> hosts)
    : topology{t},
      router{t, make_routing_policy(routing), seed, std::move(hosts)},
      owned_fabric{make_fabric(simulator, router, routing, choice, seed)},
      fabric{*owned_fabric},
      parted{choice.parts != nullptr ? dynamic_cast<PartedFabric*>(owned_fabric.get()) : nullptr} {
  if (shuffle_ties != 0) simulator.set_shuffle_ties(shuffle_ties);
}

void Machine::set_cable_state(LinkId link, bool up, bool returns) {
  const LinkId both[] = {link, topology.link(link).twin};
  fabric.set_link_state(router, both, up, returns);
}

}  // namespace weft::net
