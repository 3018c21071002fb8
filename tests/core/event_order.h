// The simulator's order of events, for ordered sets that queues are compared with.
#pragma once

#include "sim/core/event_queue.h"

namespace weft::test {

struct RunsBefore {
  bool operator()(const Event& a, const Event& b) const { return runs_before(a, b); }
};

}  // namespace weft::test
