#include "sim/workloads/trace/kineto/undescribed_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sim/workloads/trace/kineto/kernel_names.h"
#include "sim/workloads/trace/line_reader.h"

namespace weft::work::kineto {
namespace {

constexpr std::int64_t kEndTogetherNs = 100'000;
// From so many calls on, that they all end as far apart is a difference of clocks.
constexpr std::size_t kCallsThatTellClocks = 3;

// The calls on a stream of a rank, in order; of a communicator's members those that its first one has, kNone where one lacks
// it.
struct StreamCalls {
  std::size_t rank = 0;  // position
  std::vector<std::uint32_t> items = {};
};

using Members = std::vector<StreamCalls>;  // of a communicator

class UndescribedMatcher {
 public:
  UndescribedMatcher(std::vector<RankTrace>& ranks, std::int64_t world, Matching& matching)
      : ranks_{ranks}, world_{world}, matching_{matching} {}

  UndescribedCalls run() {
    collect();
    std::vector<Members> communicators;
    for (StreamCalls& calls : streams_) add(std::move(calls), communicators, false);
    std::set<std::size_t> known;  // ranks that share something with others
    for (const Members& members : communicators) {
      for (const StreamCalls& each : members) {
        if (members.size() > 1) known.insert(each.rank);
      }
    }
    std::vector<StreamCalls> strangers;
    std::erase_if(communicators, [&](Members& members) {
      if (known.contains(members.front().rank)) return false;
      strangers.push_back(std::move(members.front()));
      return true;
    });
    for (StreamCalls& calls : strangers) add(std::move(calls), communicators, true);
    for (const Members& members : communicators) {
      if (members.size() > 1 && is_whole(members)) join(members);
    }
    for (const RankTrace& rank : ranks_) {
      counts_.alone += static_cast<std::size_t>(std::ranges::count_if(rank.items.items, is_bare));
    }
    return counts_;
  }

 private:
  static bool is_bare(const Item& item) { return is_communication(item.category) && item.parts.empty(); }
  static bool has_no_group(const Item& item) {
    return item.parts.size() == 1 && item.parts.front().kind == OpKind::kCollective && item.parts.front().group == kNone;
  }

  [[nodiscard]] Item& item(const StreamCalls& calls, std::size_t k) { return ranks_[calls.rank].items.items[calls.items[k]]; }
  [[nodiscard]] const std::string& name_of(const StreamCalls& calls, std::size_t k) {
    const RankEvents& events = ranks_[calls.rank].events;
    return events.names[events.activities[item(calls, k).activity].name];
  }
  [[nodiscard]] std::int64_t end(const StreamCalls& calls, std::size_t k) {
    return item(calls, k).end() + ranks_[calls.rank].events.base_ns - ranks_.front().events.base_ns;
  }

  // To the communicator that it is of; false: to a new one.
  bool add(StreamCalls calls, std::vector<Members>& communicators, bool any_clock) {
    std::vector<std::uint32_t> same;
    const auto own =
        std::ranges::find_if(communicators, [&](const Members& members) { return belongs(calls, members, any_clock, same); });
    if (own != communicators.end()) {
      own->push_back({.rank = calls.rank, .items = std::move(same)});
      return true;
    }
    communicators.push_back({std::move(calls)});
    return false;
  }

  void collect() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      std::map<std::uint32_t, StreamCalls> by_stream;
      const std::vector<Item>& items = ranks_[r].items.items;
      for (std::uint32_t i = 0; i < items.size(); ++i) {
        if (!is_bare(items[i]) && !has_no_group(items[i])) continue;
        StreamCalls& calls = by_stream[items[i].stream];
        calls.rank = r;
        calls.items.push_back(i);
      }
      for (auto& [stream, calls] : by_stream) streams_.push_back(std::move(calls));
    }
  }

  // The calls that those of the communicator's first member are; false: they are of another one.
  bool belongs(const StreamCalls& calls, const Members& members, bool any_clock, std::vector<std::uint32_t>& same) {
    const StreamCalls& first = members.front();
    if (std::ranges::any_of(members, [&](const StreamCalls& each) { return each.rank == calls.rank; })) return false;
    if (calls.items.size() == first.items.size() && alike_in_order(calls, first) && end_together(calls, first, any_clock)) {
      same = calls.items;
      return true;
    }
    return !any_clock && match_by_ends(calls, first, same);
  }

  bool alike_in_order(const StreamCalls& calls, const StreamCalls& first) {
    for (std::size_t k = 0; k < calls.items.size(); ++k) {
      if (!is_alike(calls, k, first, k)) return false;
    }
    return true;
  }

