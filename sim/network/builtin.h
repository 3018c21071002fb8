// The models of the network layer that can be chosen by name, from builtin.def.
#pragma once

#include <memory>
#include <string_view>

#include "sim/core/profile.h"
#include "sim/core/registry.h"
#include "sim/network/congestion.h"
#include "sim/network/link_type.h"
#include "sim/network/nic_transport.h"
#include "sim/network/router.h"
#include "sim/network/topology_shape.h"

namespace weft::net {

#define WEFT_LINK_TYPE(name) extern const Registration<LinkType> name;
#define WEFT_TOPOLOGY(name) extern const Registration<TopologyShape> name;
#define WEFT_ROUTING(name) extern const Registration<RoutingPolicy> name;
#define WEFT_CONGESTION(name) extern const Registration<CongestionFactory> name;
#define WEFT_NIC_TRANSPORT(name) extern const Registration<NicTransport> name;
#include "sim/network/builtin.def"

[[nodiscard]] const Registry<LinkType>& link_types();
[[nodiscard]] const Registry<TopologyShape>& topology_shapes();
[[nodiscard]] const Registry<RoutingPolicy>& routing_policies();
[[nodiscard]] const Registry<NicTransport>& nic_transports();
// A policy by its name, or by its map as text, {"type": "ecmp", "switch_seeds": false}; ConfigError with the choices where
// there is none.
[[nodiscard]] std::unique_ptr<RoutingPolicy> make_routing_policy(std::string_view stated);
// The same of what a fabric states under `routing`; null after an error.
[[nodiscard]] std::unique_ptr<RoutingPolicy> read_routing_policy(ParamReader& stated);

// Everything of this layer that a profile may say something about: link types and NIC transports by name, then the rest.
[[nodiscard]] ParamGroups network_param_groups();

}  // namespace weft::net
