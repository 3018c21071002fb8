#include "sim/apps/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "sim/apps/interrupt.h"
#include "sim/apps/listener.h"
#include "sim/apps/table.h"

namespace weft::apps {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
// Short runs end before anyone has read the first line.
constexpr std::chrono::milliseconds kFirstDraw{300};
constexpr std::size_t kBarWidth = 24;

double share_of(std::uint64_t done, std::uint64_t total) {
  return total == 0 ? 0.0 : static_cast<double>(std::min(done, total)) / static_cast<double>(total);
}

std::string bar_text(std::string_view unit, std::uint64_t done, std::uint64_t total) {
  if (total == 0) return fmt::format("{} {}", done, unit);
  const auto filled = static_cast<std::size_t>(share_of(done, total) * static_cast<double>(kBarWidth));
  return fmt::format("[{}{}]  {}/{} {}", std::string(filled, '#'), std::string(kBarWidth - filled, '-'), done, total, unit);
}

std::string eta_text(std::uint64_t done, std::uint64_t total, double wall_seconds) {
  if (done == 0 || done >= total) return {};
  const double share = share_of(done, total);
  const auto left = std::llround(wall_seconds * (1 - share) / share);
  return fmt::format("  ETA {}:{:02}", left / 60, left % 60);
}

}  // namespace

std::string progress_line(std::string_view unit, std::uint64_t done, std::uint64_t total, double wall_seconds) {
  return bar_text(unit, done, total) + eta_text(done, total, wall_seconds);
}

std::string progress_line(std::string_view unit, std::uint64_t done, std::uint64_t total, std::uint64_t events,
                          Duration simulated, double wall_seconds) {
  std::string line = bar_text(unit, done, total);
  if (wall_seconds > 0) line += fmt::format("  {} events/s", short_count(static_cast<double>(events) / wall_seconds));
  line += fmt::format("  simulated {}", short_time(simulated));
  return line + eta_text(done, total, wall_seconds);
}

ProgressBar::ProgressBar(std::string unit, bool quiet)
    : unit_{std::move(unit)}, draws_{listener() != nullptr || (!quiet && isatty(STDERR_FILENO) == 1)} {}

ProgressBar::~ProgressBar() {
  wipe();
  forget_simulation();
}

void ProgressBar::on_begin(Simulator& simulator) {
  if (begin_ == Clock::time_point{}) {
    begin_ = Clock::now();
    next_ = listener() != nullptr ? begin_ : begin_ + kFirstDraw;
  }
  earlier_events_ += events_;
  events_ = 0;
  stop_on_interrupt(simulator);
}

void ProgressBar::on_end() {
  wipe();
  forget_simulation();
}

void ProgressBar::on_progress(const Simulator& simulator, std::uint64_t done, std::uint64_t total) {
  if (is_ahead_) {  // the time that is left goes by this part alone
    is_ahead_ = false;
    begin_ = Clock::now();
  }
  events_ = simulator.events();
  if (!is_due()) return;
  show(done, total, progress_line(unit_, done, total, earlier_events_ + events_, simulator.now() - Time{}, seconds()));
}

void ProgressBar::on_ahead(std::uint64_t done, std::uint64_t total) {
  is_ahead_ = true;
  if (!is_due()) return;
  show(done, total,
       fmt::format("first {} of {} collectives of large groups, each alone{}", done, total, eta_text(done, total, seconds())));
}

void CountingProgress::on_progress(const Simulator& simulator, std::uint64_t done, std::uint64_t /*total*/) {
  done_ = done;
  bar_.on_progress(simulator, before_ + done_, 0);
}

void CountingProgress::on_end() {
  before_ += done_;
  done_ = 0;
  bar_.on_end();
}

bool ProgressBar::is_due() {
  const Clock::time_point now = Clock::now();
  if (!draws_ || now < next_) return false;
  next_ = now + kRedraw;
  return true;
}

void ProgressBar::show(std::uint64_t done, std::uint64_t total, const std::string& line) {
  if (Listener* const hears = listener()) {
    hears->on_progress(unit_, done, total);
  } else {
    draw(line);
  }
}

void ProgressBar::draw(const std::string& line) {
  // Back to the first column, the text, and erase what an older, longer line left behind it.
  std::fputs(("\r" + line + "\x1b[K").c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressBar::wipe() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace weft::apps
