// A way between two endpoints that a person names: every device on it (`route:`), or some devices that it goes through, with as
// few links between them as there can be (`via:`). It visits no device twice, and is one path for all packets.
//
// Model: links between hosts and inside them count alike, and so do those between groups of a dragonfly.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/ids.h"
#include "sim/network/topology.h"

namespace weft::net {

struct NamedWay {
  std::vector<DeviceId> devices;  // in order, without the ends
  bool complete = false;          // every device on the way is named

  [[nodiscard]] bool stated() const { return complete || !devices.empty(); }
};

struct FoundWay {
  std::vector<LinkId> links;  // from end to end; empty: there is no such way
  std::string why;            // not
  std::string advice;
  std::size_t at = 0;  // the named device that the way cannot reach, or leave for the destination
};

// Returns one of several links that would do, all of which leave `at`.
using PickLink = std::function<LinkId(DeviceId at, std::span<const LinkId> candidates)>;
using IsOpen = std::function<bool(LinkId)>;

[[nodiscard]] FoundWay find_named_way(const Topology& topology, DeviceId source, DeviceId destination, const NamedWay& way,
                                      const PickLink& pick, const IsOpen& is_open);

}  // namespace weft::net
