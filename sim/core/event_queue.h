// Pending events in one total order: the concept an event queue fulfils, the event itself, and the queues kept.
//
// An event is 32 bytes: when, in which order among those of the same instant, whom it concerns, and a word for that target.
// The order is (time, order); `order` packs phase | source | sequence (make_order), so two events never compare equal and the
// sequence in which they are popped depends neither on the queue nor on how a run is cut into partitions.
//
// Contract of every queue: times are >= 0, and a push is never earlier than the last pop (a simulator does not schedule in the
// past). At the time of the last pop any `order` may still be pushed, also one smaller than those pending or already popped.
//
// Cost in ns of CPU per pop and push, hold model of tests/bench/event_queue_bench.cpp, median of 5 runs of 10^6 (2-core x86-64
// VM that other builds shared, g++ 12 -O2). Delays: exponential, mean 1 us; a network's (82 ns, 0.5 and 1 us, 2 % timers of
// 55 us); lockstep, groups of 512 events at one instant.
//
//                    exponential           network               lockstep
//   pending        10^3  10^5  10^6     10^3  10^5  10^6     10^3  10^5  10^6
//   binary heap      95   291   878       73   194   872       70   160   500
//   quaternary       40   116   513       45   182   579      102   172   277
//   radix            47    56    76       42    46    92       31    47    64
//
// So the simulator uses the radix queue. The quaternary heap stays as the simple second, no slower up to some thousand events;
// the binary heap lives beside the benchmark. At 10^6 pending, digits of 6 bits take about half the time of single bits; chunks
// of 15 and of 31 events differ by less than the noise of this machine.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft {

class EventTarget;

struct Event {
  Time time;
  std::uint64_t order = 0;  // see make_order
  EventTarget* target = nullptr;
  std::uint64_t payload = 0;
};
static_assert(sizeof(Event) == 32 && std::is_trivially_copyable_v<Event>, "two events share a cache line");

// True if `a` is popped before `b`.
constexpr bool runs_before(const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.order < b.order; }

// The widths of the parts of an order. Phase first, because what an instant means must not depend on who acts in it. Then the
// source, then that source's own count: both are known where the event is made, without asking any other partition, so the
// order is the same however a run is cut. 2^24 components are more than a machine's memory can hold as
// models; 2^36 events from one source are hours of simulation even where one component schedules everything.
inline constexpr int kPhaseBits = 4;
inline constexpr int kSourceBits = 24;
inline constexpr int kSequenceBits = 36;
static_assert(kPhaseBits + kSourceBits + kSequenceBits == 64);

// Packs the order of an event. Overflow of any part is a bug of ours and is checked.
constexpr std::uint64_t make_order(std::uint8_t phase, ComponentId source, std::uint64_t sequence) {
  WEFT_CHECK(phase < (1U << kPhaseBits));
  WEFT_CHECK(source.value() < (1U << kSourceBits));
  WEFT_CHECK(sequence < (std::uint64_t{1} << kSequenceBits));
  return (std::uint64_t{phase} << (kSourceBits + kSequenceBits)) | (std::uint64_t{source.value()} << kSequenceBits) | sequence;
}

// The Simulator asks this of a queue. pop() and next_time() need a queue that is not empty. next_time() changes nothing, so
// that a run may stop before the next event and go on with earlier ones. next_order() is the order of the event that pop()
// would give, and makes its time the current one: afterwards nothing earlier may be pushed.
template <class Q>
concept PendingEvents = requires(Q queue, const Q& constant, const Event& event) {
  {queue.push(event)};
  { queue.pop() } -> std::same_as<Event>;
  { constant.next_time() } -> std::same_as<Time>;
  { queue.next_order() } -> std::same_as<std::uint64_t>;
  { constant.size() } -> std::same_as<std::size_t>;
  { constant.empty() } -> std::same_as<bool>;
};

// A monotone radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, 1990) on the picoseconds of an event's time, in digits of
// kDigitBits bits. An event later than the current time, which is that of the last pop, waits in the bucket named by the
// highest digit in which its time differs from the current time (the level) and by its own value of that digit. The earliest
// event is then in the lowest bucket of the lowest level; when the current time reaches that bucket, its events spread over
// the levels below. An event moves at most once per level, so the cost per event does not grow with the number pending.
//
// Events of the current time come in their exact `order`: those found in the bucket are sorted once (batch_), those pushed
// while their time is current go to a heap (late_), and the lesser of the two is next.
//
// Buckets are lists of chunks from one store, so memory follows the greatest number pending (and that of one instant), and a
// steady state allocates nothing, whichever buckets are in use as time goes by.
template <int kDigitBits, std::size_t kChunkEvents>
class BasicRadixQueue {
  static_assert(kDigitBits >= 1 && kDigitBits <= 6, "the digits in use fit into one word");

 public:
  BasicRadixQueue() {
    batch_.reserve(kUsualTies);
    late_.reserve(kUsualTies);
  }

  void push(const Event& event) {
    ++size_;
    if (event.time == current_) {
      late_.push_back(event);
      std::push_heap(late_.begin(), late_.end(), greater_order);
    } else {
      place(event);
    }
  }

  Event pop() {
    --size_;
    if (batch_.empty()) {
      if (!late_.empty()) return pop_late();
      if (!advance_to_batch()) return only_;
    } else if (!late_.empty() && late_.front().order < batch_.back().order) {
      return pop_late();
    }
    const Event event = batch_.back();
    batch_.pop_back();
    return event;
  }

