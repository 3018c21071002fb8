// Reads the sections of a cluster's `fabric:` that only packet fidelity looks at:
//
//   fabric:
//     switch: {buffer: 32 MB, egress_alpha: 1, queue_limit: 2 MB, scheduling: dwrr, weights: {3: 3, 4: 1}}
//     pfc: {priorities: [3, 4], threshold: static, xoff: 100 kB, xon: 97 kB, headroom: auto}
//     ecn: {kmin: 5 kB, kmax: 200 kB, pmax: 1 %, mark: dequeue}
//     fecn, service_levels: {...}                     # InfiniBand's (infiniband_reader.h)
//     credits: {credits: 132, block: 64 B, update: 8 B}
//     switches: [{names: [spine0..3], buffer: 64 MB, pfc: {xoff: 200 kB}, ecn: {enabled: false}}]
//     transport: {window: 50 kB, reliability: go_back_n, acks: packets, congestion_control: {type: dcqcn}}
//
// A setting that a section leaves out and another one needs is turned on: a window needs acknowledgements, HPCC needs
// telemetry. The file may not rule it out itself: that is an error. docs/packet_fidelity.md lists every key.
#pragma once

#include <memory>

#include "sim/core/config/params.h"
#include "sim/network/packet_level/settings.h"
#include "sim/network/topology.h"

namespace weft::net {

// `fabric` is the map under `fabric`, `switches` the one under its `switch`, whose other keys and finish() are the caller's.
[[nodiscard]] PacketSettings read_packet_settings(ParamReader& fabric, ParamReader& switches);

// The switches that `fabric.switches` names and the ports that watchdogs do, once the topology is there.
void place_own_settings(const ConfigNode& fabric, const Topology& topology, Diagnostics& diagnostics, PacketSettings& settings);

// Reads what a flow's map says of its own queue pair, over the fabric's settings; null: nothing. Acknowledgements that it needs
// (for a window of its own, or its congestion control) are turned on where nobody has ruled them out.
[[nodiscard]] std::shared_ptr<const TransportSettings> read_own_transport(ParamReader& item, bool needs_acks,
                                                                          const CongestionNeeds& needs,
                                                                          const TransportSettings& fabric);

// NAME or {type: NAME, parameters}; null for "none" and after an error.
[[nodiscard]] std::shared_ptr<const CongestionFactory> read_congestion_control(const ConfigNode& node,
                                                                               Diagnostics& diagnostics);

// Returns what `needs` asks for and `transport` does not give, as "acknowledgements"; empty: nothing.
[[nodiscard]] std::string missing_for(const CongestionNeeds& needs, const TransportSettings& transport);

}  // namespace weft::net
