// Who hears of what engines do, as it happens: a timeline.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/core/units.h"
#include "sim/workloads/inference/batch_scheduler.h"

namespace weft::work {

struct RequestRecord;

// A step on an engine. Its stages follow one another, and the last one's end is the step's.
struct ServedStep {
  struct Stage {
    Time begin;
    Time end;
  };
  std::size_t engine = 0;
  const StepMix& mix;
  const std::vector<Stage>& stages;
};

class ServingObserver {
 public:
  // Before the run. Engines count from 0 in this order.
  virtual void on_engine(std::size_t engine, EngineRole role, int stages, std::int64_t blocks) = 0;
  // When it begins.
  virtual void on_step(const ServedStep& step) = 0;
  virtual void on_load(std::size_t engine, Time now, const BatchScheduler& scheduler) = 0;
  // When its last token is there.
  virtual void on_request(RequestId request, const RequestRecord& record) = 0;

 protected:
  ~ServingObserver() = default;
};

}  // namespace weft::work
