// Who wants to see every slice of every step of a run, as NPKit shows those of a real one. Chunk grain only.
#pragma once

#include <cstdint>

#include "sim/collectives/schedule.h"
#include "sim/core/units.h"

namespace weft::coll {

// A slice that has ended. In [waited_from, began) its lane waited for data, for a free slot or for another lane; in
// [began, ended) its warps moved the data; in [ended, synchronised) they meet before the next slice.
struct SliceSpan {
  Rank rank = 0;
  int channel = 0;
  int lane = 0;
  int call = 0;           // in the loop
  std::int64_t step = 0;  // in the lane
  int slice = 0;
  Bytes bytes = {};
  Time waited_from = {};
  Time began = {};
  Time ended = {};
  Time synchronised = {};
};

class StepObserver {
 public:
  virtual void on_loop(Time began) = 0;
  virtual void on_slice(const SliceSpan& span, const Step& step) = 0;

 protected:
  ~StepObserver() = default;
};

}  // namespace weft::coll
