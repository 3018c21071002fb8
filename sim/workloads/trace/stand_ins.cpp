#include "sim/workloads/trace/stand_ins.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/core/error.h"

namespace weft::work {
namespace {

std::string listed(const std::vector<Rank>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(ranks.size(), 16); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > 16) text += fmt::format(", ... ({} in all)", ranks.size());
  return text;
}

std::uint32_t find_or_add(Program& program, Group group) {
  const auto at = std::ranges::find(program.groups, group.ranks, &Group::ranks);
  const auto index = static_cast<std::uint32_t>(at - program.groups.begin());
  if (at == program.groups.end()) program.groups.push_back(std::move(group));
  return index;
}

// The group of `rank` that is to `stand_in`'s what `rank` is to it.
std::uint32_t counterpart(Program& program, std::uint32_t of, Rank rank, Rank stand_in, Rank world) {
  const Group& group = program.groups[of];
  if (std::ranges::find(group.ranks, rank) != group.ranks.end()) return of;
  Group moved{group.name, {}};
  for (const Rank member : group.ranks) {
    const Rank other = member + rank - stand_in;
    if (other < 0 || other >= world) {
      throw ConfigError(fmt::format(
          "rank {} has no trace, and which group of its own stands for '{}' of rank {} cannot be told: trace all ranks", rank,
          group.name, stand_in));
    }
    moved.ranks.push_back(other);
  }
  moved.name = fmt::format("{} of rank {}", group.name, rank);
  return find_or_add(program, std::move(moved));
}

// Every member of a group must know it.
void check_groups(const Program& program) {
  std::set<std::pair<std::uint32_t, Rank>> known;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    for (const std::uint32_t group : program.ranks[r].groups) known.insert({group, static_cast<Rank>(r)});
  }
  std::set<std::uint32_t> used;
  for (const auto& [group, rank] : known) used.insert(group);
  for (const std::uint32_t g : used) {
    for (const Rank member : program.groups[g].ranks) {
      if (known.contains({g, member})) continue;
      throw ConfigError(
          fmt::format("the ranks that are traced do not tell the groups of the others: rank {} is in group '{}' by "
                      "one account and not by another: trace all ranks",
                      member, program.groups[g].name));
    }
  }
}

}  // namespace

std::vector<std::string> fill_missing_ranks(Program& program, const std::vector<Rank>& traced, Rank world) {
  if (static_cast<Rank>(traced.size()) >= world) return {};
  const std::vector<ProgramRank> own = std::exchange(program.ranks, {});
  std::vector<Rank> missing;
  program.ranks.resize(static_cast<std::size_t>(world));
  for (std::size_t i = 0; i < traced.size(); ++i) program.ranks[static_cast<std::size_t>(traced[i])] = own[i];
  for (Rank rank = 0; rank < world; ++rank) {
    const auto after = std::ranges::upper_bound(traced, rank);
    const std::size_t index = after == traced.begin() ? 0 : static_cast<std::size_t>(after - traced.begin() - 1);
    const Rank stand_in = traced[index];
    if (stand_in == rank) continue;
    missing.push_back(rank);
    ProgramRank& table = program.ranks[static_cast<std::size_t>(rank)];
    table.program = own[index].program;
    table.leader = stand_in;
    for (const std::uint32_t group : own[index].groups)
      table.groups.push_back(counterpart(program, group, rank, stand_in, world));
    for (const Rank peer : own[index].peers) table.peers.push_back(((peer + rank - stand_in) % world + world) % world);
  }
  check_groups(program);
  return {fmt::format(
      "{} of {} ranks have no trace ({}): each is taken to do what the traced rank before it does, at the same time",
      missing.size(), world, listed(missing))};
}

std::vector<std::string> replicate(Program& program, int count, const std::vector<std::string>& across) {
  if (count <= 1) return {};
  const auto world = static_cast<Rank>(program.ranks.size());
  const std::size_t groups = program.groups.size();
  std::vector<bool> reaches(groups, false);
  std::string names;
  for (std::size_t g = 0; g < groups; ++g) {
    const Group& group = program.groups[g];
    const bool named = std::ranges::find(across, group.name) != across.end() ||
                       std::ranges::find(across, group.name.substr(0, group.name.find(':'))) != across.end();
    reaches[g] = across.empty() ? static_cast<Rank>(group.ranks.size()) == world : named;
    if (reaches[g]) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", group.name);
  }
  if (names.empty()) {
    std::string known;
    for (const Group& group : program.groups) known += fmt::format("{}'{}'", known.empty() ? "" : ", ", group.name);
    throw ConfigError(
        fmt::format("{} replicas: {}\n  note: groups: {}", count,
                    across.empty() ? "no group holds all ranks, so that which one is data parallel must be said: --across GROUP"
                                   : "no such group as --across names",
                    known.empty() ? "none" : known));
  }
  for (const ProgramRank& rank : program.ranks) {
    for (const Operation& op : program.programs[rank.program].operations) {
      if (op.kind != OpKind::kCollective || !reaches[rank.groups.at(op.slot)]) continue;
      if (op.collective == coll::Collective::kAllReduce || op.collective == coll::Collective::kAllGather ||
          op.collective == coll::Collective::kReduceScatter || op.collective == coll::Collective::kBroadcast) {
        continue;
      }
      throw ConfigError(
          fmt::format("{} replicas: group '{}' makes {} calls, which are no part of data parallelism; more "
                      "replicas of it are not well-defined",
                      count, program.groups[rank.groups.at(op.slot)].name, coll::to_string(op.collective)));
    }
  }
  std::vector<std::vector<std::uint32_t>> copy_of(static_cast<std::size_t>(count), std::vector<std::uint32_t>(groups));
  for (int k = 0; k < count; ++k) {
    for (std::size_t g = 0; g < groups; ++g) {
      copy_of[static_cast<std::size_t>(k)][g] = static_cast<std::uint32_t>(g);
      if (k == 0 || reaches[g]) continue;
      Group copy{fmt::format("{} of copy {}", program.groups[g].name, k), {}};
      for (const Rank rank : program.groups[g].ranks) copy.ranks.push_back(rank + k * world);
      copy_of[static_cast<std::size_t>(k)][g] = static_cast<std::uint32_t>(program.groups.size());
      program.groups.push_back(std::move(copy));
    }
  }
  for (std::size_t g = 0; g < groups; ++g) {
    if (!reaches[g]) continue;
    const std::vector<Rank> first = program.groups[g].ranks;
    for (int k = 1; k < count; ++k) {
      for (const Rank rank : first) program.groups[g].ranks.push_back(rank + k * world);
    }
  }
  const std::vector<ProgramRank> first = program.ranks;
  for (int k = 1; k < count; ++k) {
    for (const ProgramRank& rank : first) {
      ProgramRank copy = rank;
      for (std::uint32_t& group : copy.groups) group = copy_of[static_cast<std::size_t>(k)][group];
      for (Rank& peer : copy.peers) peer += k * world;
      program.ranks.push_back(std::move(copy));
    }
  }
  return {fmt::format(
      "{} copies of the {} traced ranks: {} taken as data parallel over all copies, every call of the size it had; other "
      "groups and messages copied",
      count, world, names)};
}

}  // namespace weft::work
