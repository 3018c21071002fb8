// Pending events most of which come at a few fixed delays, as a network's do: the time a full packet takes on a link, the time
// an acknowledgement takes, each with or without the propagation.
//
// Events of one source and phase that are all scheduled the same delay ahead come in the order in which they were scheduled, so
// a ring keeps them: a lane. The earliest event is the least of the lanes' heads and of the head of an ordinary queue, which
// takes what finds all lanes in use. A lane that has run empty goes to the next delay that asks for one. The order of pops is
// that of any other queue (event_queue.h); only the cost differs: some ten ns, in memory that is read from front to back.
//
// A ring grows to the greatest number pending and stays: no allocation in the steady state.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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

  // Pushes an event `delay` after the last pop. The events' orders must rise from call to call for one source and phase, and
  // the delay has less than kSequenceBits bits.
  [[gnu::always_inline]] void push_regular(const Event& event, std::uint64_t delay) {
    // Phase and source are the upper bits of the order; the delay takes the place of the sequence.
    const std::uint64_t kind = (event.order >> kSequenceBits << kSequenceBits) | delay;
    const std::size_t set = kind * kGolden >> (64 - kSetBits);
    const std::uint8_t lane = hints_[set][0];
    if (lanes_[lane].kind == kind && lanes_[lane].target == event.target) return append(lane, event);
    push_elsewhere(event, kind, set);
  }
  // Pushes an event of a series whose times mostly rise from call to call; what comes before its predecessor goes elsewhere.
  // The events' orders must rise.
  void push_in_series(const Event& event, std::uint64_t series) {
    const std::uint64_t kind = kSeries | series;
    const std::size_t set = kind * kGolden >> (64 - kSetBits);
    for (const std::uint8_t hint : hints_[set]) {
      const Lane& lane = lanes_[hint];
      if (lane.kind != kind || lane.target != event.target) continue;
      const bool rises = lane.tail == lane.head || lane.ring[(lane.tail - 1) & lane.mask].time <= event.time.ps();
      return rises ? append(hint, event) : push(event);
    }
    push_elsewhere(event, kind, set);
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
  [[nodiscard]] std::size_t size() const {
    std::size_t events = rest_.size();
    for (const Lane& lane : lanes_) events += lane.tail - lane.head;
    return events;
  }
  [[nodiscard]] bool empty() const { return rest_.empty() && empty_ == (1U << kLanes) - 1; }
  // All that is pending, in no order.
  void append_to(std::vector<Event>& events) const {
    rest_.append_to(events);
    for (const Lane& lane : lanes_) {
      for (std::size_t i = lane.head; i != lane.tail; ++i) {
        const Entry& entry = lane.ring[i & lane.mask];
        events.push_back({Time::from_ps(entry.time), entry.order, lane.target, entry.payload});
      }
    }
  }

  // The payload of the event that follows the last one popped in its lane, `distance` places behind it: what its target will
  // need soon. nullptr: none is known.
  [[nodiscard]] const std::uint64_t* ahead(std::size_t distance) const {
    if (popped_ == kLanes) return nullptr;
    const Lane& lane = lanes_[popped_];
    const std::size_t at = lane.head + distance - 1;
    return at < lane.tail ? &lane.ring[at & lane.mask].payload : nullptr;
  }

 private:
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kFirstCapacity = 64;
  static constexpr int kSetBits = 6;
  static constexpr std::uint64_t kSeries = std::uint64_t{0xF} << 60;  // no phase
  static constexpr std::uint64_t kGolden = 0x9E37'79B9'7F4A'7C15;     // 2^64 / golden ratio: spreads neighbours (Knuth)

  struct Entry {
    std::int64_t time;
    std::uint64_t order;
    std::uint64_t payload;
  };
  // A lane holds what its events have in common, and their ring; head and tail count all events ever.
  struct alignas(64) Lane {
    std::vector<Entry> ring = std::vector<Entry>(kFirstCapacity);
    std::size_t mask = kFirstCapacity - 1;
    std::size_t head = 0;
    std::size_t tail = 0;
    EventTarget* target = nullptr;
    std::uint64_t kind = 0;  // phase, source and delay
  };
  struct Head {
    std::int64_t time = std::numeric_limits<std::int64_t>::max();
    std::uint64_t order = std::numeric_limits<std::uint64_t>::max();
  };

  static Uint128 key(const Head& head) { return Uint128{static_cast<std::uint64_t>(head.time)} << 64 | head.order; }

  // A kind whose lane is not the first that its hash says, or that has none.
  [[gnu::noinline]] void push_elsewhere(const Event& event, std::uint64_t kind, std::size_t set) {
    const std::uint8_t second = hints_[set][1];
    if (lanes_[second].kind == kind && lanes_[second].target == event.target) return append(second, event);
    if (empty_ == 0) return push(event);
    const auto lane = static_cast<std::uint8_t>(std::countr_zero(empty_));
    while (lane >= kLanes / root_) {
      winners_[root_] = static_cast<std::uint8_t>(first_);
      root_ /= 2;
    }
    lanes_[lane].kind = kind;
    lanes_[lane].target = event.target;
    hints_[set][1] = std::exchange(hints_[set][0], lane);
    append(lane, event);
  }

  [[gnu::always_inline]] void append(std::size_t index, const Event& event) {
    Lane& lane = lanes_[index];
    // One comparison for an empty ring and a full one.
    if (lane.tail - lane.head - 1 >= lane.mask) return append_rarely(index, event);
    lane.ring[lane.tail++ & lane.mask] = {event.time.ps(), event.order, event.payload};
  }

  [[gnu::noinline]] void append_rarely(std::size_t index, const Event& event) {
    Lane& lane = lanes_[index];
    const bool was_empty = lane.head == lane.tail;
    if (!was_empty) grow(lane);
    lane.ring[lane.tail++ & lane.mask] = {event.time.ps(), event.order, event.payload};
    if (!was_empty) return;
    empty_ &= ~(1U << index);
    heads_[index] = {event.time.ps(), event.order};
    replay(index);
  }

  Event pop_lane() {
    popped_ = first_;
    Lane& lane = lanes_[popped_];
    const Entry& entry = lane.ring[lane.head++ & lane.mask];
    const Event event{Time::from_ps(entry.time), entry.order, lane.target, entry.payload};
    if (lane.head == lane.tail) {
      empty_ |= 1U << popped_;
      heads_[popped_] = {};
    } else {
      const Entry& next = lane.ring[lane.head & lane.mask];
      heads_[popped_] = {next.time, next.order};
    }
    replay(popped_);
    return event;
  }

  // A tournament of the lanes: the one whose head has changed meets the winners beside its way to the top, which is that of the
  // lanes ever in use.
  void replay(std::size_t changed) {
    std::size_t best = changed;
    Uint128 best_key = key(heads_[best]);
    std::size_t other = changed ^ 1;
    for (std::size_t node = (kLanes + changed) / 2;; node /= 2) {
      const Uint128 other_key = key(heads_[other]);
      const bool less = other_key < best_key;
      best = less ? other : best;
      best_key = less ? other_key : best_key;
      if (node == root_) break;
      winners_[node] = static_cast<std::uint8_t>(best);
      other = winners_[node ^ 1];
    }
    first_ = best;
  }

  // Where both have their next event at one instant, that is now: the rest's order of that instant may be looked at.
  bool rest_is_first() { return rest_time_.ps() < heads_[first_].time || rest_.next_order() < heads_[first_].order; }

  void grow(Lane& lane) {
    std::vector<Entry> larger(2 * lane.ring.size());
    for (std::size_t i = lane.head; i < lane.tail; ++i) larger[i & (larger.size() - 1)] = lane.ring[i & lane.mask];
    lane.ring = std::move(larger);
    lane.mask = lane.ring.size() - 1;
  }

  static std::array<std::uint8_t, kLanes> first_winners() {
    std::array<std::uint8_t, kLanes> winners{};
    for (std::size_t node = kLanes - 1; node > 0; --node) {
      winners[node] = node >= kLanes / 2 ? static_cast<std::uint8_t>(2 * node - kLanes) : winners[2 * node];
    }
    return winners;
  }

  Rest rest_;
  Time rest_time_ = Time::max();
  std::size_t first_ = 0;        // the lane whose head is the least
  std::size_t popped_ = kLanes;  // the lane of the last pop
  std::array<Head, kLanes> heads_;
  std::array<std::uint8_t, kLanes> winners_ = first_winners();  // by node; lane i stands below node (kLanes + i) / 2
  std::size_t root_ = kLanes / 2;                               // of the lanes in use: lanes 0 to kLanes / root_ - 1
  std::array<std::array<std::uint8_t, 2>, std::size_t{1} << kSetBits> hints_{};  // where the latest kinds with this hash went
  std::uint32_t empty_ = (1U << kLanes) - 1;                                     // bit i: so is lane i
  std::array<Lane, kLanes> lanes_;
};

// The Simulator uses this queue.
using EventQueue = LanedQueue<RadixQueue>;
static_assert(PendingEvents<EventQueue>);

}  // namespace weft
