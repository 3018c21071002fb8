#include "sim/workloads/trace/kineto/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>

#include "sim/workloads/trace/kineto/comm_parts.h"
#include "sim/workloads/trace/kineto/undescribed_calls.h"

namespace weft::work::kineto {
namespace {

constexpr std::int64_t kClocksAgreeNs = 100'000;
constexpr std::size_t kNamed = 8;  // findings of one kind that are named
constexpr std::int64_t kMostRanks = 1 << 20;

// A part of an item of a rank, by position in `ranks`.
struct PartRef {
  std::size_t rank = 0;
  std::uint32_t item = 0;
  std::uint32_t part = 0;
};

template <typename Visit>
void for_each_part(std::vector<RankTrace>& ranks, Visit visit) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::vector<Item>& items = ranks[r].items.items;
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      for (std::uint32_t p = 0; p < items[i].parts.size(); ++p) visit(PartRef{r, i, p}, items[i], items[i].parts[p]);
    }
  }
}

// Returns a group's ranks from a rank's own file, the fullest source first (models/workloads §5.2: lists of large groups are
// cut).
std::vector<std::int64_t> ranks_of(const RankEvents& events, const CommCall& call) {
  for (const ProcessGroup& group : events.groups) {
    if (group.name == call.group && !group.ranks.empty()) return group.ranks;
  }
  std::vector<std::int64_t> listed = parse_rank_list(call.ranks);
  if (!listed.empty() && (call.group_size < 0 || static_cast<std::int64_t>(listed.size()) == call.group_size)) return listed;
  if (call.rank_start >= 0 && call.rank_stride > 0 && call.group_size > 0 && call.group_size <= kMostRanks) {
    std::vector<std::int64_t> regular;
    for (std::int64_t i = 0; i < call.group_size; ++i) regular.push_back(call.rank_start + i * call.rank_stride);
    return regular;
  }
  if (call.group_size > 0 && call.group_size == events.world && events.world <= kMostRanks) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < events.world; ++i) all.push_back(i);
    return all;
  }
  return {};
}

class Matcher {
 public:
  explicit Matcher(std::vector<RankTrace>& ranks) : ranks_{ranks} {
    for (std::size_t r = 0; r < ranks.size(); ++r) position_[ranks[r].events.rank] = r;
  }

  Matching run() {
    find_groups();
    find_undescribed();
    match_collectives();
    match_messages();
    if (uneven_ > 0) {
      result_.findings.push_back(fmt::format(
          "{} all-to-alls are uneven: every rank is taken to send and receive as much as the busiest of them does", uneven_));
    }
    if (other_sizes_ > 0) {
      result_.findings.push_back(fmt::format(
          "{} calls are of another size on each rank: they take what the rank that waited least took, whatever the network",
          other_sizes_));
    }
    summarize(unknown_groups_, "calls of groups whose ranks the trace does not list keep their recorded time");
    summarize(unmatched_, "calls without a counterpart keep their recorded time");
    return std::move(result_);
  }

 private:
  CommPart& part(const PartRef& at) { return ranks_[at.rank].items.items[at.item].parts[at.part]; }
  [[nodiscard]] const CommCall& call(const PartRef& at) { return ranks_[at.rank].events.comms[part(at).comm]; }

  void summarize(const std::vector<std::string>& found, std::string_view what) {
    if (found.empty()) return;
    std::string text = fmt::format("{} {}: ", found.size(), what);
    for (std::size_t i = 0; i < std::min(found.size(), kNamed); ++i) text += (i == 0 ? "" : "; ") + found[i];
    if (found.size() > kNamed) text += fmt::format("; and {} more", found.size() - kNamed);
    result_.findings.push_back(std::move(text));
  }

  // The name that a rank has for a group, and the ranks that it says are in it.
  struct GroupName {
    std::size_t rank = 0;  // position
    std::string name = {};
    TraceGroup group = {};
  };

