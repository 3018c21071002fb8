#include "sim/scenario/program_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sim/network/flow_level/flow_fabric.h"
#include "sim/workloads/program_calls.h"
#include "sim/workloads/replay/fabric_places.h"
#include "sim/workloads/replay/group_costs.h"
#include "sim/workloads/replay/replay_state.h"

namespace weft::scenario {
namespace {

// Sizes in libstdc++: a map's node with the allocator's own words, and a deque with its first block.
constexpr double kNodeBytes = 32 + 16;
constexpr double kDequeBytes = 64 + 512 + 2 * 16;
constexpr std::size_t kSampledGroups = 4;
constexpr std::size_t kSampledWays = 64;
constexpr std::size_t kAllPairs = 16;  // groups up to here are routed pair by pair, larger ones at distances of powers of two

template <class T>
double list_bytes(const std::vector<T>& list) {
  return static_cast<double>(list.capacity() * sizeof(T));
}

double program_bytes(const work::Program& program) {
  double bytes = list_bytes(program.devices) + list_bytes(program.groups) + list_bytes(program.ranks);
  for (const work::RankProgram& each : program.programs) {
    bytes += list_bytes(each.operations) + list_bytes(each.waits) + list_bytes(each.memory);
    bytes += static_cast<double>(each.operations.size() * work::ProgramLayout::kOperationBytes);
  }
  for (const work::Group& group : program.groups) bytes += list_bytes(group.ranks);
  for (const work::ProgramRank& rank : program.ranks) bytes += list_bytes(rank.groups) + list_bytes(rank.peers);
  return bytes;
}

void keep_once(auto& list) {
  std::ranges::sort(list);
  const auto same = std::ranges::unique(list);
  list.erase(same.begin(), same.end());
}

class ProgramMemory {
 public:
  ProgramMemory(const work::Program& program, const net::Router& router, bool every_rank, std::vector<MemoryPart>& parts)
      : program_{program}, router_{router}, every_rank_{every_rank}, parts_{parts} {}

  void add() {
    for (const work::RankProgram& each : program_.programs) calls_by_program_.push_back(work::calls_of(each));
    add_ranks();
    add_part("programs", static_cast<double>(program_.programs.size()), program_bytes(program_));
    collect_calls();
    add_collectives();
    add_messages();
    add_routes();
  }

 private:
  // `bytes`: of all of them.
  void add_part(std::string what, double count, double bytes) {
    if (count > 0) parts_.push_back({std::move(what), count, bytes / count});
  }
  [[nodiscard]] bool runs(Rank rank) const {
    return every_rank_ || program_.ranks[static_cast<std::size_t>(rank)].leader == rank;
  }
  [[nodiscard]] DeviceId device(Rank rank) const { return program_.devices[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::int32_t host(Rank rank) const { return router_.topology().host_of(device(rank)); }

  void add_ranks() {
    double ranks = 0;
    double bytes = 0;
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      const auto rank = static_cast<Rank>(r);
      if (!runs(rank)) continue;
      const work::RankProgram& its = program_.program_of(rank);
      ++ranks;
      bytes += static_cast<double>(sizeof(work::RankState) + its.streams.size() * sizeof(work::StreamState) +
                                   its.operations.size() * work::RankState::kOperationBytes);
      if (host(rank) >= 0) hosts_run_.insert(host(rank));
    }
    add_part("ranks", ranks, bytes);
  }

  // Counts the calls of followers, too, whose hosts are run: they load links there. Counts all calls where switches may hold
  // others up.
  void collect_calls() {
    const bool counts_all = !every_rank_ && work::switches_hold_up(program_, router_);
    std::vector<std::tuple<std::uint32_t, coll::Collective, std::int64_t, std::uint8_t>> of_groups;
    std::vector<std::tuple<Rank, Rank, std::int64_t>> of_pairs;
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      const auto rank = static_cast<Rank>(r);
      if (!runs(rank) && !counts_all && !hosts_run_.contains(host(rank))) continue;
      const work::ProgramRank& table = program_.ranks[r];
      for (const auto& [kind, slot, collective, bytes, element_size] : calls_by_program_[table.program]) {
        if (kind == work::OpKind::kCollective && slot < table.groups.size()) {
          of_groups.emplace_back(table.groups[slot], collective, bytes, element_size);
        } else if (kind == work::OpKind::kSend && slot < table.peers.size()) {
          of_pairs.emplace_back(rank, table.peers[slot], bytes);
        }
      }
    }
    keep_once(of_groups);
    keep_once(of_pairs);
    for (const auto& [group, collective, bytes, element_size] : of_groups)
      ++groups_[{group, collective == coll::Collective::kAllToAll}];
    for (const auto& [from, to, bytes] : of_pairs) ++pairs_[{from, to}];
  }

  // A call is remembered with its loads, and its transfers have them as their footprint; one of them is in flight.
  [[nodiscard]] static double call_bytes(double members, double usages) {
    return static_cast<double>(work::GroupCosts::kCallBytes + sizeof(net::Footprint) + sizeof(double)) + 2 * kNodeBytes +
           members * static_cast<double>(sizeof(DeviceId)) + 2 * usages * static_cast<double>(sizeof(Usage));
  }
  [[nodiscard]] static double meeting_bytes(double members) {
    return static_cast<double>(sizeof(work::Meeting) + sizeof(work::Moving) + net::FlowFabric::kTransferBytes) + kDequeBytes +
           2 * kNodeBytes + members * static_cast<double>(sizeof(DeviceId) + 2 * sizeof(work::Member));
  }

