// Endpoints of flows by name or number, as workloads write them: "n3.gpu5", "h3", or 3.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/core/config/params.h"
#include "sim/core/ids.h"
#include "sim/network/topology.h"

namespace weft::work {

[[nodiscard]] std::optional<DeviceId> find_endpoint(const std::string& text, const net::Topology& topology);

// The note of an error about `name`: the nearest endpoint, and how endpoints are called here.
[[nodiscard]] std::string endpoint_note(const std::string& name, const net::Topology& topology);

// The endpoint under `key`, which is required; reports what is none, and switches of the fabric.
[[nodiscard]] DeviceId read_endpoint(ParamReader& item, std::string_view key, const net::Topology& topology);

}  // namespace weft::work
