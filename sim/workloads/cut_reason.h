// Why a transfer was aborted, as a person is told: what cuts the path between two devices now, or its transport.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/network/machine.h"
#include "sim/network/packet_probe.h"

namespace weft::work {

// Where a path is left, or will be.
inline constexpr std::string_view kLostForGood = "packets were lost, and nobody sends them again";

// A transfer on the footprint, which was made for `ends`, is aborted now.
[[nodiscard]] inline std::string why_aborted(net::Machine& machine, FootprintId footprint, const net::PathEnds& ends) {
  const auto& [from, to, key] = ends;
  const std::optional<std::string> cut = machine.router.what_cuts(machine.router.find_route(from, to, key));
  if (cut && !machine.fabric.failures_pass())
    return fmt::format("no path is left from {} to {}: {}", machine.topology.name(from), machine.topology.name(to), *cut);
  if (!machine.fabric.takes_packets(footprint)) return std::string{kLostForGood};
  const int timeouts = machine.fabric.probe().flow(footprint).gave_up_after;
  if (timeouts == 0) return std::string{kLostForGood};
  return fmt::format("its sender gave up after {} time-outs in a row, with transport.retries: {}{}{}", timeouts, timeouts - 1,
                     cut ? "; " : "", cut.value_or(""));
}

}  // namespace weft::work
