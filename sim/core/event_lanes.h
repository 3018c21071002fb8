// Pending events most of which come at a few fixed delays, as a network's do: the time a full packet takes on a link, the time
// an acknowledgement takes, each with or without the propagation.
//
// Events of one source and phase that are all scheduled the same delay ahead come in the order in which they were scheduled, so
// a ring keeps them: a lane. The earliest event is the least of the lanes' heads and of the head of an ordinary queue, which
// takes whatever fits no lane. A lane that has run empty goes to the next delay that asks for one. The order of pops is that of
// any other queue (event_queue.h); only the cost differs: some ten ns, in memory that is read from front to back.
//
// A ring grows to the greatest number pending and stays: no allocation in the steady state.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/core/event_queue.h"

namespace weft {

template <PendingEvents Rest>
class LanedQueue {
 public:
  void push(const Event& event) {
    rest_.push(event);
    if (event.time < rest_time_) rest_time_ = event.time;
  }

  // Of events whose orders rise from call to call for one source and phase: pushed `delay` after the last pop.
  void push_regular(const Event& event, std::int64_t delay) {
    const std::size_t lane = static_cast<std::uint64_t>(delay) < kMostDelay ? lane_of(event, delay) : kLanes;
    if (lane == kLanes) {
      push(event);
      return;
    }
    append(lane, event);
  }

  Event pop() {
    if (rest_time_.ps() <= heads_[first_].time && rest_is_first()) {
      popped_ = kLanes;
      const Event event = rest_.pop();
      rest_time_ = rest_.empty() ? Time::max() : rest_.next_time();
      return event;
    }
    return pop_lane();
  }

  [[nodiscard]] Time next_time() const { return std::min(rest_time_, Time::from_ps(heads_[first_].time)); }
  [[nodiscard]] std::uint64_t next_order() {
    return rest_time_.ps() <= heads_[first_].time && rest_is_first() ? rest_.next_order() : heads_[first_].order;
  }
  [[nodiscard]] std::size_t size() const { return rest_.size() + lane_events_; }
  [[nodiscard]] bool empty() const { return size() == 0; }

  // The event that follows the last one popped in its lane, `distance` places behind it, where there is one: what its target
  // will need soon. nullptr: none is known.
  [[nodiscard]] const std::uint64_t* ahead(std::size_t distance) const {
    if (popped_ == kLanes) return nullptr;
    const Lane& lane = lanes_[popped_];
    const std::size_t at = lane.head + distance - 1;
    return at < lane.tail ? &lane.ring[at & lane.mask].payload : nullptr;
  }

 private:
  static constexpr std::size_t kLanes = 8;
  static constexpr int kDelayBits = 64 - kPhaseBits - kSourceBits;
  static constexpr std::uint64_t kMostDelay = std::uint64_t{1} << kDelayBits;
  static constexpr std::size_t kFirstCapacity = 64;

  struct Entry {
    std::int64_t time;
    std::uint64_t order;
    std::uint64_t payload;
  };
  // What a lane's events have in common, and its ring; head and tail count all events ever.
  struct Lane {
    std::vector<Entry> ring = std::vector<Entry>(kFirstCapacity);
    std::size_t mask = kFirstCapacity - 1;
    std::size_t head = 0;
    std::size_t tail = 0;
    EventTarget* target = nullptr;
  };
  struct Head {
    std::int64_t time = std::numeric_limits<std::int64_t>::max();
    std::uint64_t order = std::numeric_limits<std::uint64_t>::max();
  };

  static Uint128 key(const Head& head) { return Uint128{static_cast<std::uint64_t>(head.time)} << 64 | head.order; }

  // kLanes: all are taken by other delays.
  std::size_t lane_of(const Event& event, std::int64_t delay) {
    const std::uint64_t kind = event.order >> kSequenceBits << kDelayBits | static_cast<std::uint64_t>(delay);
    std::size_t lane = 0;
    while (lane < kLanes && kinds_[lane] != kind) ++lane;
    if (lane < kLanes && lanes_[lane].target == event.target) return lane;
    for (lane = 0; lane < kLanes; ++lane) {
      if (lanes_[lane].head == lanes_[lane].tail) {
        kinds_[lane] = kind;
        lanes_[lane].target = event.target;
        return lane;
      }
    }
    return kLanes;
  }

  void append(std::size_t index, const Event& event) {
    Lane& lane = lanes_[index];
    if (lane.head == lane.tail) {
      heads_[index] = {event.time.ps(), event.order};
      if (key(heads_[index]) < key(heads_[first_])) first_ = index;
    } else if (lane.tail - lane.head > lane.mask) {
      grow(lane);
    }
    lane.ring[lane.tail++ & lane.mask] = {event.time.ps(), event.order, event.payload};
    ++lane_events_;
  }

  Event pop_lane() {
    popped_ = first_;
    Lane& lane = lanes_[first_];
    const Entry entry = lane.ring[lane.head++ & lane.mask];
    --lane_events_;
    if (lane.head == lane.tail) {
      heads_[first_] = {};
    } else {
      const Entry& next = lane.ring[lane.head & lane.mask];
      heads_[first_] = {next.time, next.order};
    }
    first_ = least();
    return {Time::from_ps(entry.time), entry.order, lane.target, entry.payload};
  }

  [[nodiscard]] std::size_t least() const {
    std::size_t best = 0;
    Uint128 best_key = key(heads_[0]);
    for (std::size_t i = 1; i < kLanes; ++i) {
      const Uint128 other = key(heads_[i]);
      best = other < best_key ? i : best;
      best_key = other < best_key ? other : best_key;
    }
    return best;
  }

  // Where both have their next event at one instant, that is now: the rest's order of that instant may be looked at.
  bool rest_is_first() { return rest_time_.ps() < heads_[first_].time || rest_.next_order() < heads_[first_].order; }

  void grow(Lane& lane) {
    std::vector<Entry> larger(2 * lane.ring.size());
    for (std::size_t i = lane.head; i < lane.tail; ++i) larger[i & (larger.size() - 1)] = lane.ring[i & lane.mask];
    lane.ring = std::move(larger);
    lane.mask = lane.ring.size() - 1;
  }

  Rest rest_;
  Time rest_time_ = Time::max();
  std::size_t lane_events_ = 0;
  std::size_t first_ = 0;        // the lane whose head is the least
  std::size_t popped_ = kLanes;  // the lane of the last pop
  std::array<Head, kLanes> heads_;
  std::array<std::uint64_t, kLanes> kinds_{};  // phase, source and delay of each lane's events
  std::array<Lane, kLanes> lanes_;
};

// What the Simulator uses.
using EventQueue = LanedQueue<RadixQueue>;
static_assert(PendingEvents<EventQueue>);

}  // namespace weft
