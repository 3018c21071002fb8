// How much slower power makes a step that begins now, after what a GPU has just done (models/workloads §6). Steps follow one
// another as requests come, not in a loop that repeats: see PowerTimeline for that.
//
//   RecentLoad recent{power};
//   const double slowdown = recent.slowdown_of(now, alone, {.tensor = 0.8, .memory = 0.1});
//
// Cost: a few pieces for each step. Memory: those of one window.
#pragma once

#include <deque>

#include "sim/core/units.h"
#include "sim/workloads/kernels/clock.h"

namespace weft::work {

class RecentLoad {
 public:
  explicit RecentLoad(const GpuPower& power) : power_{power} {}

  // Adds a step that begins at `now` and takes `alone` at full clock, with its mean draw over that time. Returns the mean time
  // of its products over that at full clock. Steps come in the order of time.
  double slowdown_of(Time now, Duration alone, const PowerDraw& draw);
  // Says when that step really ended; without it, the next one finds the GPU busy until then.
  void ended(Time at) { end_ = at; }

 private:
  struct Piece {
    double seconds = 0;  // at full clock, or at rest
    PowerDraw draw = {};
  };
  void add(const Piece& piece);

  GpuPower power_;
  std::deque<Piece> pieces_;  // that the window holds; the first may be there in part
  double held_ = 0;           // seconds of them
  PowerDraw sum_;             // times seconds
  Time end_{};
};

}  // namespace weft::work
