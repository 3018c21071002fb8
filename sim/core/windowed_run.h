// Parts of one simulation side by side on several threads, each with a clock of its own. What one part does to another takes at
// least the lookahead. So all parts may run a window of that length at once, and hand over what they owe each other between two
// windows (conservative synchronous simulation: Chandy and Misra 1979, Nicol 1993).
//
//   WindowedRun run{parts, lookahead, threads};
//   run.run_until(end, [](Time) { return true; });
//
// Which events a window holds depends on the parts alone, never on the number of threads or on who is faster.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "sim/core/units.h"

namespace weft {

class WindowedPart {
 public:
  // Takes in what other parts sent in the window before, then runs all that happens before `end`. Returns the time of the next
  // thing to come: of its own, or one that it has sent in this window; Time::max(): there is none. One thread at a time.
  virtual Time run_window(std::uint64_t window, Time end) = 0;

 protected:
  ~WindowedPart() = default;
};

class WindowedRun {
 public:
  // After each window, while no part runs: hands over what is for parts elsewhere. Takes the time of the next thing to come
  // here, and what failed, if anything; returns that of the next thing anywhere.
  using Meeting = std::function<Time(Time next, const std::exception_ptr& error)>;

  // `first`: nothing happens before. The parts must outlive it.
  WindowedRun(std::vector<WindowedPart*> parts, Time first, Duration lookahead, int threads, Meeting meeting = {});

  // Runs windows until nothing is left up to and including `end`. `go_on(begin)` is asked between windows, while no part runs;
  // false ends the run there. Throws what the first part threw that failed, after all have ended their window.
  void run_until(Time end, const std::function<bool(Time)>& go_on);

  [[nodiscard]] Time next() const { return next_; }  // that anything happens; max: never
  [[nodiscard]] std::uint64_t windows() const { return window_; }

 private:
  struct Team;
  void plan(Team& team);
  void meet(Team& team);
  void work(Team& team, std::size_t thread);

  std::vector<WindowedPart*> parts_;
  Time next_;
  Duration lookahead_;
  std::size_t threads_;
  Meeting meeting_;
  std::uint64_t window_ = 0;  // windows begun so far
};

}  // namespace weft