  // Groups are told apart by their ranks. Several of the same ranks go by their names; those whose names are not the same on
  // all ranks, by the order in which each rank first calls them.
  void find_groups() {
    std::map<std::pair<std::size_t, std::string>, std::size_t> known;  // by rank's position and name: into `names`
    std::vector<GroupName> names;
    std::vector<std::pair<PartRef, std::size_t>> calls;
    for_each_part(ranks_, [&](const PartRef& at, const Item&, CommPart& its) {
      const RankEvents& events = ranks_[at.rank].events;
      const CommCall& say = call(at);
      if (its.kind != OpKind::kCollective) {
        if (its.peer >= 0 && its.peer != events.rank) return;
        its.matched = false;
        unmatched_.push_back(fmt::format("rank {}: {} with no known peer", events.rank, say.name));
        return;
      }
      const auto [found, is_new] = known.try_emplace({at.rank, say.group + "/" + say.ranks}, names.size());
      if (is_new) names.push_back({at.rank, say.group, group_of(events, say)});
      calls.emplace_back(at, found->second);
    });
    const std::vector<std::size_t> first = same_groups(names);
    std::map<std::size_t, std::uint32_t> index;
    for (const auto& [at, name] : calls) {
      CommPart& its = part(at);
      if (names[name].group.ranks.empty()) {
        its.matched = false;
        continue;
      }
      const auto [found, is_new] = index.try_emplace(first[name], static_cast<std::uint32_t>(result_.groups.size()));
      if (is_new) result_.groups.push_back(names[first[name]].group);
      its.group = found->second;
    }
  }

  // By name: the first that is of the same group.
  [[nodiscard]] static std::vector<std::size_t> same_groups(const std::vector<GroupName>& names) {
    std::vector<std::size_t> first(names.size());
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> by_ranks;
    for (std::size_t i = 0; i < names.size(); ++i) {
      first[i] = i;
      std::vector<std::int64_t> ranks = names[i].group.ranks;
      std::ranges::sort(ranks);
      if (!ranks.empty()) by_ranks[std::move(ranks)].push_back(i);
    }
    for (const auto& [ranks, alike] : by_ranks) {
      std::set<std::size_t> callers;
      std::map<std::string, std::vector<std::size_t>> by_name;
      for (const std::size_t i : alike) {
        callers.insert(names[i].rank);
        by_name[names[i].name].push_back(i);
      }
      std::map<std::size_t, std::size_t> others;  // by rank: how many names that not all have
      std::vector<std::size_t> nth;
      for (const std::size_t i : alike) {
        const std::vector<std::size_t>& named = by_name[names[i].name];
        if (named.size() >= callers.size()) {
          first[i] = named.front();
          continue;
        }
        const std::size_t number = others[names[i].rank]++;
        if (number == nth.size()) nth.push_back(i);
        first[i] = nth[number];
      }
    }
    return first;
  }

  // Without ranks where it is not known.
  [[nodiscard]] static TraceGroup group_of(const RankEvents& events, const CommCall& say) {
    TraceGroup group{say.group_description.empty() || say.group_description == "undefined"
                         ? say.group
                         : fmt::format("{}: {}", say.group, say.group_description),
                     ranks_of(events, say)};
    std::vector<std::int64_t> sorted = group.ranks;
    std::ranges::sort(sorted);
    if (!std::ranges::binary_search(sorted, events.rank) || sorted.front() < 0 ||
        std::ranges::adjacent_find(sorted) != sorted.end() || sorted.back() >= kMostRanks) {
      group.ranks.clear();
    }
    return group;
  }