  bool end_together(const StreamCalls& calls, const StreamCalls& first, bool any_clock) {
    std::vector<std::int64_t> apart;
    for (std::size_t k = 0; k < calls.items.size(); ++k) apart.push_back(end(calls, k) - end(first, k));
    if (any_clock && apart.size() < kCallsThatTellClocks) return false;
    std::vector<std::int64_t> sorted = apart;
    std::ranges::sort(sorted);
    const std::int64_t clocks = any_clock ? sorted[sorted.size() / 2] : 0;
    const auto together =
        std::ranges::count_if(apart, [&](std::int64_t each) { return std::abs(each - clocks) <= kEndTogetherNs; });
    return 2 * static_cast<std::size_t>(together) > apart.size();
  }

  // Profiles that do not begin or end with the same call: those are the same that end together.
  bool match_by_ends(const StreamCalls& calls, const StreamCalls& first, std::vector<std::uint32_t>& same) {
    same.assign(first.items.size(), kNone);
    std::size_t next = 0;
    std::size_t found = 0;
    for (std::size_t k = 0; k < first.items.size(); ++k) {
      while (next < calls.items.size() && end(calls, next) < end(first, k) - kEndTogetherNs) ++next;
      if (next == calls.items.size()) break;
      if (end(calls, next) > end(first, k) + kEndTogetherNs || !is_alike(calls, next, first, k)) continue;
      same[k] = calls.items[next++];
      ++found;
    }
    return 2 * found > std::min(calls.items.size(), first.items.size());
  }

  bool is_alike(const StreamCalls& a, std::size_t i, const StreamCalls& b, std::size_t k) {
    return name_of(a, i) == name_of(b, k) && say_the_same(item(a, i), item(b, k));
  }

  static bool say_the_same(const Item& a, const Item& b) {
    if (a.parts.size() != b.parts.size()) return false;
    if (a.parts.empty()) return true;
    const CommPart& one = a.parts.front();
    const CommPart& other = b.parts.front();
    return one.collective == other.collective && (one.bytes == other.bytes || one.collective == coll::Collective::kAllToAll);
  }

  // Ranks without a trace do what traced ones do: a group is then known only where it has all of them.
  [[nodiscard]] bool is_whole(const Members& members) const {
    return static_cast<std::int64_t>(ranks_.size()) == world_ || members.size() == ranks_.size();
  }

  void join(const Members& members) {
    const auto group = static_cast<std::uint32_t>(matching_.groups.size());
    TraceGroup made{fmt::format("undescribed {}", ++made_), {}};
    if (members.size() == ranks_.size()) {
      for (std::int64_t rank = 0; rank < world_; ++rank) made.ranks.push_back(rank);
    } else {
      for (const StreamCalls& each : members) made.ranks.push_back(ranks_[each.rank].events.rank);
    }
    const auto size = static_cast<std::int64_t>(made.ranks.size());
    std::size_t joined = 0;
    for (std::size_t k = 0; k < members.front().items.size(); ++k) {
      std::vector<std::pair<const Item*, CommPart*>> call;
      if (std::ranges::any_of(members, [&](const StreamCalls& each) { return each.items[k] == kNone; })) continue;
      ++joined;
      for (const StreamCalls& each : members) {
        Item& own = item(each, k);
        if (!own.parts.empty()) {
          describe(ranks_[each.rank].events, own.parts.front(), group, size);
          continue;
        }
        own.parts.push_back({.collective = collective_of_kernel(name_of(each, k)), .group = group});
        call.emplace_back(&own, &own.parts.front());
      }
      counts_.matched += call.size();
      if (!call.empty()) fix_time(call);
    }
    for (const StreamCalls& each : members) {
      if (each.rank == members.front().rank) continue;
      CallsInCommon common{.a = members.front().rank, .b = each.rank, .what = made.name};
      common.same = joined;
      matching_.in_common.push_back(std::move(common));
    }
    matching_.groups.push_back(std::move(made));
  }

  // Its group is known now, and with it how much all of it is where one rank's part was said.
  static void describe(const RankEvents& events, CommPart& part, std::uint32_t group, std::int64_t ranks) {
    const bool of_one = part.collective == coll::Collective::kAllGather || part.collective == coll::Collective::kGather;
    if (of_one && events.comms[part.comm].group_size < 0)
      part.bytes = std::min(part.bytes, kLargestTask.count() / ranks) * ranks;
    part.group = group;
    part.matched = true;
  }

  std::vector<RankTrace>& ranks_;
  std::int64_t world_;
  Matching& matching_;
  std::vector<StreamCalls> streams_;
  UndescribedCalls counts_;
  std::size_t made_ = 0;
};

}  // namespace

UndescribedCalls match_undescribed(std::vector<RankTrace>& ranks, std::int64_t world, Matching& matching) {
  return UndescribedMatcher{ranks, world, matching}.run();
}

void fix_time(const std::vector<std::pair<const Item*, CommPart*>>& calls) {
  std::int64_t shortest = calls.front().first->duration;
  for (const auto& [item, part] : calls) shortest = std::min(shortest, item->duration);
  for (const auto& [item, part] : calls) part->fixed_ns = shortest;
}

}  // namespace weft::work::kineto