  [[nodiscard]] Time next_time() const {
    return batch_.empty() && late_.empty() ? buckets_[lowest_bucket()].earliest : current_;
  }
  [[nodiscard]] std::uint64_t next_order() {
    if (batch_.empty() && late_.empty() && !advance_to_batch()) batch_.push_back(only_);
    if (batch_.empty()) return late_.front().order;
    return late_.empty() ? batch_.back().order : std::min(batch_.back().order, late_.front().order);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // All that is pending, in no order.
  void append_to(std::vector<Event>& events) const {
    events.insert(events.end(), batch_.begin(), batch_.end());
    events.insert(events.end(), late_.begin(), late_.end());
    for (const Bucket& bucket : buckets_) {
      for (const Chunk* chunk = bucket.head; chunk != nullptr; chunk = chunk->next) {
        events.insert(events.end(), chunk->events, chunk->events + chunk->count);
      }
    }
  }

 private:
  static constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
  static constexpr std::size_t kLevels = (63 + kDigitBits - 1) / kDigitBits;  // a time has 63 bits
  static constexpr std::size_t kChunksPerSlab = 64;
  static constexpr std::size_t kUsualTies = 128;

  struct Chunk {
    Chunk* next;
    std::size_t count;
    Event events[kChunkEvents];
  };
  struct Bucket {
    Chunk* head = nullptr;  // being filled; those behind it are full
    Time earliest = Time::max();
  };

  static bool greater_order(const Event& a, const Event& b) { return a.order > b.order; }

  void place(const Event& event) {
    const auto time = static_cast<std::uint64_t>(event.time.ps());
    const std::uint64_t differing = time ^ static_cast<std::uint64_t>(current_.ps());
    const std::size_t level = static_cast<std::size_t>(63 - std::countl_zero(differing)) / kDigitBits;
    const std::size_t digit = (time >> (level * kDigitBits)) & (kDigits - 1);
    Bucket& bucket = buckets_[level * kDigits + digit];
    if (bucket.head == nullptr) {
      used_levels_ |= std::uint64_t{1} << level;
      used_digits_[level] |= std::uint64_t{1} << digit;
      bucket.head = take_chunk(nullptr);
    } else if (bucket.head->count == kChunkEvents) {
      bucket.head = take_chunk(bucket.head);
    }
    bucket.head->events[bucket.head->count++] = event;
    bucket.earliest = std::min(bucket.earliest, event.time);
  }

  [[nodiscard]] std::size_t lowest_bucket() const {
    const auto level = static_cast<std::size_t>(std::countr_zero(used_levels_));
    return level * kDigits + static_cast<std::size_t>(std::countr_zero(used_digits_[level]));
  }

  // Makes the earliest time of the lowest bucket current and spreads its events: those of that time are in batch_ afterwards.
  // Where the bucket held a single event, that is left in only_ instead, and the result is false.
  bool advance_to_batch() {
    const std::size_t index = lowest_bucket();
    const std::size_t level = index / kDigits;
    used_digits_[level] &= used_digits_[level] - 1;
    if (used_digits_[level] == 0) used_levels_ &= used_levels_ - 1;
    Bucket& bucket = buckets_[index];
    Chunk* chunk = std::exchange(bucket.head, nullptr);
    current_ = std::exchange(bucket.earliest, Time::max());

    if (chunk->count == 1 && chunk->next == nullptr) {
      only_ = chunk->events[0];
      give_chunk(chunk);
      return false;
    }
    while (chunk != nullptr) {
      for (std::size_t i = 0; i < chunk->count; ++i) {
        if (chunk->events[i].time == current_) {
          batch_.push_back(chunk->events[i]);
        } else {
          place(chunk->events[i]);
        }
      }
      Chunk* const next = chunk->next;
      give_chunk(chunk);
      chunk = next;
    }
    if (batch_.size() > 1) std::sort(batch_.begin(), batch_.end(), greater_order);
    return true;
  }

  Event pop_late() {
    std::pop_heap(late_.begin(), late_.end(), greater_order);
    const Event event = late_.back();
    late_.pop_back();
    return event;
  }

  Chunk* take_chunk(Chunk* next) {
    if (free_ == nullptr) add_slab();
    Chunk* const chunk = std::exchange(free_, free_->next);
    chunk->next = next;
    chunk->count = 0;
    return chunk;
  }
  void give_chunk(Chunk* chunk) { chunk->next = std::exchange(free_, chunk); }
  void add_slab() {
    slabs_.push_back(std::make_unique_for_overwrite<Chunk[]>(kChunksPerSlab));
    for (std::size_t i = kChunksPerSlab; i-- > 0;) give_chunk(&slabs_.back()[i]);
  }

  Time current_;
  std::size_t size_ = 0;
  Event only_;
  std::vector<Event> batch_;                          // of the current time, the next one last
  std::vector<Event> late_;                           // of the current time, a heap on order
  std::uint64_t used_levels_ = 0;                     // bit l: a bucket of level l holds something
  std::array<std::uint64_t, kLevels> used_digits_{};  // bit d of [l]: bucket d of level l holds something
  std::array<Bucket, kLevels * kDigits> buckets_;
  Chunk* free_ = nullptr;
  std::vector<std::unique_ptr<Chunk[]>> slabs_;
};

using RadixQueue = BasicRadixQueue<6, 31>;

static_assert(PendingEvents<RadixQueue>);

}  // namespace weft
