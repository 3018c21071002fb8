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
  LoadsMover(const net::Router& router, const std::vector<DeviceId>& of, const std::vector<DeviceId>& devices)
      : router_{router}, topology_{router.topology()} {
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (!pair_hosts(of[i], devices[i])) is_possible_ = false;
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
  };
  struct Place {
    std::size_t pair = 0;
    std::uint32_t local = 0;
    auto operator<=>(const Place&) const = default;
  };

  bool pair_hosts(DeviceId from, DeviceId to) {
    const Pair pair{topology_.host_of(from), topology_.host_of(to), from, to};
    if ((pair.host < 0) != (pair.to_host < 0)) return false;
    if (pair.host >= 0 && topology_.local(from) != topology_.local(to)) return false;
    const auto [known, is_new] = pair_of_.try_emplace(key_of(from), pairs_.size());
    if (!is_new) {
      const Pair& other = pairs_[known->second];
      return pair.host >= 0 ? other.to_host == pair.to_host : other.to_device == to;
    }
    pairs_.push_back(pair);
    to_hosts_.insert(key_of(to));
    return true;
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
  [[nodiscard]] DeviceId counterpart(const Place& place) const {
    const Pair& pair = pairs_[place.pair];
    return pair.host < 0 ? pair.to_device : topology_.device_of(static_cast<std::size_t>(pair.to_host), place.local);
  }

  // The cable of the counterpart that is the same in the list of its cables.
  [[nodiscard]] std::optional<LinkId> same_uplink(LinkId up, const Place& place) const {
    const auto links = topology_.uplinks(topology_.link(up).from);
    const auto others = topology_.uplinks(counterpart(place));
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
      const Pair& pair = pairs_[from->pair];
      const std::uint32_t place = link.value() - topology_.host(static_cast<std::size_t>(pair.host)).first_link;
      const LinkId other = topology_.link_of(static_cast<std::size_t>(pair.to_host), place);
      moved.usages.push_back({ResourceId{other.value()}, usage.usage});
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
    const auto way = router_.find_route(counterpart(from), counterpart(to), {});
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

std::optional<net::Footprint> moved_loads(const net::Router& router, const net::Footprint& loads,
                                          const std::vector<DeviceId>& of, const std::vector<DeviceId>& devices,
                                          coll::Collective kind) {
  return LoadsMover{router, of, devices}.move(loads, kind);
}

}  // namespace weft::work
