#include "sim/workloads/trace/kineto/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>

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

// What a rank's own file says of a group, the fullest source first (workload-models §5.2: lists of large groups are cut).
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
    match_collectives();
    match_messages();
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

  void find_groups() {
    std::map<std::pair<std::size_t, std::string>, std::uint32_t> known;  // by rank's position and name
    for_each_part(ranks_, [&](const PartRef& at, const Item&, CommPart& its) {
      const RankEvents& events = ranks_[at.rank].events;
      const CommCall& say = call(at);
      if (its.kind != OpKind::kCollective) {
        if (its.peer >= 0 && its.peer != events.rank) return;
        its.matched = false;
        unmatched_.push_back(fmt::format("rank {}: {} with no known peer", events.rank, say.name));
        return;
      }
      const auto [found, is_new] = known.try_emplace({at.rank, say.group + "/" + say.ranks}, kNone);
      if (is_new) found->second = group_of(events, say);
      its.group = found->second;
      if (its.group != kNone) return;
      its.matched = false;
      unknown_groups_.push_back(fmt::format("rank {}, group '{}', {}", events.rank, say.group, say.name));
    });
  }

  std::uint32_t group_of(const RankEvents& events, const CommCall& say) {
    TraceGroup group{say.group_description.empty() || say.group_description == "undefined"
                         ? say.group
                         : fmt::format("{}: {}", say.group, say.group_description),
                     ranks_of(events, say)};
    std::vector<std::int64_t> sorted = group.ranks;
    std::ranges::sort(sorted);
    if (!std::ranges::binary_search(sorted, events.rank) || sorted.front() < 0 ||
        std::ranges::adjacent_find(sorted) != sorted.end() || sorted.back() >= kMostRanks) {
      return kNone;
    }
    auto at = std::ranges::find(result_.groups, group);
    if (at == result_.groups.end()) at = result_.groups.insert(at, std::move(group));
    return static_cast<std::uint32_t>(at - result_.groups.begin());
  }

  // By group: each member's calls in order, by sequence number where all have one.
  void match_collectives() {
    std::map<std::uint32_t, std::map<std::size_t, std::vector<PartRef>>> calls;
    for_each_part(ranks_, [&](const PartRef& at, const Item&, const CommPart& its) {
      if (its.kind == OpKind::kCollective && its.matched) calls[its.group][at.rank].push_back(at);
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
      const bool agree = std::ranges::all_of(members, [&](const PartRef& at) {
        return part(at).collective == first.collective && part(at).bytes == first.bytes &&
               part(at).element_size == first.element_size;
      });
      if (complete && agree) continue;
      std::string who;
      for (const PartRef& at : members) who += fmt::format("{}{}", who.empty() ? "" : ", ", ranks_[at.rank].events.rank);
      unmatched_.push_back(fmt::format("{} number {} of group '{}' {} rank {}", coll::to_string(first.collective), sequence,
                                       result_.groups[group].name, complete ? "differs between" : "is only on", who));
      for (const PartRef& at : members) part(at).matched = false;
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
