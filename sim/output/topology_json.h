// The JSON of `weft topo`: counts, links by kind, and the route that was asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <vector>

#include "sim/core/result_header.h"
#include "sim/network/fabric_audit.h"
#include "sim/network/topology.h"
#include "sim/scenario/route_list.h"
#include "sim/scenario/topology_summary.h"

namespace weft::output {

// Covers every device's kind and every link's ends, rate, efficiency and latency, in id order.
[[nodiscard]] std::uint64_t topology_digest(const net::Topology& topology);

// `route` may be null; `more` writes further members.
void write_topology(std::ostream& out, const ResultHeader& header, const net::Topology& topology,
                    const scenario::TopologySummary& summary, const scenario::RouteView* route,
                    const std::function<void(JsonWriter&)>& more = {});

void write_routes(JsonWriter& json, const net::Topology& topology, const scenario::RouteList& list);

// `cycle`: of buffers; nothing: not looked for. Writes nothing where there is no fabric.
void write_audit(JsonWriter& json, const net::Topology& topology, const net::FabricAudit& audit,
                 const std::optional<std::vector<LinkId>>& cycle);

}  // namespace weft::output
