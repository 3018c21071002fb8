// One line on a terminal that says how far a simulation is; nothing where standard error is no terminal, or with --quiet.
//
//   [#########---------------]  12/32 sizes  4.2 M events/s  simulated 12.3 ms  ETA 0:12
//
// A bar begins once: what comes before the first item is counted without one, and so is what nobody knows the end of.
// Redrawn at most ten times a second, and wiped at the end, so that what follows begins on a clean
// line. While it watches a simulation, Ctrl-C stops it (interrupt.h). A Listener hears the count in place of the terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "sim/scenario/run_scenario.h"

namespace weft::apps {

class ProgressBar final : public scenario::RunObserver {
 public:
  // `unit` is what is counted: "sizes", "flows". `quiet` draws nothing.
  ProgressBar(std::string unit, bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void on_progress(const Simulator& simulator, std::uint64_t done, std::uint64_t total) override;
  void on_begin(Simulator& simulator) override;
  void on_end() override;
  void on_ahead(std::uint64_t done, std::uint64_t total) override;

  // Takes the line off the terminal before something else is written; it comes back by itself.
  void wipe();

 private:
  using Clock = std::chrono::steady_clock;

  void show(std::uint64_t done, std::uint64_t total, const std::string& line);
  void draw(const std::string& line);
  [[nodiscard]] bool is_due();
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  std::string unit_;
  bool draws_;
  bool shown_ = false;
  Clock::time_point begin_;
  std::uint64_t earlier_events_ = 0;  // of simulations that are over
  std::uint64_t events_ = 0;          // of this one
  bool is_ahead_ = false;             // what comes before the first item is counted
  Clock::time_point next_;
};

// For what runs over and over until a fit is good enough: counts the items of all runs, with no end in sight.
class CountingProgress final : public scenario::RunObserver {
 public:
  explicit CountingProgress(ProgressBar& bar) : bar_{bar} {}
  void on_progress(const Simulator& simulator, std::uint64_t done, std::uint64_t total) override;
  void on_begin(Simulator& simulator) override { bar_.on_begin(simulator); }
  void on_end() override;

 private:
  ProgressBar& bar_;
  std::uint64_t before_ = 0;  // of earlier runs
  std::uint64_t done_ = 0;    // of this one
};

// The text of the line, without the terminal's control codes; before the first event nothing but the count and the rest.
[[nodiscard]] std::string progress_line(std::string_view unit, std::uint64_t done, std::uint64_t total, double wall_seconds);
[[nodiscard]] std::string progress_line(std::string_view unit, std::uint64_t done, std::uint64_t total, std::uint64_t events,
                                        Duration simulated, double wall_seconds);

}  // namespace weft::apps
