// Who hears of a run's progress.
#pragma once

#include <cstdint>

#include "sim/core/simulator.h"

namespace weft::plan {

class RunObserver {
 public:
  // Called about every 100,000 events; `done` of `total` items are finished (flows, collectives or operations).
  virtual void on_progress(const Simulator& simulator, std::uint64_t done, std::uint64_t total) = 0;
  // Before the run, so that a signal handler can stop it.
  virtual void on_begin(Simulator& simulator) = 0;
  virtual void on_end() = 0;

 protected:
  ~RunObserver() = default;
};

}  // namespace weft::plan
