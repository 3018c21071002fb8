#include "sim/workloads/trace/kineto/same_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace weft::work::kineto {
namespace {

// Times since 1970 are past this, in 2001; times since a host's start are not.
constexpr std::int64_t kWallClockNs = 1'000'000'000'000'000'000;
// NTP sets a clock anew that is 128 ms off (RFC 5905, STEPT), so two of them are at most twice as far apart.
constexpr std::int64_t kClocksApartNs = 2 * 128'000'000;

std::string name_of(const RankTrace& rank) { return rank.events.file.string(); }

std::string list_of(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, ranks.size()); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  return fmt::format("[{}{}]", text, ranks.size() > kShown ? ", ..." : "");
}

std::optional<std::string> other_groups(const RankTrace& rank, const RankTrace& first) {
  const auto has = [](const ProcessGroup& group, std::int64_t member) {
    return std::ranges::find(group.ranks, member) != group.ranks.end();
  };
  for (const ProcessGroup& own : rank.events.groups) {
    for (const ProcessGroup& its : first.events.groups) {
      // Groups that were split off have one name on ranks that share none of them.
      if (own.name != its.name || (!has(own, first.events.rank) && !has(its, rank.events.rank))) continue;
      if (!own.ranks.empty() && !its.ranks.empty() && own.ranks != its.ranks) {
        return fmt::format("says that group '{}' has the ranks {}, and '{}' that it has {}", own.name, list_of(own.ranks),
                           name_of(first), list_of(its.ranks));
      }
      if (!own.description.empty() && !its.description.empty() && own.description != its.description) {
        return fmt::format("says that group '{}' is '{}', and '{}' that it is '{}'", own.name, own.description, name_of(first),
                           its.description);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> other_steps(const RankTrace& rank, const RankTrace& first) {
  if (rank.events.steps.empty() || first.events.steps.empty()) return std::nullopt;
  const auto is_here = [&](const Annotation& step) {
    return std::ranges::find(rank.events.steps, step.number, &Annotation::number) != rank.events.steps.end();
  };
  if (std::ranges::any_of(first.events.steps, is_here)) return std::nullopt;
  const auto span_of = [](const RankTrace& of) {
    const auto [least, most] = std::ranges::minmax(of.events.steps, {}, &Annotation::number);
    return fmt::format("ProfilerStep#{} to {}", least.number, most.number);
  };
  return fmt::format("holds {}, and '{}' holds {}", span_of(rank), name_of(first), span_of(first));
}

// Files, joined by what shows that they are of one job.
class Joined {
 public:
  explicit Joined(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t root(std::size_t at) {
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  void join(std::size_t a, std::size_t b) { parent_[root(a)] = root(b); }

 private:
  std::vector<std::size_t> parent_;
};

bool is_stated(const RankTrace& rank) { return rank.events.world > 0 && rank.events.rank < rank.events.world; }

bool share_something(const RankTrace& a, const RankTrace& b) {
  if (a.events.file == b.events.file) return true;
  if (is_stated(a) && is_stated(b) && a.events.world == b.events.world) return true;
  return a.items.unnamed_collectives > 0 && a.items.unnamed_collectives == b.items.unnamed_collectives;
}

std::int64_t last_end(const RankTrace& rank) { return std::ranges::max(rank.items.items, {}, &Item::end).end(); }

// How far one ended before the other began.
std::int64_t gap_between(const RankTrace& a, const RankTrace& b) {
  return std::max(b.items.items.front().start - last_end(a), a.items.items.front().start - last_end(b));
}

}  // namespace

std::optional<OtherJob> other_job_by_files(std::span<const RankTrace> ranks) {
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    const RankTrace& rank = ranks[r];
    const RankTrace& first = ranks.front();
    const std::int64_t world = rank.events.world;
    const std::int64_t other = first.events.world;
    if (world > 0 && other > 0 && world != other) {
      return OtherJob{r, fmt::format("is of a job of {} ranks, and '{}' is of one of {}", world, name_of(first), other)};
    }
    if (other > 0 && rank.events.rank >= other) {
      return OtherJob{r,
                      fmt::format("is of rank {}, and '{}' is of a job of {} ranks", rank.events.rank, name_of(first), other)};
    }
    if (auto what = other_groups(rank, first)) return OtherJob{r, *std::move(what)};
    if (auto what = other_steps(rank, first)) return OtherJob{r, *std::move(what)};
  }
  return std::nullopt;
}

std::optional<OtherJob> other_job_by_calls(std::span<const RankTrace> ranks, const Matching& matching,
                                           std::span<const std::int64_t> shifts) {
  Joined joined{ranks.size()};
  for (const CallsInCommon& calls : matching.in_common) {
    if (calls.same > 0) joined.join(calls.a, calls.b);
    if (calls.same > 0 && calls.same >= calls.different) continue;
    const std::string other = name_of(ranks[calls.a]);
    if (calls.different == 0) {
      return OtherJob{calls.b, fmt::format("has no call of {} in common with '{}'", calls.what, other)};
    }
    return OtherJob{calls.b, fmt::format("has {} of {} calls of {} otherwise than '{}': {}", calls.different,
                                         calls.different + calls.same, calls.what, other, calls.example)};
  }
  const RankTrace& first = ranks.front();
  const bool by_the_wall = first.events.base_ns + first.items.items.front().start > kWallClockNs;
  for (std::size_t r = 1; by_the_wall && r < ranks.size(); ++r) {
    const bool aligned = joined.root(r) == joined.root(0);
    const std::int64_t apart = aligned ? std::abs(shifts[r]) : gap_between(ranks[r], first);
    if (apart <= kClocksApartNs) continue;
    return OtherJob{r, fmt::format("was recorded {:.3f} s from '{}', by the clocks of both", static_cast<double>(apart) / 1e9,
                                   name_of(first))};
  }
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    for (std::size_t other = 0; other < r && joined.root(r) != joined.root(0); ++other) {
      if (share_something(ranks[r], ranks[other])) joined.join(r, other);
    }
  }
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    if (joined.root(r) == joined.root(0)) continue;
    return OtherJob{r, fmt::format("has no call in common with '{}', and not both say of how many ranks their job is",
                                   name_of(ranks.front()))};
  }
  return std::nullopt;
}

}  // namespace weft::work::kineto
