#include "sim/network/partition.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "sim/core/error.h"

namespace weft::net {
namespace {

constexpr std::uint32_t kNoUnit = 0xFFFF'FFFF;

// Links to the nearest host, of fabric switches: 1 at leaves. Devices of hosts: 0.
std::vector<std::uint32_t> find_tiers(const Topology& topology) {
  std::vector<std::uint32_t> tiers(topology.device_count(), kNoUnit);
  std::vector<DeviceId> wave;
  for (std::uint32_t i = 0; i < tiers.size(); ++i) {
    if (topology.host_of(DeviceId{i}) < 0) continue;
    tiers[i] = 0;
    wave.push_back(DeviceId{i});
  }
  for (std::size_t i = 0; i < wave.size(); ++i) {
    for (const LinkId link : topology.out_links(wave[i])) {
      const DeviceId to = topology.link(link).to;
      if (tiers[to.index()] != kNoUnit) continue;
      tiers[to.index()] = tiers[wave[i].index()] + 1;
      wave.push_back(to);
    }
  }
  return tiers;
}

class Cutter {
 public:
  explicit Cutter(const Topology& topology) : topology_{topology}, unit_(topology.device_count(), kNoUnit) {}

  Partition cut(std::size_t most) {
    if (!by_group()) by_pod();
    with_their_leaf();
    Partition out;
    out.parts = std::clamp<std::size_t>(units_, 1, std::min(most, kMostParts));
    out.part_of.resize(unit_.size(), 0);
    std::size_t dealt = 0;
    for (std::size_t i = 0; i < unit_.size(); ++i) {
      const std::size_t part = unit_[i] != kNoUnit ? unit_[i] * out.parts / units_ : dealt++ % out.parts;
      out.part_of[i] = static_cast<std::uint8_t>(part);
    }
    return out;
  }

 private:
  // Switches whose makers say which group they are in. False: they do not.
  bool by_group() {
    std::map<std::string_view, std::uint32_t> groups;
    for (const DeviceId device : topology_.fabric_switches()) {
      const std::string_view group = label_of(topology_.labels(device), "group");
      if (group.empty()) continue;
      unit_[device.index()] = groups.try_emplace(group, static_cast<std::uint32_t>(groups.size())).first->second;
    }
    if (groups.size() < 2) return false;
    units_ = groups.size();
    return true;
  }

  // Pods hang together without the switches that are farthest from hosts. Where those are all switches, each is on its own.
  void by_pod() {
    std::ranges::fill(unit_, kNoUnit);
    const std::vector<std::uint32_t> tiers = find_tiers(topology_);
    std::uint32_t top = 0;
    for (const std::uint32_t tier : tiers) {
      if (tier != kNoUnit) top = std::max(top, tier);
    }
    const bool one_tier = top <= 1;
    const auto is_inside = [&](DeviceId device) {
      const std::uint32_t tier = tiers[device.index()];
      return tier != kNoUnit && tier > 0 && (one_tier || tier < top);
    };
    for (const DeviceId first : topology_.fabric_switches()) {
      if (!is_inside(first) || unit_[first.index()] != kNoUnit) continue;
      const auto unit = static_cast<std::uint32_t>(units_++);
      unit_[first.index()] = unit;
      std::vector<DeviceId> pod{first};
      for (std::size_t i = 0; i < pod.size() && !one_tier; ++i) {
        for (const LinkId link : topology_.out_links(pod[i])) {
          const DeviceId to = topology_.link(link).to;
          if (!is_inside(to) || unit_[to.index()] != kNoUnit) continue;
          unit_[to.index()] = unit;
          pod.push_back(to);
        }
      }
    }
  }

  void with_their_leaf() {
    std::vector<std::uint32_t> of_host(topology_.host_count(), kNoUnit);
    for (std::size_t i = 0; i < topology_.link_count(); ++i) {
      const Link& link = topology_.link(LinkId::from_index(i));
      const std::int32_t host = topology_.host_of(link.from);
      if (host < 0 || topology_.host_of(link.to) >= 0) continue;
      std::uint32_t& unit = of_host[static_cast<std::size_t>(host)];
      if (unit == kNoUnit) unit = unit_[link.to.index()];
    }
    for (std::size_t i = 0; i < unit_.size(); ++i) {
      const std::int32_t host = topology_.host_of(DeviceId::from_index(i));
      if (host < 0) continue;
      const std::uint32_t unit = of_host[static_cast<std::size_t>(host)];
      unit_[i] = unit == kNoUnit ? 0 : unit;
    }
    units_ = std::max<std::size_t>(units_, 1);
  }

  const Topology& topology_;
  std::vector<std::uint32_t> unit_;  // by device; kNoUnit: it is dealt out
  std::size_t units_ = 0;
};

}  // namespace

bool links_equals(const Topology& topology) {
  const std::vector<std::uint32_t> tiers = find_tiers(topology);
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId::from_index(i));
    const std::uint32_t tier = tiers[link.from.index()];
    if (tier > 0 && tier != kNoUnit && tier == tiers[link.to.index()]) return true;
  }
  return false;
}

Partition cut_into_parts(const Topology& topology, std::size_t most) { return Cutter{topology}.cut(most); }

}  // namespace weft::net
