// One line on a terminal that says how far a sweep is; nothing where standard error is no terminal, or with --quiet.
//
//   [#########---------------]  120/300 points  42.0/s  ETA 0:04  3 refused
#pragma once

#include <chrono>
#include <string>

#include "sim/planning/sweep/work_sharing.h"

namespace weft::apps {

class SweepLine {
 public:
  explicit SweepLine(bool quiet);
  ~SweepLine() { wipe(); }
  SweepLine(const SweepLine&) = delete;
  SweepLine& operator=(const SweepLine&) = delete;

  void show(const plan::SweepProgress& progress);
  void wipe();

 private:
  using Clock = std::chrono::steady_clock;
  bool draws_;
  bool shown_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_;
};

// The text of the line, without the terminal's control codes. Rate and time left are of this run, not of earlier ones.
[[nodiscard]] std::string sweep_line(const plan::SweepProgress& progress, double seconds);

}  // namespace weft::apps
