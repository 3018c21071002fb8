#include "sim/core/windowed_run.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "sim/core/error.h"

namespace weft {
namespace {

constexpr int kSpins = 2000;  // some microseconds: windows are mostly as even as that

}  // namespace

// Shared by the threads of one run. Plain members are written by the last thread to arrive, while the others wait.
struct WindowedRun::Team {
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> claimed{0};  // the latest window that a thread has taken the part for
    Time next;
    std::exception_ptr error;
  };

  Time end;
  const std::function<bool(Time)>& go_on;
  std::unique_ptr<Slot[]> slots;
  Time window_end;
  bool done = false;
  std::exception_ptr error;
  alignas(64) std::atomic<std::size_t> arrived{0};
  alignas(64) std::atomic<std::uint64_t> round{0};
};

WindowedRun::WindowedRun(std::vector<WindowedPart*> parts, Time first, Duration lookahead, int threads, Meeting meeting)
    : parts_{std::move(parts)},
      next_{first},
      lookahead_{lookahead},
      threads_{std::clamp<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), 1, parts_.size())},
      meeting_{std::move(meeting)} {
  WEFT_CHECK(lookahead > Duration{});
}

// Decides on the next window, or on the end of the run.
void WindowedRun::plan(Team& team) {
  try {
    team.done = next_ == Time::max() || next_ > team.end || !team.go_on(next_);
  } catch (...) {
    team.error = std::current_exception();
    team.done = true;
  }
  if (team.done) return;
  ++window_;
  const Time after = team.end == Time::max() ? team.end : team.end + Duration::from_ps(1);
  team.window_end = after - next_ < lookahead_ ? after : next_ + lookahead_;
}

void WindowedRun::meet(Team& team) {
  if (!meeting_) return;
  try {
    next_ = meeting_(next_, team.error);
  } catch (...) {
    if (!team.error) team.error = std::current_exception();
  }
}

void WindowedRun::work(Team& team, std::size_t thread) {
  while (!team.done) {
    const std::uint64_t window = window_;
    // Its own share first, whose state is in its cache, then what others have not come to.
    const std::size_t home = thread * parts_.size() / threads_;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::size_t part = (home + i) % parts_.size();
      Team::Slot& slot = team.slots[part];
      if (slot.claimed.load(std::memory_order_relaxed) == window ||
          slot.claimed.exchange(window, std::memory_order_relaxed) == window)
        continue;
      try {
        slot.next = parts_[part]->run_window(window, team.window_end);
      } catch (...) {
        slot.error = std::current_exception();
      }
    }
    const std::uint64_t round = team.round.load(std::memory_order_relaxed);
    if (team.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      next_ = Time::max();
      for (std::size_t part = 0; part < parts_.size(); ++part) {
        next_ = std::min(next_, team.slots[part].next);
        if (team.slots[part].error && !team.error) team.error = team.slots[part].error;
      }
      meet(team);
      if (team.error) {
        team.done = true;
      } else {
        plan(team);
      }
      team.arrived.store(0, std::memory_order_relaxed);
      team.round.store(round + 1, std::memory_order_release);
      team.round.notify_all();
      continue;
    }
    for (int spin = 0; spin < kSpins && team.round.load(std::memory_order_acquire) == round; ++spin) {
    }
    team.round.wait(round, std::memory_order_acquire);
  }
}

void WindowedRun::run_until(Time end, const std::function<bool(Time)>& go_on) {
  Team team{.end = end,
            .go_on = go_on,
            .slots = std::make_unique<Team::Slot[]>(parts_.size()),
            .window_end = {},
            .error = nullptr,
            .arrived = 0,
            .round = 0};
  plan(team);
  if (!team.done) {
    std::vector<std::jthread> helpers;
    for (std::size_t thread = 1; thread < threads_; ++thread) helpers.emplace_back([&, thread] { work(team, thread); });
    work(team, 0);
  }
  if (team.error) std::rethrow_exception(team.error);
}

}  // namespace weft
