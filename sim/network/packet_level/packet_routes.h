// Which link a packet takes next: the router's answers (router.h) in a form that costs a packet a few loads. One path per flow
// where the policy says so; else a choice per packet among the equal-cost links.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/core/lazy_array.h"
#include "sim/core/random.h"
#include "sim/network/router.h"

namespace weft::net {

using RouteId = std::uint32_t;
inline constexpr RouteId kNoRoute = 0xFFFF'FFFF;

class PacketRoutes {
 public:
  // `loads`: bytes in front of each link, by link, kept by the network; the least loaded link is found there. Null where
  // packets choose at random; by any other policy those of a host with several equal ways look there.
  PacketRoutes(const Router& router, std::uint64_t seed, const std::vector<std::int64_t>* loads);

  // All routes draw on one stream of this name from now on.
  void draw_from(std::string_view name) { common_.emplace(seed_, name); }
  // Reads the routes of `others`, which outlive these and get no more. Of the same topology; instead of routes of its own.
  void read_those_of(const PacketRoutes& others);

  // The route of a flow that goes from one NIC to one other, or stays inside a host.
  RouteId add(const PathEnds& ends);
  // The ends of what answers the route's packets: it takes the same NICs the other way, where a way leads on from there. From a
  // NIC that its packets reached by a peer GPU (PXN) none does; the answer then takes NICs of the ends' own.
  [[nodiscard]] PathEnds back(RouteId route, std::uint64_t entropy) const;
  // Links that leave the source.
  [[nodiscard]] std::vector<LinkId> first_links(RouteId route) const;
  // At `device`, after `hop` links. Invalid: there is no way any more. `by` is the packet's own, 0 at its source: its detour is
  // chosen at the first switch, and is over at the leaf that it goes by. Where switches hash entropy values it is the packet's.
  [[nodiscard]] LinkId next(RouteId id, DeviceId device, unsigned hop, std::uint16_t& by) {
    const Route& route = routes_[id];
    if (route.exit == kNoExit || device.value() < first_switch_ || route.fixed || route.broken)
      return next_step(route, device, hop, by);
    if (detour_ != Detour::kNever) {
      if (by == 0) by = choose_detour(route, device);
      if (by != kNoDetour && router_.leaves()[by - 1U] == device) by = kNoDetour;
      if (by != kNoDetour) return next_of_detour(route, device, by);
    }
    if (device == route.leaf) return route.down;
    std::uint32_t& set = exits_[place(route, device)];
    if (set == 0) set = find_set(device, route);
    const std::span<const LinkId> links = sets_[set];
    if (links.size() == 1) return links[0];
    return links.empty() ? LinkId{} : choose(route, links, by);
  }
  // Returns the next link of the way back over the same links; only for a route that is fixed.
  [[nodiscard]] LinkId next_back(RouteId route, DeviceId device, unsigned hop) const;
  // Asks for what next() will read, before it is needed: soon, and at once.
  [[gnu::always_inline]] void prefetch(RouteId route) const { __builtin_prefetch(&routes_[route]); }
  [[nodiscard]] const void* read_by_next(RouteId id, DeviceId device) const {
    const Route& route = routes_[id];
    const bool known = (route.exit != kNoExit) & (device.value() >= first_switch_);
    return exits_.data() + (known ? place(route, device) : 0);
  }
  [[nodiscard]] bool broken(RouteId route) const { return routes_[route].broken; }
  [[nodiscard]] bool fixed(RouteId route) const { return routes_[route].fixed; }
  // Whether answers may go back over the same links: there is one way, and each of its links has a way back.
  [[nodiscard]] bool goes_back(RouteId route) const { return routes_[route].fixed && !routes_[route].one_way; }
  // Links of one of the ways, from end to end.
  [[nodiscard]] std::vector<LinkId> sample(RouteId route);
  // Routes are looked up again: a link has failed, or is back. Model: packets on a way that is no more are lost.
  void forget();

 private:
  static constexpr std::uint32_t kNoExit = 0xFFFF'FFFF;
  static constexpr std::uint16_t kNoDetour = 0xFFFF;  // else a leaf's number, from 1 on
  struct Step {
    DeviceId from;
    LinkId link;
  };
  struct alignas(64) Route {
    std::uint32_t first = 0;  // of its steps
    std::uint32_t count = 0;
    std::uint32_t exit = kNoExit;  // of exits_
    DeviceId leaf = {};            // the last switch, where the exit has but one
    LinkId down = {};              // from there
    DeviceId fabric_exit = {};     // where not fixed: the NIC that the fabric's switches send to
    bool broken = false;           // the ends are not joined at present
    bool fixed = false;            // each hop has one link, in order
    bool one_way = false;          // on some link
    PathEnds ends = {};
  };
  static_assert(sizeof(Route) == 64, "one cache line");

  bool explore(Route& route);
  // Where a route is fixed, and inside hosts.
  [[nodiscard]] LinkId next_step(const Route& route, DeviceId device, unsigned hop, std::uint16_t by);
  std::uint32_t exit_of(DeviceId device);
  [[nodiscard]] std::size_t place(const Route& route, DeviceId device) const {
    return (device.value() - first_switch_) * exit_room_ + route.exit;
  }
  std::uint32_t find_set(DeviceId from, const Route& route);
  [[nodiscard]] LinkId choose(const Route& route, std::span<const LinkId> links, std::uint16_t by);
  [[nodiscard]] std::uint16_t choose_detour(const Route& route, DeviceId first);
  [[nodiscard]] LinkId next_of_detour(const Route& route, DeviceId device, std::uint16_t by);
  [[nodiscard]] std::int64_t least_load(std::span<const LinkId> links) const;
  RandomStream& random(const Route& route) { return common_ ? *common_ : random_of(route); }
  RandomStream& random_of(const Route& route);
  void make_room_for_exits(std::size_t exits);

  const Router& router_;
  const Topology& topology_;
  std::uint64_t seed_;
  const std::vector<std::int64_t>* loads_;
  PerPacket per_packet_;
  Detour detour_;
  std::vector<Route> own_routes_;
  std::vector<Step> own_steps_;
  const Route* routes_ = nullptr;  // its own, or another's
  const Step* steps_ = nullptr;
  // A leaf (or a NIC of several leaves) as the fabric's switches see it, the exit: which set of links leads to it from each of
  // them, looked up once (0: not yet). By switch and exit, in the order of their ids: a part is asked at its own switches only.
  LazyArray<std::uint32_t> exits_;
  std::size_t exit_room_ = 0;  // exits that there is room for
  std::uint32_t exit_count_ = 0;
  std::vector<std::span<const LinkId>> sets_{{}};  // 0: none
  std::map<const LinkId*, std::uint32_t> set_of_;  // by the router's own memory of it, which it shares among switches
  std::size_t switches_;
  std::vector<std::uint32_t> exit_of_;  // by device
  // By route, in the order they were added: names and numbers of devices change nothing. Or the one of all.
  std::vector<std::optional<RandomStream>> random_;
  std::optional<RandomStream> common_;
  std::uint32_t first_switch_;  // devices from there on are the switches of the fabric
  std::vector<LinkId> candidates_;
};

}  // namespace weft::net
