// The simulator's order of events, and an ordered set that queues are compared with, pop by pop.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "sim/core/event_queue.h"

namespace weft::test {

struct RunsBefore {
  bool operator()(const Event& a, const Event& b) const { return runs_before(a, b); }
};

// Pops one event of both, and puts its time into `now`.
template <class Queue>
void pop_alike(Queue& queue, std::multiset<Event, RunsBefore>& expected, std::int64_t& now) {
  ASSERT_EQ(queue.next_time(), expected.begin()->time);
  const Event event = queue.pop();
  ASSERT_EQ(event.time, expected.begin()->time);
  ASSERT_EQ(event.order, expected.begin()->order);
  ASSERT_EQ(event.payload, expected.begin()->payload);
  expected.erase(expected.begin());
  now = event.time.ps();
}

}  // namespace weft::test
