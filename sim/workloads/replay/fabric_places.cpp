#include "sim/workloads/replay/fabric_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/network/fabric_tiers.h"

namespace weft::work {
namespace {

net::FabricTiers tiers_of(const Program& program, const net::Topology& topology) {
  std::vector<bool> hosts(topology.host_count(), false);
  for (const DeviceId device : program.devices) {
    if (const std::int32_t host = topology.host_of(device); host >= 0) hosts[static_cast<std::size_t>(host)] = true;
  }
  return {topology, hosts};
}

bool hold_up(const net::FabricTiers& tiers, const net::Router& router) {
  if (!tiers.is_even_tree() || (tiers.has_choice() && !router.policy().spreads())) return true;
  for (std::size_t tier = 0; tier < tiers.tiers(); ++tier) {
    if (!tiers.is_full(tier)) return true;
  }
  return false;
}

// Who communicates: a group, or a rank and a peer.
struct Ends {
  std::uint32_t kind = 0;  // those that are to lie alike have one
  bool is_peer = false;
  std::string name;
  std::vector<Rank> ranks;
};

class SwitchPlaces {
 public:
  SwitchPlaces(const Program& program, const net::Router& router)
      : program_{program}, router_{router}, topology_{router.topology()}, tiers_{tiers_of(program, topology_)} {}

  std::string difference() {
    const auto is_follower = [&](const ProgramRank& rank) { return &rank != &leader_of(rank); };
    if (!hold_up(tiers_, router_) || std::ranges::none_of(program_.ranks, is_follower)) return {};
    if (std::string why = collect(); !why.empty()) return why;
    // A group that is the only one of its kind is run, with all that it sends.
    std::map<std::uint32_t, int> of_kind;
    for (const Ends& ends : ends_) ++of_kind[ends.kind];
    const auto far =
        std::ranges::find_if(ends_, [&](const Ends& ends) { return of_kind[ends.kind] > 1 && is_below_several(ends); });
    if (far == ends_.end()) return {};
    if (!router_.policy().spreads() && tiers_.has_choice())
      return fmt::format("{} crosses switches that pick one of several links for a flow", far->name);
    if (!tiers_.is_even_tree()) return fmt::format("{} crosses switches that are no tree of even links", far->name);
    if (tiers_.is_cabled_twice()) return fmt::format("{} crosses switches that NICs are cabled to more than once", far->name);
    for (std::size_t tier = 0; tier < tiers_.tiers(); ++tier) {
      if (tiers_.is_full(tier)) continue;
      if (std::string why = difference_at(tier); !why.empty()) return why;
    }
    return {};
  }

 private:
  [[nodiscard]] const ProgramRank& leader_of(const ProgramRank& rank) const {
    return program_.ranks[static_cast<std::size_t>(rank.leader)];
  }
  [[nodiscard]] DeviceId device_of(Rank rank) const { return program_.devices[static_cast<std::size_t>(rank)]; }

  // Groups by the leader of their first rank and its slot; what it sends to the peer of a slot likewise.
  std::string collect() {
    std::map<std::tuple<Rank, bool, std::size_t>, std::uint32_t> kinds;
    const auto kind_of = [&](Rank leader, bool is_peer, std::size_t slot) {
      return kinds.try_emplace({leader, is_peer, slot}, static_cast<std::uint32_t>(kinds.size())).first->second;
    };
    std::map<std::uint32_t, std::uint32_t> kind_of_group;
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      const ProgramRank& rank = program_.ranks[r];
      for (std::size_t slot = 0; slot < rank.groups.size(); ++slot) {
        const auto [known, is_new] = kind_of_group.try_emplace(rank.groups[slot], kind_of(rank.leader, false, slot));
        const Group& group = program_.groups[rank.groups[slot]];
        if (is_new) ends_.push_back({known->second, false, fmt::format("'{}'", group.name), group.ranks});
      }
      for (std::size_t slot = 0; slot < rank.peers.size(); ++slot) {
        ends_.push_back({kind_of(rank.leader, true, slot),
                         true,
                         fmt::format("what rank {} sends to rank {}", r, rank.peers[slot]),
                         {static_cast<Rank>(r), rank.peers[slot]}});
      }
    }
    for (const ProgramRank& rank : program_.ranks) {
      for (std::size_t slot = 0; slot < rank.groups.size(); ++slot) {
        if (kind_of_group.at(rank.groups[slot]) != kind_of_group.at(leader_of(rank).groups[slot]))
          return fmt::format("'{}' begins with a rank of another stage than '{}'", program_.groups[rank.groups[slot]].name,
                             program_.groups[leader_of(rank).groups[slot]].name);
      }
    }
    std::erase_if(ends_, [&](const Ends& ends) {
      return std::ranges::all_of(ends.ranks, [&](Rank rank) { return host_of(rank) == host_of(ends.ranks.front()); });
    });
    return {};
  }
  [[nodiscard]] std::int32_t host_of(Rank rank) const { return topology_.host_of(device_of(rank)); }