  void find_undescribed() {
    std::int64_t world = 0;
    for (const RankTrace& rank : ranks_) world = std::max({world, rank.events.world, rank.events.rank + 1});
    const UndescribedCalls found = match_undescribed(ranks_, world, result_);
    if (found.matched > 0) {
      result_.findings.push_back(fmt::format(
          "{} kernels of communication carry no metadata of their calls: matched between ranks by order and end, each "
          "call takes what the rank that waited least took, whatever the network",
          found.matched));
    }
    if (found.alone > 0) {
      result_.findings.push_back(fmt::format(
          "{} kernels of communication carry no metadata of their calls{}: they keep their recorded time, waiting for "
          "other ranks in it, and are not simulated",
          found.alone, ranks_.size() == 1 ? ", and are of one rank alone" : ", nor match what other ranks call"));
    }
    for_each_part(ranks_, [&](const PartRef& at, const Item&, const CommPart& its) {
      if (its.kind != OpKind::kCollective || its.group != kNone) return;
      unknown_groups_.push_back(
          fmt::format("rank {}, group '{}', {}", ranks_[at.rank].events.rank, call(at).group, call(at).name));
    });
  }

  // By group: each member's calls in order, by sequence number where all have one.
  void match_collectives() {
    std::map<std::uint32_t, std::map<std::size_t, std::vector<PartRef>>> calls;
    for_each_part(ranks_, [&](const PartRef& at, const Item&, const CommPart& its) {
      if (its.kind == OpKind::kCollective && its.matched && its.fixed_ns < 0) calls[its.group][at.rank].push_back(at);
    });
    for (auto& [group, by_rank] : calls) {
      // A member that calls nothing has missed all calls.
      for (const std::int64_t rank : result_.groups[group].ranks) {
        const auto at = position_.find(rank);
        if (at != position_.end()) by_rank[at->second];
      }
      match_group(group, by_rank);
    }
  }

  [[nodiscard]] bool has_sequence(const std::map<std::size_t, std::vector<PartRef>>& by_rank) {
    for (const auto& [rank, calls] : by_rank) {
      std::int64_t before = -1;
      for (const PartRef& at : calls) {
        const std::int64_t sequence = call(at).sequence;
        if (sequence <= before) return false;
        before = sequence;
      }
    }
    return true;
  }

  std::string text_of(const PartRef& at) {
    return fmt::format("{} of {} B", coll::to_string(part(at).collective), part(at).bytes);
  }

  void count_in_common(std::uint32_t group, const std::map<std::size_t, std::vector<PartRef>>& by_rank,
                       const std::map<std::int64_t, std::vector<PartRef>>& meetings) {
    std::map<std::size_t, CallsInCommon> with;  // by the other's position
    std::optional<std::size_t> first;
    for (const auto& [rank, calls] : by_rank) {
      if (calls.empty()) continue;
      if (first) with[rank] = {.a = *first, .b = rank, .what = fmt::format("group '{}'", result_.groups[group].name)};
      if (!first) first = rank;
    }
    for (const auto& [number, members] : meetings) {
      if (members.front().rank != *first) continue;
      const CommPart its = part(members.front());
      for (const PartRef& at : members | std::views::drop(1)) {
        const CommPart& own = part(at);
        const bool is_sized = own.collective != coll::Collective::kAllToAll;
        CallsInCommon& calls = with[at.rank];
        if (own.collective == its.collective && (!is_sized || own.bytes == its.bytes)) {
          ++calls.same;
        } else if (++calls.different == 1) {
          calls.example = fmt::format("number {} is {}, there {}", number, text_of(at), text_of(members.front()));
        }
      }
    }
    for (auto& [rank, calls] : with) result_.in_common.push_back(std::move(calls));
  }

