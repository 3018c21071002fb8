// One event that can be armed, re-armed and disarmed at will, without allocation: retransmission timers, next completions,
// pacing. It is not a periodic clock: the callback re-arms it if there is to be a next time.
//
//   Timer timeout{simulator, component, Phase::kAction, [this] { retransmit(); }};
//   timeout.arm(simulator.now() + 55_us);
//
// Cancellation is lazy: an event once queued stays queued, and one that no longer counts is ignored when it comes. A deadline
// that only moves later costs no new event, the queued one re-queues itself when it comes (a retransmission timer re-armed by
// every packet has one event pending); a deadline that moves earlier queues another.
#pragma once

#include <cstdint>
#include <utility>

#include "sim/core/ids.h"
#include "sim/core/inline_function.h"
#include "sim/core/simulator.h"
#include "sim/core/units.h"

namespace weft {

// Events in the queue point at the timer: it neither moves nor dies before the simulator's last run.
class Timer final : public EventTarget {
 public:
  using Callback = InlineFunction<void()>;

  Timer(Simulator& simulator, ComponentId source, Phase phase, Callback callback)
      : simulator_{simulator}, source_{source}, phase_{phase}, callback_{std::move(callback)} {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Calls back at `deadline` (not in the past), instead of at an earlier deadline still ahead.
  void arm(Time deadline) {
    WEFT_CHECK(deadline >= simulator_.now());
    deadline_ = deadline;
    armed_ = true;
    if (!queued_ || deadline < queued_for_) enqueue(deadline);
  }
  void disarm() { armed_ = false; }

  [[nodiscard]] bool armed() const { return armed_; }
  // When it is due; only where armed().
  [[nodiscard]] Time deadline() const { return deadline_; }

  void on_event(std::uint64_t generation) override {
    if (generation != generation_) return;  // overtaken by an earlier deadline
    queued_ = false;
    if (!armed_) return;
    if (deadline_ > simulator_.now()) {
      enqueue(deadline_);
      return;
    }
    armed_ = false;  // before the call, which may arm it again
    callback_();
  }

 private:
  void enqueue(Time at) {
    queued_ = true;
    queued_for_ = at;
    simulator_.schedule(at, phase_, source_, *this, ++generation_);
  }

  Simulator& simulator_;
  ComponentId source_;
  Phase phase_;
  bool armed_ = false;
  bool queued_ = false;           // an event of the current generation is pending
  std::uint64_t generation_ = 0;  // of the newest event queued; older ones are ignored
  Time queued_for_;
  Time deadline_;
  Callback callback_;
};

}  // namespace weft