  [[nodiscard]] bool is_below_several(const Ends& ends) const {
    const DeviceId first = leaf_of(ends.ranks.front());
    return std::ranges::any_of(ends.ranks, [&](Rank rank) { return leaf_of(rank) != first; });
  }
  // The switch behind a rank's first NIC; of a bare host, behind it.
  [[nodiscard]] DeviceId leaf_of(Rank rank) const {
    const std::vector<DeviceId> nics = router_.nics_of(device_of(rank));
    return nics.empty() ? DeviceId{} : leaf_behind(nics.front());
  }
  [[nodiscard]] DeviceId leaf_behind(DeviceId nic) const {
    const auto links = topology_.uplinks(nic);
    if (links.empty()) return {};
    const DeviceId leaf = topology_.link(links.front()).to;
    return topology_.host_of(leaf) < 0 ? leaf : DeviceId{};
  }

  // Counts how often each role occurs below a pod. A group's role says how many of its members are there, and how many of them
  // send to the next one elsewhere. A peer's role is its end. Members with another NIC there have none.
  using Role = std::pair<std::int64_t, std::int64_t>;
  using Below = std::map<std::pair<std::uint32_t, Role>, int>;
  static constexpr Role kNoRole = {-1, -1};

  std::string difference_at(std::size_t tier) {
    std::vector<Below> below(tiers_.pod_count(tier));
    std::vector<std::vector<std::uint32_t>> pods;  // by ends: by number
    std::vector<std::vector<std::int64_t>> patterns;
    for (const Ends& ends : ends_) number_pods(tier, ends, below, pods.emplace_back(), patterns.emplace_back());
    std::map<std::pair<double, Below>, std::int64_t> types;
    std::vector<std::int64_t> type_of(below.size());
    for (std::uint32_t pod = 0; pod < below.size(); ++pod) {
      type_of[pod] =
          types.try_emplace({tiers_.capacity(tier, pod), std::move(below[pod])}, static_cast<std::int64_t>(types.size()))
              .first->second;
    }
    std::map<std::uint32_t, std::size_t> first_of;  // by kind
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      for (const std::uint32_t pod : pods[i]) patterns[i].push_back(type_of[pod]);
      const std::size_t first = first_of.try_emplace(ends_[i].kind, i).first->second;
      if (patterns[i] != patterns[first])
        return fmt::format("{} lies otherwise below oversubscribed switches than {}", ends_[i].name, ends_[first].name);
    }
    return {};
  }

  // Where the members are, each pod numbered as it first appears.
  void number_pods(std::size_t tier, const Ends& ends, std::vector<Below>& below, std::vector<std::uint32_t>& pods,
                   std::vector<std::int64_t>& pattern) const {
    std::map<std::uint32_t, std::int64_t> numbers;
    std::set<std::int32_t> hosts;
    for (const Rank rank : ends.ranks) {
      hosts.insert(host_of(rank));
      const DeviceId leaf = leaf_of(rank);
      if (!leaf.valid()) continue;
      const std::uint32_t pod = tiers_.pod(tier, leaf);
      const auto [known, is_new] = numbers.try_emplace(pod, static_cast<std::int64_t>(pods.size()));
      if (is_new) pods.push_back(pod);
      pattern.push_back(known->second);
    }
    std::vector<Role> roles(pods.size());
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      Role& role = roles[static_cast<std::size_t>(pattern[i])];
      ++role.first;
      if (pattern[(i + 1) % pattern.size()] != pattern[i]) ++role.second;
    }
    for (std::size_t i = 0; i < pods.size(); ++i)
      ++below[pods[i]][{ends.kind, ends.is_peer && pods.size() > 1 ? Role{0, static_cast<std::int64_t>(i)} : roles[i]}];
    for (const std::int32_t host : hosts) {
      if (host < 0) continue;
      for (const std::uint32_t nic :
           topology_.template_of_host(static_cast<std::size_t>(host)).of_kind(net::DeviceKind::kNic)) {
        const DeviceId leaf = leaf_behind(topology_.device_of(static_cast<std::size_t>(host), nic));
        if (leaf.valid() && !numbers.contains(tiers_.pod(tier, leaf))) ++below[tiers_.pod(tier, leaf)][{ends.kind, kNoRole}];
      }
    }
  }

  const Program& program_;
  const net::Router& router_;
  const net::Topology& topology_;
  net::FabricTiers tiers_;
  std::vector<Ends> ends_;
};

}  // namespace

bool switches_hold_up(const Program& program, const net::Router& router) {
  return hold_up(tiers_of(program, router.topology()), router);
}

std::string difference_of_switches(const Program& program, const net::Router& router) {
  return SwitchPlaces{program, router}.difference();
}

}  // namespace weft::work