  void match_group(std::uint32_t group, const std::map<std::size_t, std::vector<PartRef>>& by_rank) {
    const bool by_sequence = has_sequence(by_rank);
    std::map<std::int64_t, std::vector<PartRef>> meetings;
    for (const auto& [rank, calls] : by_rank) {
      for (std::size_t k = 0; k < calls.size(); ++k) {
        meetings[by_sequence ? call(calls[k]).sequence : static_cast<std::int64_t>(k)].push_back(calls[k]);
      }
    }
    count_in_common(group, by_rank, meetings);
    for (const auto& [sequence, members] : meetings) {
      const CommPart first = part(members.front());
      const bool complete = members.size() == by_rank.size();
      const bool same_kind =
          std::ranges::all_of(members, [&](const PartRef& at) { return part(at).collective == first.collective; });
      if (same_kind) even_out(group, members);
      const bool agree = std::ranges::all_of(members, [&](const PartRef& at) {
        return part(at).bytes == part(members.front()).bytes && part(at).element_size == first.element_size;
      });
      if (complete && same_kind && agree) continue;
      if (complete && same_kind && stand_alone(members)) {
        std::vector<std::pair<const Item*, CommPart*>> calls;
        for (const PartRef& at : members) calls.emplace_back(&ranks_[at.rank].items.items[at.item], &part(at));
        fix_time(calls);
        ++other_sizes_;
        continue;
      }
      std::string who;
      for (const PartRef& at : members) who += fmt::format("{}{}", who.empty() ? "" : ", ", ranks_[at.rank].events.rank);
      unmatched_.push_back(fmt::format("{} number {} of group '{}' {} rank {}", coll::to_string(first.collective), sequence,
                                       result_.groups[group].name, complete ? "differs between" : "is only on", who));
      for (const PartRef& at : members) part(at).matched = false;
    }
  }

  [[nodiscard]] bool stand_alone(const std::vector<PartRef>& members) const {
    return std::ranges::all_of(members,
                               [&](const PartRef& at) { return ranks_[at.rank].items.items[at.item].parts.size() == 1; });
  }

  // Members of one call say other sizes: of a gather all ranks but the root may know their own part only, and of an all-to-all
  // each has its own.
  // Model: every rank sends and receives as much as the busiest does, as that one's link is what the call waits for.
  void even_out(std::uint32_t group, const std::vector<PartRef>& members) {
    const std::vector<std::int64_t>& ranks = result_.groups[group].ranks;
    const CommPart first = part(members.front());
    std::int64_t most = 0;
    std::int64_t busiest = 0;
    bool uneven = false;
    for (const PartRef& at : members) {
      const CommPart& own = part(at);
      most = std::max(most, own.bytes);
      uneven = uneven || own.bytes != first.bytes;
      if (own.collective != coll::Collective::kAllToAll || ranks.size() < 2) continue;
      const auto self = static_cast<std::size_t>(std::ranges::find(ranks, ranks_[at.rank].events.rank) - ranks.begin());
      const AllToAllTraffic traffic = traffic_of(call(at), own, self, ranks.size());
      // Several in one kernel have their sizes added up, and are taken to be dealt alike.
      const std::int64_t told = std::max({call(at).in_elements, call(at).out_elements, std::int64_t{1}}) * own.element_size;
      const double several = static_cast<double>(own.bytes) / static_cast<double>(told);
      const auto moved = static_cast<double>(std::max(traffic.sent, traffic.received));
      busiest = std::max(busiest, static_cast<std::int64_t>(moved * several + 0.5));
      uneven = uneven || is_uneven(call(at)) ||
               (call(at).in_elements >= 0 && call(at).out_elements >= 0 && call(at).in_elements != call(at).out_elements);
    }
    if (!uneven) return;
    const bool all_to_all = first.collective == coll::Collective::kAllToAll && ranks.size() > 1;
    if (!all_to_all && first.collective != coll::Collective::kGather && first.collective != coll::Collective::kScatter) return;
    if (all_to_all) ++uneven_;
    for (const PartRef& at : members) {
      part(at).bytes = all_to_all ? even_bytes(busiest, first.element_size, ranks.size()) : most;
      part(at).element_size = first.element_size;
    }
  }

