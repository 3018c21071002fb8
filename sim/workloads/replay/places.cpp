#include "sim/workloads/replay/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weft::work {
namespace {

// Hosts of the ranks, numbered as they first appear.
std::vector<std::int32_t> host_pattern(const Program& program, const net::Topology& topology, const std::vector<Rank>& ranks) {
  std::vector<std::int32_t> seen;
  std::vector<std::int32_t> pattern;
  for (const Rank rank : ranks) {
    const std::int32_t host = topology.host_of(program.devices[static_cast<std::size_t>(rank)]);
    auto at = std::ranges::find(seen, host);
    if (at == seen.end()) at = seen.insert(seen.end(), host);
    pattern.push_back(static_cast<std::int32_t>(at - seen.begin()));
  }
  return pattern;
}

}  // namespace

std::string difference_of_places(const Program& program, const net::Topology& topology) {
  std::vector<std::vector<std::int32_t>> patterns;
  patterns.reserve(program.groups.size());
  for (const Group& group : program.groups) patterns.push_back(host_pattern(program, topology, group.ranks));
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const ProgramRank& rank = program.ranks[r];
    if (rank.leader == static_cast<Rank>(r)) continue;
    const ProgramRank& leader = program.ranks[static_cast<std::size_t>(rank.leader)];
    for (std::size_t slot = 0; slot < rank.groups.size(); ++slot) {
      if (patterns[rank.groups[slot]] != patterns[leader.groups[slot]]) {
        return fmt::format("'{}' of rank {} spreads over hosts otherwise than '{}' of rank {}",
                           program.groups[rank.groups[slot]].name, r, program.groups[leader.groups[slot]].name, rank.leader);
      }
    }
    for (std::size_t slot = 0; slot < rank.peers.size(); ++slot) {
      const std::vector<Rank> here{static_cast<Rank>(r), rank.peers[slot]};
      const std::vector<Rank> there{rank.leader, leader.peers[slot]};
      if (host_pattern(program, topology, here) != host_pattern(program, topology, there)) {
        return fmt::format("rank {} sends to its neighbour {} otherwise than rank {} does to rank {}", r, rank.peers[slot],
                           rank.leader, leader.peers[slot]);
      }
    }
  }
  return {};
}

void unfold(Program& program) {
  for (std::size_t r = 0; r < program.ranks.size(); ++r) program.ranks[r].leader = static_cast<Rank>(r);
}

}  // namespace weft::work
