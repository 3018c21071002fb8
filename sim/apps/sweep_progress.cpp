#include "sim/apps/sweep_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "sim/apps/listener.h"

namespace weft::apps {
namespace {

constexpr std::chrono::milliseconds kSweepRedraw{200};
constexpr std::size_t kSweepBarWidth = 24;

}  // namespace

std::string sweep_line(const plan::SweepProgress& progress, double seconds) {
  const std::uint64_t total = progress.total == 0 ? 1 : progress.total;
  const auto filled = static_cast<std::size_t>(kSweepBarWidth * progress.done / total);
  std::string line = fmt::format("[{}{}]  {}/{} points", std::string(filled, '#'), std::string(kSweepBarWidth - filled, '-'),
                                 progress.done, progress.total);
  if (progress.finished > 0 && seconds > 0) {
    const double rate = static_cast<double>(progress.finished) / seconds;
    line += fmt::format("  {:.{}f}/s", rate, rate < 100 ? 1 : 0);
    const auto left = std::llround(static_cast<double>(progress.total - progress.done) / rate);
    if (left > 0 && left < 3600) line += fmt::format("  ETA {}:{:02}", left / 60, left % 60);
    if (left >= 3600) line += fmt::format("  ETA {}:{:02}:{:02}", left / 3600, left / 60 % 60, left % 60);
  }
  if (progress.refused > 0) line += fmt::format("  {} refused", progress.refused);
  return line;
}

SweepLine::SweepLine(bool quiet)
    : draws_{listener() != nullptr || (!quiet && isatty(STDERR_FILENO) == 1)}, next_{begin_ + kSweepRedraw} {}

void SweepLine::show(const plan::SweepProgress& progress) {
  if (!draws_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kSweepRedraw;
  if (Listener* const hears = listener()) return hears->on_progress("points", progress.done, progress.total);
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::fputs(("\r" + sweep_line(progress, seconds) + "\x1b[K").c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

void SweepLine::wipe() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace weft::apps
