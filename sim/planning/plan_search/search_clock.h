// When a search ends: its budget is spent, or the user stops it. Whatever simulates meanwhile is stopped too, at once, so that
// neither a long step nor a long collective holds up the end. A thread of its own looks, and shows how far the search is.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "sim/core/simulator.h"
#include "sim/workloads/replay/group_runs.h"

namespace weft::plan {

class SearchClock final : public work::GroupRunWatch {
 public:
  // `stopped_by_user` and `show` are asked and called a few times a second, on the thread. `budget_seconds` 0: none.
  SearchClock(double budget_seconds, std::function<bool()> stopped_by_user, std::function<void()> show);
  ~SearchClock();
  SearchClock(const SearchClock&) = delete;
  SearchClock& operator=(const SearchClock&) = delete;

  [[nodiscard]] double seconds() const;
  [[nodiscard]] bool is_late() const { return budget_ > 0 && seconds() > budget_; }
  [[nodiscard]] bool is_interrupted() const { return stopped_by_user_(); }
  [[nodiscard]] bool is_over() const { return is_late() || is_interrupted(); }

  void begin(Simulator& simulator) override { begin(simulator, 0); }
  // Stopped after `limit_seconds` too; 0: not.
  void begin(Simulator& simulator, double limit_seconds);
  void end(Simulator& simulator) override;

 private:
  using Clock = std::chrono::steady_clock;
  void look();

  double budget_;
  std::function<bool()> stopped_by_user_;
  std::function<void()> show_;
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;  // of those below
  std::condition_variable_any wake_;
  std::map<Simulator*, double> running_;  // and when each is stopped, in seconds of this clock; 0: with all others
  std::jthread thread_;                   // last: it sees all that is above
};

}  // namespace weft::plan
