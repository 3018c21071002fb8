// Reads what a fabric says of InfiniBand's virtual lanes and marks:
//
//   fabric:
//     service_levels: {0: 0, 1: 1, 8: 1}                # service level: virtual lane (a priority, 0 to 7)
//     switch: {scheduling: vl_arbitration, vl_arbitration: {high: [{vl: 7, weight: 1}], low: [{vl: 0, weight: 64}], high_limit:
//     0}} fecn: {threshold: 15, marking_rate: 10, packet_size: 512 B, victim_mask: false}      # threshold: a weight or a size
//
// docs/packet_fidelity.md lists every key.
#pragma once

#include "sim/core/config/params.h"
#include "sim/network/packet_level/settings.h"

namespace weft::net {

// `vl_arbitration` of a switch whose scheduling is that.
void read_lane_tables(ParamReader& switches, SwitchSettings& settings);

// `service_levels`, where it is stated.
void read_service_levels(ParamReader& fabric, PacketSettings& settings);

// The section itself, but for `enabled`, `priorities` and finish().
[[nodiscard]] FecnSettings read_fecn(ParamReader& section, FecnSettings settings);

// The lane of what states a `priority` or a `service_level`; 0 where neither is stated.
[[nodiscard]] int read_lane(ParamReader& item, const PacketSettings* settings);

}  // namespace weft::net
