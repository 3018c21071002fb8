// Times that only bound a run, such as its end or a window of measuring, make nothing last longer. While one of these lives,
// what this thread reads is no longest time (note_time_given).
//
//   const TimeBounds bounds;
//   const auto until = reader.optional<Duration>("until", positive);
#pragma once

namespace weft {

class TimeBounds {
 public:
  TimeBounds();
  ~TimeBounds();
  TimeBounds(const TimeBounds&) = delete;
  TimeBounds& operator=(const TimeBounds&) = delete;
};

}  // namespace weft
