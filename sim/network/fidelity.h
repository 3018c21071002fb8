// Fidelity says how closely a network's transfers are simulated. Readers of scenarios refuse by it what it does not know. Once
// there is a machine, nobody asks for it: the Fabric answers what depends on it (fabric.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::net {

enum class Fidelity : std::uint8_t {
  kFlow,    // transfers share links max-min fairly (flow_level/flow_fabric.h)
  kPacket,  // packets cross the links one by one (packet_level/packet_fabric.h)
  kHybrid,  // packets over chosen links, flows elsewhere (hybrid_fabric.h)
};

// As configurations write it: "flow", "packet", "hybrid".
[[nodiscard]] std::string_view to_string(Fidelity fidelity);
[[nodiscard]] const std::vector<std::string>& fidelity_names();  // in their order
[[nodiscard]] std::optional<Fidelity> fidelity_from(std::string_view name);

// All transfers are packets, or some may be.
[[nodiscard]] constexpr bool has_packets(Fidelity fidelity) { return fidelity != Fidelity::kFlow; }

}  // namespace weft::net
