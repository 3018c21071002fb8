// The one line of a search for plans on a terminal. Ctrl-C ends the search and keeps what is finished.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

#include "sim/apps/interrupt.h"
#include "sim/apps/listener.h"

namespace weft::apps {

class SearchLine {
 public:
  SearchLine(bool quiet, double budget_seconds)
      : budget_{budget_seconds},
        flag_{interrupt_flag()},
        draws_{listener() != nullptr || (!quiet && isatty(STDERR_FILENO) == 1)} {}
  ~SearchLine() { wipe(); }
  SearchLine(const SearchLine&) = delete;
  SearchLine& operator=(const SearchLine&) = delete;

  [[nodiscard]] bool draws() const { return draws_; }
  [[nodiscard]] bool stop() const { return flag_.load(); }
  [[nodiscard]] std::string end_text(double seconds) const {
    return budget_ > 0 && seconds < budget_ ? fmt::format("  ends in {:.0f} s at the latest", budget_ - seconds) : "";
  }
  void draw(const std::string& text) {
    std::fputs(("\r" + text + "\x1b[K").c_str(), stderr);
    std::fflush(stderr);
    shown_ = true;
  }
  void wipe() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
  }

 private:
  double budget_;
  const std::atomic<bool>& flag_;
  bool draws_;
  bool shown_ = false;
};

}  // namespace weft::apps