  void match_messages() {
    std::map<std::pair<std::int64_t, std::int64_t>, std::array<std::vector<PartRef>, 2>> pairs;
    for_each_part(ranks_, [&](const PartRef& at, const Item&, CommPart& its) {
      if (its.kind == OpKind::kCollective || !its.matched) return;
      const std::int64_t own = ranks_[at.rank].events.rank;
      const bool sends = its.kind == OpKind::kSend;
      pairs[sends ? std::pair{own, its.peer} : std::pair{its.peer, own}][sends ? 0 : 1].push_back(at);
    });
    for (auto& [ends, lists] : pairs) {
      const std::size_t common = std::min(lists[0].size(), lists[1].size());
      CallsInCommon messages{.what = fmt::format("messages from rank {} to rank {}", ends.first, ends.second)};
      for (std::size_t k = 0; k < common; ++k) {
        messages.a = lists[0][k].rank;
        messages.b = lists[1][k].rank;
        if (part(lists[0][k]).bytes == part(lists[1][k]).bytes) {
          ++messages.same;
        } else if (++messages.different == 1) {
          messages.example =
              fmt::format("number {} is of {} B, there of {} B", k, part(lists[1][k]).bytes, part(lists[0][k]).bytes);
        }
      }
      if (common > 0) result_.in_common.push_back(std::move(messages));
      for (std::size_t side = 0; side < 2; ++side) {
        for (std::size_t k = 0; k < lists[side].size(); ++k) {
          const bool agree = k < common && part(lists[0][k]).bytes == part(lists[1][k]).bytes;
          if (agree) continue;
          part(lists[side][k]).matched = false;
          if (k < common && side == 1) continue;  // told once
          unmatched_.push_back(
              fmt::format("{} number {} from rank {} to rank {}", side == 0 ? "send" : "receive", k, ends.first, ends.second));
        }
      }
    }
  }

  std::vector<RankTrace>& ranks_;
  std::map<std::int64_t, std::size_t> position_;
  Matching result_;
  std::size_t uneven_ = 0;
  std::size_t other_sizes_ = 0;
  std::vector<std::string> unknown_groups_;
  std::vector<std::string> unmatched_;
};

std::int64_t median(std::vector<std::int64_t> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

Matching match(std::vector<RankTrace>& ranks) { return Matcher{ranks}.run(); }

std::vector<std::int64_t> clock_shifts(const std::vector<RankTrace>& ranks) {
  // Ends of the calls that ranks share, in order, by what they share: a group's number, or a pair.
  using Shared = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  std::vector<std::map<Shared, std::vector<std::int64_t>>> ends(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::int64_t own = ranks[r].events.rank;
    for (const Item& item : ranks[r].items.items) {
      for (const CommPart& part : item.parts) {
        if (!part.matched) continue;
        const Shared key = part.kind == OpKind::kCollective ? Shared{part.group, -1, -1}
                           : part.kind == OpKind::kSend     ? Shared{-1, own, part.peer}
                                                            : Shared{-1, part.peer, own};
        ends[r][key].push_back(item.end());
      }
    }
  }
  std::vector<std::optional<std::int64_t>> shift(ranks.size());
  if (!ranks.empty()) shift[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = 0; b < ranks.size(); ++b) {
      for (std::size_t a = 0; a < ranks.size() && !shift[b]; ++a) {
        if (!shift[a]) continue;
        std::vector<std::int64_t> differences;
        for (const auto& [key, own] : ends[b]) {
          const auto theirs = ends[a].find(key);
          if (theirs == ends[a].end() || theirs->second.size() != own.size()) continue;
          for (std::size_t k = 0; k < own.size(); ++k) differences.push_back(theirs->second[k] - own[k]);
        }
        if (differences.empty()) continue;
        const std::int64_t middle = median(std::move(differences));
        shift[b] = *shift[a] + (std::abs(middle) > kClocksAgreeNs ? middle : 0);
        changed = true;
      }
    }
  }
  std::vector<std::int64_t> result;
  for (const auto& each : shift) result.push_back(each.value_or(0));
  return result;
}

}  // namespace weft::work::kineto
