#include "sim/planning/plan_search/search_clock.h"

#include <utility>

namespace weft::plan {
namespace {

// Short beside the two seconds after which a user who pressed Ctrl-C presses it again.
constexpr std::chrono::milliseconds kLookEvery{50};

}  // namespace

SearchClock::SearchClock(double budget_seconds, std::function<bool()> stopped_by_user, std::function<void()> show)
    : budget_{budget_seconds},
      stopped_by_user_{std::move(stopped_by_user)},
      show_{std::move(show)},
      thread_{[this](const std::stop_token& stop) {
        for (int looks = 0; !stop.stop_requested(); ++looks) {
          look();
          constexpr int kLooksAShow = 5;
          if (looks % kLooksAShow == 0) show_();
          std::unique_lock lock{mutex_};
          wake_.wait_for(lock, stop, kLookEvery, [] { return false; });
        }
      }} {}

SearchClock::~SearchClock() = default;

double SearchClock::seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

void SearchClock::begin(Simulator& simulator, double limit_seconds) {
  if (is_over()) simulator.request_stop();
  const std::lock_guard lock{mutex_};
  running_[&simulator] = limit_seconds > 0 ? seconds() + limit_seconds : 0;
}

void SearchClock::end(Simulator& simulator) {
  const std::lock_guard lock{mutex_};
  running_.erase(&simulator);
}

void SearchClock::look() {
  const bool over = is_over();
  const double now = seconds();
  const std::lock_guard lock{mutex_};
  for (const auto& [simulator, until] : running_) {
    if (over || (until > 0 && now > until)) simulator->request_stop();
  }
}

}  // namespace weft::plan
