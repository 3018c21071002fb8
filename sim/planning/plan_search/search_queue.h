// Plans or families that a search has yet to look at. Each item has an estimate, by which the likeliest is found, and a bound,
// by which the one that keeps a proof open is; both are scores, and less is better.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace weft::plan {

template <typename Item>
class SearchQueue {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  void add(double estimate, double bound, Item item) {
    by_estimate_.emplace(estimate, next_);
    by_bound_.emplace(bound, next_);
    entries_.emplace(next_++, Entry{estimate, bound, std::move(item)});
  }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] double least_estimate() const { return empty() ? kNever : by_estimate_.begin()->first; }
  [[nodiscard]] double least_bound() const { return empty() ? kNever : by_bound_.begin()->first; }

  // Returns the one of the least estimate, or of the least bound. There must be one.
  Item take(bool by_bound) {
    const auto at = entries_.find(by_bound ? by_bound_.begin()->second : by_estimate_.begin()->second);
    by_estimate_.erase({at->second.estimate, at->first});
    by_bound_.erase({at->second.bound, at->first});
    return std::move(entries_.extract(at).mapped().item);
  }

 private:
  struct Entry {
    double estimate = 0;
    double bound = 0;
    Item item;
  };
  std::map<std::size_t, Entry> entries_;
  std::set<std::pair<double, std::size_t>> by_estimate_;  // ties in order of arrival
  std::set<std::pair<double, std::size_t>> by_bound_;
  std::size_t next_ = 0;
};

}  // namespace weft::plan
