// Cuts a topology into parts that run side by side: pods, groups of a dragonfly, or else stretches of leaves. The cut follows
// from the topology alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/network/topology.h"

namespace weft::net {

inline constexpr std::size_t kMostParts = 64;

struct Partition {
  std::size_t parts = 1;
  std::vector<std::uint8_t> part_of = {};  // by device

  [[nodiscard]] std::size_t of(DeviceId device) const { return part_of[device.index()]; }
  [[nodiscard]] bool is_cut(const Link& link) const { return of(link.from) != of(link.to); }
};

// One part of a topology, or all of it.
struct PartView {
  const Partition* partition = nullptr;  // null: there is one part
  std::size_t part = 0;

  [[nodiscard]] bool is_whole() const { return partition == nullptr; }
  [[nodiscard]] bool has(DeviceId device) const { return is_whole() || partition->of(device) == part; }
};

// At most so many parts. Hosts are whole and go with the first leaf that they hang on. Switches that no host hangs on and that
// are in no pod or group are dealt out in turn.
[[nodiscard]] Partition cut_into_parts(const Topology& topology, std::size_t most = kMostParts);

// True where a link joins two switches that are equally far from hosts, as in a dragonfly or a torus. Elsewhere shortest ways
// go up, then down, and pauses do not wait for one another in a cycle.
[[nodiscard]] bool links_equals(const Topology& topology);

}  // namespace weft::net
