#include "sim/workloads/replay/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/network/routing/host_routes.h"
#include "sim/workloads/replay/fabric_places.h"

namespace weft::work {
namespace {

// How ranks lie: their hosts, numbered as they first appear, and how near those of one host are to each other.
class Patterns {
 public:
  using Pattern = std::vector<std::int32_t>;

  Patterns(const Program& program, const net::Router& router)
      : program_{program}, topology_{router.topology()}, routes_{*router.host_routes()} {}

  Pattern of(const std::vector<Rank>& ranks) {
    std::vector<std::int32_t> hosts;
    std::vector<std::vector<std::uint32_t>> locals;  // by host
    Pattern pattern;
    for (const Rank rank : ranks) {
      const DeviceId device = program_.devices[static_cast<std::size_t>(rank)];
      const std::int32_t host = topology_.host_of(device);
      const auto at = static_cast<std::size_t>(std::ranges::find(hosts, host) - hosts.begin());
      if (at == hosts.size()) {
        hosts.push_back(host);
        locals.emplace_back();
      }
      pattern.push_back(static_cast<std::int32_t>(at));
      if (host >= 0) locals[at].push_back(topology_.local(device));
    }
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      for (std::size_t i = 0; i < locals[h].size(); ++i) {
        for (std::size_t j = i + 1; j < locals[h].size(); ++j) {
          pattern.push_back(nearness(static_cast<std::size_t>(hosts[h]), locals[h][i], locals[h][j]));
        }
      }
    }
    return pattern;
  }

 private:
  // A number for the class and the rate of the path from one GPU to another.
  std::int32_t nearness(std::size_t host, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t host_template = topology_.host(host).host_template;
    const auto [known, is_new] = nearness_.try_emplace({host_template, from, to}, -1);
    if (!is_new) return known->second;
    const net::RouteFragment* const way = routes_.find(host_template, from, to);
    if (way == nullptr) return known->second;
    double rate = std::numeric_limits<double>::infinity();
    for (const auto& [link, usage] : way->links) {
      rate = std::min(rate, topology_.spec(topology_.link_of(host, link)).rate.bytes_per_ps() / usage);
    }
    const auto kind = kinds_.try_emplace({way->path_class, rate}, static_cast<std::int32_t>(kinds_.size())).first;
    return known->second = kind->second;
  }

  const Program& program_;
  const net::Topology& topology_;
  const net::HostRoutes& routes_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::int32_t> nearness_;  // by template and places
  std::map<std::pair<net::PathClass, double>, std::int32_t> kinds_;
};

}  // namespace

std::string difference_of_places(const Program& program, const net::Router& router) {
  Patterns patterns_of{program, router};
  // By group, numbered as they first appear: members of large groups would compare long patterns again and again.
  std::map<Patterns::Pattern, std::uint32_t> numbers;
  std::vector<std::uint32_t> patterns;
  patterns.reserve(program.groups.size());
  for (const Group& group : program.groups)
    patterns.push_back(
        numbers.try_emplace(patterns_of.of(group.ranks), static_cast<std::uint32_t>(numbers.size())).first->second);
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const ProgramRank& rank = program.ranks[r];
    if (rank.leader == static_cast<Rank>(r)) continue;
    const ProgramRank& leader = program.ranks[static_cast<std::size_t>(rank.leader)];
    for (std::size_t slot = 0; slot < rank.groups.size(); ++slot) {
      if (patterns[rank.groups[slot]] != patterns[leader.groups[slot]]) {
        return fmt::format("'{}' of rank {} lies otherwise than '{}' of rank {}", program.groups[rank.groups[slot]].name, r,
                           program.groups[leader.groups[slot]].name, rank.leader);
      }
    }
    for (std::size_t slot = 0; slot < rank.peers.size(); ++slot) {
      const std::vector<Rank> here{static_cast<Rank>(r), rank.peers[slot]};
      const std::vector<Rank> there{rank.leader, leader.peers[slot]};
      if (patterns_of.of(here) != patterns_of.of(there)) {
        return fmt::format("rank {} sends to its neighbour {} otherwise than rank {} does to rank {}", r, rank.peers[slot],
                           rank.leader, leader.peers[slot]);
      }
    }
  }
  return difference_of_switches(program, router);
}

void fold_alike(Program& program) {
  if (program.ranks.size() < 2 || program.programs.empty()) return;
  const ProgramRank& first = program.ranks.front();
  const auto size = [&](std::uint32_t group) { return program.groups[group].ranks.size(); };
  const auto is_like_first = [&](const ProgramRank& rank) {
    return rank.program == first.program && rank.peers.empty() && std::ranges::equal(rank.groups, first.groups, {}, size, size);
  };
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    if (program.ranks[r].leader != static_cast<Rank>(r) || !is_like_first(program.ranks[r])) return;
  }
  for (ProgramRank& rank : program.ranks) rank.leader = 0;
}

void unfold(Program& program) {
  for (std::size_t r = 0; r < program.ranks.size(); ++r) program.ranks[r].leader = static_cast<Rank>(r);
}

}  // namespace weft::work
