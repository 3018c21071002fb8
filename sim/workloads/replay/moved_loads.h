// The loads of a group's call, moved to a group that lies like it on other hosts.
#pragma once

#include <optional>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/network/router.h"
#include "sim/network/transfer.h"
#include "sim/workloads/replay/host_places.h"

namespace weft::work {

// `loads`: of a call of kind `kind` of the devices `of`, all usages on links. `devices`: as many, whose hosts have the same
// templates, and each the same place in its host or one that looks the same. What is inside hosts and between a host and its
// switches is on the links that correspond, exactly; between switches what each NIC sent goes to its like on the next host, in
// an all-to-all to all that receive on the others. Nothing: a place or a cable has no counterpart.
[[nodiscard]] std::optional<net::Footprint> moved_loads(const net::Router& router, const HostPlaces& places,
                                                        const net::Footprint& loads, const std::vector<DeviceId>& of,
                                                        const std::vector<DeviceId>& devices, coll::Collective kind);

}  // namespace weft::work
