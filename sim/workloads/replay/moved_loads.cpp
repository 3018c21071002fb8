#include "sim/workloads/replay/moved_loads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace weft::work {
namespace {

class LoadsMover {
 public:
  LoadsMover(const net::Router& router, const HostPlaces& places, const std::vector<DeviceId>& of,
             const std::vector<DeviceId>& devices)
      : router_{router}, topology_{router.topology()} {
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (!pair_hosts(of[i], devices[i])) is_possible_ = false;
    }
    for (std::size_t i = 0; i < of.size() && is_possible_; ++i) {
      if (topology_.host_of(of[i]) >= 0 && !pair_places(places, of[i], devices[i])) is_possible_ = false;
    }
  }

  std::optional<net::Footprint> move(const net::Footprint& loads, coll::Collective kind) {
    net::Footprint moved;
    for (const Usage& usage : loads.usages) {
      if (!is_possible_ || !move_usage(usage, moved)) return std::nullopt;
    }
    if (crosses_switches_) add_switches(kind, moved);
    net::Footprint sum;
    sum.couple(moved);
    return sum;
  }

 private:
  // Where ranks are, by first mention: a host, or a device that is one by itself.
  struct Pair {
    std::int32_t host = -1;
    std::int32_t to_host = -1;
    DeviceId device = {};
    DeviceId to_device = {};
    bool moves_inside = false;                         // its members have other places
    std::map<std::uint32_t, std::uint32_t> like = {};  // then, by place, the one that corresponds
  };
  struct Place {
    std::size_t pair = 0;
    std::uint32_t local = 0;
    auto operator<=>(const Place&) const = default;
  };

  bool pair_hosts(DeviceId from, DeviceId to) {
    const Pair pair{topology_.host_of(from), topology_.host_of(to), from, to};
    if ((pair.host < 0) != (pair.to_host < 0)) return false;
    const bool moves_inside = pair.host >= 0 && topology_.local(from) != topology_.local(to);
    const auto [known, is_new] = pair_of_.try_emplace(key_of(from), pairs_.size());
    if (is_new) pairs_.push_back(pair);
    pairs_[known->second].moves_inside |= moves_inside;
    if (!is_new) {
      const Pair& other = pairs_[known->second];
      return pair.host >= 0 ? other.to_host == pair.to_host : other.to_device == to;
    }
    to_hosts_.insert(key_of(to));
    return true;
  }
  // Whatever surrounds a member corresponds to what surrounds its like.
  bool pair_places(const HostPlaces& places, DeviceId from, DeviceId to) {
    Pair& pair = pairs_[pair_of_.at(key_of(from))];
    if (!pair.moves_inside) return true;
    const std::uint32_t host_template = topology_.host(static_cast<std::size_t>(pair.host)).host_template;
    if (topology_.host(static_cast<std::size_t>(pair.to_host)).host_template != host_template) return false;
    const HostPlaces::Standing& here = places.of(host_template, topology_.local(from));
    const HostPlaces::Standing& there = places.of(host_template, topology_.local(to));
    if (!here.kind || here.kind != there.kind || !correspond(pair, topology_.local(from), topology_.local(to))) return false;
    for (std::size_t ring = 0; ring < HostPlaces::kRings; ++ring) {
      if (here.rings[ring].size() != there.rings[ring].size()) return false;
      for (std::size_t i = 0; i < here.rings[ring].size(); ++i) {
        if (!correspond(pair, here.rings[ring][i], there.rings[ring][i])) return false;
      }
    }
    return true;
  }
  static bool correspond(Pair& pair, std::uint32_t from, std::uint32_t to) {
    return pair.like.try_emplace(from, to).first->second == to;
  }
  // A host, or a device without one.
  [[nodiscard]] std::pair<std::int32_t, DeviceId> key_of(DeviceId device) const {
    const std::int32_t host = topology_.host_of(device);
    return {host, host < 0 ? device : DeviceId{}};
  }

  // Returns the place of a device of the group's hosts; a switch of the fabric has none.
  [[nodiscard]] std::optional<Place> place_of(DeviceId device) const {
    const auto known = pair_of_.find(key_of(device));
    if (known == pair_of_.end()) return std::nullopt;
    return Place{known->second, known->first.first < 0 ? 0 : topology_.local(device)};
  }
  // Nothing where none corresponds.
  [[nodiscard]] std::optional<DeviceId> counterpart(const Place& place) const {
    const Pair& pair = pairs_[place.pair];
    if (pair.host < 0) return pair.to_device;
    if (!pair.moves_inside) return topology_.device_of(static_cast<std::size_t>(pair.to_host), place.local);
    const auto like = pair.like.find(place.local);
    if (like == pair.like.end()) return std::nullopt;
    return topology_.device_of(static_cast<std::size_t>(pair.to_host), like->second);
  }