  void add_collectives() {
    // Groups of one axis are alike: "tp 3" is as "tp 4".
    std::map<std::pair<std::string, bool>, std::vector<std::pair<std::uint32_t, int>>> by_axis;
    for (const auto& [key, calls] : groups_) {
      const std::string& name = program_.groups[key.first].name;
      by_axis[{name.substr(0, name.find(' ')), key.second}].emplace_back(key.first, calls);
    }
    double count = 0;
    double bytes = 0;
    for (const auto& [axis, groups] : by_axis) {
      const double usages = sampled_loads(groups, axis.second);
      for (const auto& [group, calls] : groups) {
        const auto members = static_cast<double>(program_.groups[group].ranks.size());
        count += calls;
        bytes += meeting_bytes(members) + calls * call_bytes(members, usages);
      }
    }
    add_part("collectives", count, bytes);
  }

  [[nodiscard]] double sampled_loads(const std::vector<std::pair<std::uint32_t, int>>& groups, bool exchanges) {
    const std::size_t step = std::max<std::size_t>(1, groups.size() / kSampledGroups);
    double usages = 0;
    double sampled = 0;
    for (std::size_t i = 0; i < groups.size(); i += step) {
      usages += loads_of(program_.groups[groups[i].first].ranks, exchanges);
      ++sampled;
    }
    return usages / std::max(1.0, sampled);
  }

  [[nodiscard]] double loads_of(const std::vector<Rank>& ranks, bool exchanges) const {
    net::Footprint all;
    const std::size_t count = ranks.size();
    for (std::size_t distance = 1; distance < count; distance = count <= kAllPairs ? distance + 1 : 2 * distance) {
      if (distance > 1 && !exchanges) break;
      for (std::size_t i = 0; i < count; ++i) {
        const auto way = router_.find_route(device(ranks[i]), device(ranks[(i + distance) % count]), {});
        if (way) all.usages.insert(all.usages.end(), way->usages.begin(), way->usages.end());
      }
    }
    net::Footprint sum;
    sum.couple(all);
    return static_cast<double>(sum.usages.capacity());
  }

  void add_messages() {
    const std::size_t step = std::max<std::size_t>(1, pairs_.size() / kSampledWays);
    double usages = 0;
    double sampled = 0;
    double calls = 0;
    std::size_t i = 0;
    for (const auto& [pair, count] : pairs_) {
      calls += count;
      if (i++ % step != 0) continue;
      if (const auto way = router_.find_route(device(pair.first), device(pair.second), {})) {
        usages += static_cast<double>(way->usages.capacity());
        ++sampled;
      }
    }
    usages /= std::max(1.0, sampled);
    add_part("messages", calls, static_cast<double>(pairs_.size()) * meeting_bytes(2) + calls * call_bytes(2, usages));
  }

  // The router keeps a way between two leaves once it is asked for, where its policy spreads.
  void add_routes() {
    if (!router_.policy().spreads()) return;
    std::map<std::pair<DeviceId, DeviceId>, std::pair<Rank, Rank>> ways;  // by leaves, and ranks between which one leads
    const auto add_way = [&](Rank from, Rank to) {
      const DeviceId source = router_.leaf_of(device(from));
      const DeviceId destination = router_.leaf_of(device(to));
      if (source.valid() && destination.valid() && source != destination) ways.insert({{source, destination}, {from, to}});
    };
    for (const auto& [pair, calls] : pairs_) add_way(pair.first, pair.second);
    for (const auto& [key, calls] : groups_) {
      const std::vector<Rank>& ranks = program_.groups[key.first].ranks;
      for (std::size_t i = 0; i < ranks.size(); ++i) add_way(ranks[i], ranks[(i + 1) % ranks.size()]);
    }
    const std::size_t step = std::max<std::size_t>(1, ways.size() / kSampledWays);
    double usages = 0;
    double sampled = 0;
    std::size_t i = 0;
    for (const auto& [leaves, ranks] : ways) {
      if (i++ % step != 0) continue;
      if (const auto way = router_.find_route(device(ranks.first), device(ranks.second), {})) {
        usages += static_cast<double>(way->usages.size());
        ++sampled;
      }
    }
    const double each = usages / std::max(1.0, sampled) * sizeof(Usage) + kNodeBytes + sizeof(net::Footprint);
    add_part("ways between leaves", static_cast<double>(ways.size()), static_cast<double>(ways.size()) * each);
  }

  const work::Program& program_;
  const net::Router& router_;
  bool every_rank_;
  std::vector<MemoryPart>& parts_;
  std::vector<std::vector<work::SlotCall>> calls_by_program_;
  std::set<std::int32_t> hosts_run_;
  std::map<std::pair<std::uint32_t, bool>, int> groups_;  // by group, and whether they are exchanges: calls
  std::map<std::pair<Rank, Rank>, int> pairs_;            // by sender and receiver: sizes of messages
};

}  // namespace

void add_program_memory(const work::Program& program, const net::Router& router, bool every_rank,
                        std::vector<MemoryPart>& parts) {
  ProgramMemory{program, router, every_rank, parts}.add();
}

}  // namespace weft::scenario
