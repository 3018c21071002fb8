// Why a transfer was aborted, as a person is told: what cuts the path between two devices now.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/network/machine.h"

namespace weft::work {

// Where a path is left.
inline constexpr std::string_view kLostForGood = "packets were lost, and nobody sends them again";

[[nodiscard]] inline std::optional<std::string> cut_between(net::Machine& machine, DeviceId from, DeviceId to,
                                                            const net::FlowKey& key) {
  const std::optional<std::string> cut = machine.router.what_cuts(machine.router.find_route(from, to, key));
  if (!cut) return std::nullopt;
  return fmt::format("no path is left from {} to {}: {}", machine.topology.name(from), machine.topology.name(to), *cut);
}

}  // namespace weft::work