  // The link from one counterpart to the other: of those between the two the same one in order.
  [[nodiscard]] std::optional<LinkId> same_link(LinkId link, const Place& from, const Place& to) const {
    const Pair& pair = pairs_[from.pair];
    if (!pair.moves_inside) {
      const std::uint32_t place = link.value() - topology_.host(static_cast<std::size_t>(pair.host)).first_link;
      return topology_.link_of(static_cast<std::size_t>(pair.to_host), place);
    }
    const std::optional<DeviceId> other_from = counterpart(from);
    const std::optional<DeviceId> other_to = counterpart(to);
    if (!other_from || !other_to) return std::nullopt;
    const DeviceId to_here = topology_.link(link).to;
    std::ptrdiff_t number = 0;
    for (const LinkId each : topology_.out_links(topology_.link(link).from)) {
      if (each == link) break;
      if (topology_.link(each).to == to_here) ++number;
    }
    for (const LinkId each : topology_.out_links(*other_from)) {
      if (topology_.link(each).to == *other_to && number-- == 0) return each;
    }
    return std::nullopt;
  }

  // The cable of the counterpart that is the same in the list of its cables.
  [[nodiscard]] std::optional<LinkId> same_uplink(LinkId up, const Place& place) const {
    const std::optional<DeviceId> other = counterpart(place);
    if (!other) return std::nullopt;
    const auto links = topology_.uplinks(topology_.link(up).from);
    const auto others = topology_.uplinks(*other);
    const auto at = static_cast<std::size_t>(std::ranges::find(links, up) - links.begin());
    if (at == links.size() || links.size() != others.size()) return std::nullopt;
    return others[at];
  }

  bool move_usage(const Usage& usage, net::Footprint& moved) {
    const LinkId link{usage.resource.value()};
    const std::optional<Place> from = place_of(topology_.link(link).from);
    const std::optional<Place> to = place_of(topology_.link(link).to);
    if (from && to) {
      if (from->pair != to->pair || pairs_[from->pair].host < 0) return false;
      const std::optional<LinkId> other = same_link(link, *from, *to);
      if (!other) return false;
      moved.usages.push_back({ResourceId{other->value()}, usage.usage});
    } else if (from) {
      const std::optional<LinkId> up = same_uplink(link, *from);
      if (!up) return false;
      moved.usages.push_back({ResourceId{up->value()}, usage.usage});
      sent_[*from] += usage.usage;
    } else if (to) {
      const std::optional<LinkId> up = same_uplink(topology_.link(link).twin, *to);
      if (!up) return false;
      moved.usages.push_back({ResourceId{topology_.link(*up).twin.value()}, usage.usage});
      received_[*to] += usage.usage;
    } else {
      crosses_switches_ = true;
    }
    return true;
  }

  void add_switches(coll::Collective kind, net::Footprint& moved) const {
    for (const auto& [place, sent] : sent_) {
      if (kind != coll::Collective::kAllToAll) {
        add_way(place, {(place.pair + 1) % pairs_.size(), place.local}, sent, moved);
        continue;
      }
      double received = 0;
      for (const auto& [other, amount] : received_) received += other.pair == place.pair ? 0 : amount;
      for (const auto& [other, amount] : received_) {
        if (other.pair != place.pair) add_way(place, other, sent * amount / received, moved);
      }
    }
  }
  // Adds the links between switches on the way between counterparts.
  void add_way(const Place& from, const Place& to, double amount, net::Footprint& moved) const {
    const std::optional<DeviceId> sends = counterpart(from);
    const std::optional<DeviceId> receives = counterpart(to);
    if (!sends || !receives) return;
    const auto way = router_.find_route(*sends, *receives, {});
    if (!way) return;
    for (const Usage& usage : way->usages) {
      const net::Link& link = topology_.link(LinkId{usage.resource.value()});
      if (to_hosts_.contains(key_of(link.from)) || to_hosts_.contains(key_of(link.to))) continue;
      moved.usages.push_back({usage.resource, usage.usage * amount});
    }
  }

  const net::Router& router_;
  const net::Topology& topology_;
  std::vector<Pair> pairs_;
  std::map<std::pair<std::int32_t, DeviceId>, std::size_t> pair_of_;
  std::set<std::pair<std::int32_t, DeviceId>> to_hosts_;
  std::map<Place, double> sent_;  // to the fabric's switches, and received from them
  std::map<Place, double> received_;
  bool crosses_switches_ = false;
  bool is_possible_ = true;
};

}  // namespace

std::optional<net::Footprint> moved_loads(const net::Router& router, const HostPlaces& places, const net::Footprint& loads,
                                          const std::vector<DeviceId>& of, const std::vector<DeviceId>& devices,
                                          coll::Collective kind) {
  return LoadsMover{router, places, of, devices}.move(loads, kind);
}

}  // namespace weft::work
