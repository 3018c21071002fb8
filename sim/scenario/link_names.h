// Links by the names that `weft topo` and results print, as scenarios write them: "h0->s1", "n0.gpu0->n0.nvswitch0#1".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/core/config/params.h"
#include "sim/core/ids.h"
#include "sim/network/topology.h"

namespace weft::scenario {

[[nodiscard]] std::optional<LinkId> find_link(std::string_view name, const net::Topology& topology);

// The link that `node` names; reports what is none, with the links that leave the same device.
[[nodiscard]] std::optional<LinkId> read_link(const ConfigNode& node, const net::Topology& topology, Diagnostics& diagnostics);

}  // namespace weft::scenario
