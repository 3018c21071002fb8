// Who hears of a run's progress.
#pragma once

#include <cstdint>

#include "sim/core/simulator.h"

namespace weft::scenario {

class RunObserver {
 public:
  // Called about every 100,000 events; `done` of `total` items are finished (flows, collectives or operations).
  virtual void on_progress(const Simulator& simulator, std::uint64_t done, std::uint64_t total) = 0;
  // Before the run, so that a signal handler can stop it.
  virtual void on_begin(Simulator& simulator) = 0;
  virtual void on_end() = 0;
  // Between the two, before the first event: `done` of `total` collectives that were to be run alone first.
  virtual void on_ahead(std::uint64_t /*done*/, std::uint64_t /*total*/) {}

 protected:
  ~RunObserver() = default;
};

// The arguments of a simulator's progress hook, for runs that count their items themselves.
struct RunWatch {
  RunObserver* observer = nullptr;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

inline void watch_hook(void* context, const Simulator& simulator) {
  const RunWatch& watch = *static_cast<const RunWatch*>(context);
  watch.observer->on_progress(simulator, watch.done, watch.total);
}

}  // namespace weft::scenario
