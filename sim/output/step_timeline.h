// The slices of collectives, kept as they end and written as tracks of a timeline: a process for each rank, a thread for each
// lane of a channel. What NPKit shows of a real run.
//
// Kept: the first two calls of each loop (the second follows the first as all others do) on the first 64 ranks, and no more
// than 400,000 slices; what is left out is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/collectives/step_observer.h"
#include "sim/core/units.h"
#include "sim/output/trace_writer.h"

namespace weft::output {

class StepTimeline final : public coll::StepObserver {
 public:
  static constexpr int kCalls = 2;
  static constexpr Rank kRanks = 64;
  static constexpr std::size_t kMostSlices = 400'000;

  void on_loop(Time began) override;
  void on_slice(const coll::SliceSpan& span, const coll::Step& step) override;

  // Names the tracks: rank r is process `first_process` + r.
  void name_tracks(TraceWriter& trace, std::size_t first_process) const;
  // Loop number `loop`, as if it began at `at`. Returns how long its kept slices go on.
  Duration write(TraceWriter& trace, std::size_t first_process, std::size_t loop, Time at) const;

  [[nodiscard]] std::string note() const;  // what is left out for want of room; empty: nothing

 private:
  struct Slice {
    coll::SliceSpan span;
    Rank from = -1;  // the first of its peers
    Rank to = -1;
    int senders = 0;
    int receivers = 0;
  };
  struct Loop {
    std::size_t first_slice = 0;
    Time began;
  };

  std::vector<Slice> slices_;
  std::vector<Loop> loops_;
  std::uint64_t left_out_ = 0;
};

}  // namespace weft::output
