// The textbook event queue, a binary heap by std::push_heap: kept beside the benchmark as the baseline that the queues of
// sim/core/event_queue.h are measured and tested against.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/core/event_queue.h"

namespace weft {

class BinaryHeapQueue {
 public:
  void push(const Event& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), runs_after);
  }
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), runs_after);
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }
  [[nodiscard]] Time next_time() const { return heap_.front().time; }
  [[nodiscard]] std::uint64_t next_order() const { return heap_.front().order; }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] bool empty() const { return heap_.empty(); }

 private:
  static bool runs_after(const Event& a, const Event& b) { return runs_before(b, a); }
  std::vector<Event> heap_;
};

static_assert(PendingEvents<BinaryHeapQueue>);

}  // namespace weft
