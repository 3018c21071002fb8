// Reads what a fabric says of Ultra Ethernet: its transport's keys, trimming in switches, and the routing that it needs.
#pragma once

#include <string>

#include "sim/core/config/params.h"
#include "sim/network/packet_level/settings.h"

namespace weft::net {

// Reads `type` of a transport and the keys of its kind, and gives `settings` the defaults of that kind. Called before other
// keys are read.
void read_transport_type(ParamReader& section, TransportSettings& settings);
// Refuses keys of the section that UEC has in other words, or not at all.
void refuse_beside_uec(ParamReader& section, const TransportSettings& settings);
// Reads `trimming`, `trim_size` and `trim_priority` of switches.
void read_trimming(ParamReader& switches, SwitchSettings& settings);
// Refuses trimming that no transport answers.
void check_trimming(ParamReader& switches, const PacketSettings& settings);
// Whether destinations grant credit.
bool grants_credit(const TransportSettings& settings);
// Refuses a congestion control whose credits the transport does not grant.
void check_credits(ParamReader& section, const TransportSettings& settings);
// Reads `llr` of a fabric.
void read_link_retry(ParamReader& fabric, PacketSettings& settings);
// The routing of a fabric that states none.
[[nodiscard]] std::string default_routing(const ConfigNode& fabric);
// Refuses routing that does not go with the transport. `routing`: as stated, or the default.
void check_routing(ParamReader& fabric, const std::string& routing, const TransportSettings& transport);

}  // namespace weft::net
