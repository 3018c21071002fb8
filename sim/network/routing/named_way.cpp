#include "sim/network/routing/named_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace weft::net {
namespace {

constexpr std::uint32_t kFar = 0xFFFF'FFFF;

[[nodiscard]] bool passes_on(DeviceKind kind) { return kind != DeviceKind::kHost && kind != DeviceKind::kStorage; }

class Search {
 public:
  Search(const Topology& topology, const PickLink& pick, const IsOpen& is_open)
      : topology_{topology}, pick_{pick}, is_open_{is_open}, closed_(topology.device_count(), false) {}

  // No way goes through it.
  void close(DeviceId device) { closed_[device.index()] = true; }

  // Adds the links of a shortest way. False: there is none.
  bool extend(DeviceId from, DeviceId to, std::vector<LinkId>& links) {
    find_distances(from, to);
    if (far_[from.index()] == kFar) return false;
    for (DeviceId at = from; at != to;) {
      candidates_.clear();
      for (const LinkId link : topology_.out_links(at)) {
        const DeviceId next = topology_.link(link).to;
        if (is_open_(link) && far_[next.index()] != kFar && far_[next.index()] + 1 == far_[at.index()])
          candidates_.push_back(link);
      }
      links.push_back(candidates_.size() == 1 ? candidates_[0] : pick_(at, candidates_));
      at = topology_.link(links.back()).to;
    }
    return true;
  }
  // The same over one link.
  bool step(DeviceId from, DeviceId to, std::vector<LinkId>& links) {
    candidates_.clear();
    for (const LinkId link : topology_.out_links(from)) {
      if (topology_.link(link).to == to && is_open_(link)) candidates_.push_back(link);
    }
    if (candidates_.empty()) return false;
    links.push_back(candidates_.size() == 1 ? candidates_[0] : pick_(from, candidates_));
    return true;
  }

 private:
  // Whether a short way goes through a device that nobody named: no GPU, and no device of a third host.
  [[nodiscard]] bool is_passed(DeviceId device, DeviceId from, DeviceId to) const {
    const std::int32_t host = topology_.host_of(device);
    if (host >= 0 && host != topology_.host_of(from) && host != topology_.host_of(to)) return false;
    return passes_on(topology_.kind(device)) && topology_.kind(device) != DeviceKind::kGpu;
  }
  // Links to `to`, breadth first against the links' directions, until `from` is found.
  void find_distances(DeviceId from, DeviceId to) {
    far_.assign(topology_.device_count(), kFar);
    far_[to.index()] = 0;
    std::vector<DeviceId> queue{to};
    for (std::size_t head = 0; head < queue.size() && far_[from.index()] == kFar; ++head) {
      const DeviceId at = queue[head];
      for (const LinkId link : topology_.out_links(at)) {
        const DeviceId before = topology_.link(link).to;
        if (far_[before.index()] != kFar || !is_open_(topology_.link(link).twin)) continue;
        if (before != from && (closed_[before.index()] || !is_passed(before, from, to))) continue;
        far_[before.index()] = far_[at.index()] + 1;
        queue.push_back(before);
      }
    }
  }

  const Topology& topology_;
  const PickLink& pick_;
  const IsOpen& is_open_;
  std::vector<bool> closed_;
  std::vector<std::uint32_t> far_;
  std::vector<LinkId> candidates_;
};

// The devices that links lead to from one, as far as a line has room for them.
std::string neighbours(const Topology& topology, DeviceId device, const IsOpen& is_open) {
  constexpr std::size_t kMost = 12;
  std::vector<DeviceId> all;
  for (const LinkId link : topology.out_links(device)) {
    if (is_open(link) && std::ranges::find(all, topology.link(link).to) == all.end()) all.push_back(topology.link(link).to);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + topology.name(all[i]);
  return fmt::format("links from '{}' lead to {}{}", topology.name(device), text, all.size() > kMost ? ", ..." : "");
}

}  // namespace

FoundWay find_named_way(const Topology& topology, DeviceId source, DeviceId destination, const NamedWay& way,
                        const PickLink& pick, const IsOpen& is_open) {
  FoundWay found;
  const std::size_t last = way.devices.empty() ? 0 : way.devices.size() - 1;
  const auto fail = [&](std::size_t at, std::string why, std::string advice = {}) {
    found.links.clear();
    found.at = std::min(at, last);
    found.why = std::move(why);
    found.advice = std::move(advice);
    return found;
  };
  std::vector<DeviceId> stops{source};
  for (std::size_t i = 0; i < way.devices.size(); ++i) {
    const DeviceId device = way.devices[i];
    if (std::ranges::find(stops, device) != stops.end() || device == destination)
      return fail(i, fmt::format("the way visits '{}' twice", topology.name(device)));
    if (!passes_on(topology.kind(device))) {
      return fail(
          i, fmt::format("'{}' is a {}, which passes nothing on", topology.name(device), to_string(topology.kind(device))));
    }
    stops.push_back(device);
  }
  if (source == destination) return fail(last, fmt::format("the way visits '{}' twice", topology.name(source)));
  stops.push_back(destination);

  Search search{topology, pick, is_open};
  for (const DeviceId stop : stops) search.close(stop);
  for (std::size_t i = 0; i + 1 < stops.size(); ++i) {
    const std::size_t begin = found.links.size();
    if (way.complete) {
      if (search.step(stops[i], stops[i + 1], found.links)) continue;
      return fail(i, fmt::format("no link leads from '{}' to '{}'", topology.name(stops[i]), topology.name(stops[i + 1])),
                  neighbours(topology, stops[i], is_open));
    }
    if (search.extend(stops[i], stops[i + 1], found.links)) {
      for (std::size_t k = begin; k < found.links.size(); ++k) search.close(topology.link(found.links[k]).to);
      continue;
    }
    // Only through a device where it has been, or is yet to be?
    Search anywhere{topology, pick, is_open};
    std::vector<LinkId> links;
    if (!anywhere.extend(stops[i], stops[i + 1], links))
      return fail(i, fmt::format("no way leads from '{}' to '{}'", topology.name(stops[i]), topology.name(stops[i + 1])));
    for (const LinkId link : links) {
      const DeviceId to = topology.link(link).to;
      if (to == stops[i + 1]) break;
      const bool was_there = std::ranges::any_of(found.links, [&](LinkId l) { return topology.link(l).to == to; });
      if (!was_there && std::ranges::find(stops, to) == stops.end()) continue;
      return fail(i, fmt::format("the way visits '{}' twice", topology.name(to)),
                  fmt::format("from '{}' to '{}' it goes there again", topology.name(stops[i]), topology.name(stops[i + 1])));
    }
    return fail(i, fmt::format("no way from '{}' to '{}' visits every device once", topology.name(stops[i]),
                               topology.name(stops[i + 1])));
  }
  return found;
}

}  // namespace weft::net
