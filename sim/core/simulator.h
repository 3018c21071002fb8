// The clock and the run loop: components schedule events, the simulator calls their targets in one total order.
//
//   Simulator simulator;
//   const ComponentId wire = simulator.add_component("leaf0/port3");
//   simulator.schedule(simulator.now() + 500_ns, Phase::kDelivery, wire, receiver, packet_index);
//   simulator.run();
//
// Events are ordered by (time, phase, source, sequence). An event is never cancelled: its target ignores it (see timer.h).
// A Simulator and all it owns belong to one thread; only request_stop() may be called from elsewhere.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/event_lanes.h"
#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft {

class EventRecorder;

// Phases order what happens at one instant. Each phase sees all that the earlier ones did at this instant, unless a later one
// makes them run again.
enum class Phase : std::uint8_t {
  kCompletion,  // what ends frees its capacity, before anything new is fitted into it
  kDelivery,    // what arrives is taken in, so that actions of this instant see all arrivals
  kAction,      // models act: ranks start operations, ports pick packets, transfers are posted
  kSolve,       // shares are solved once, after all posts of the instant, not once per post
  kSample,      // samples and series read the settled state and change nothing
};

// An event concerns a target: a long-lived object. It must outlive the events scheduled on it, or the simulator's last run.
class EventTarget {
 public:
  virtual void on_event(std::uint64_t payload) = 0;

 protected:
  ~EventTarget() = default;  // never owned through this interface
};

class Simulator {
 public:
  using ProgressHook = void (*)(void* context, const Simulator& simulator);

  Simulator();
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // The clock ends here: before Time::max(), which stands for "never", by what schedule_regular() may add unasked.
  static constexpr Time kEnd = Time::max() - Duration::from_ps(std::int64_t{1} << kSequenceBits);

  [[nodiscard]] Time now() const { return now_; }

  // Names a source of events. Ids count up from 0 in the order of calls, which must not depend on chance.
  ComponentId add_component(std::string name);
  [[nodiscard]] const std::string& component_name(ComponentId id) const;

  // Calls target.on_event(payload) at `at`, which must not lie in the past; ClockError where the clock ends before. At the
  // current instant any phase may be named, an earlier one than that of the running event too: the new event then takes its
  // place among those still pending. Cost: O(1) amortised, no allocation once as many events, and as many of one instant, have
  // been pending before.
  void schedule(Time at, Phase phase, ComponentId source, EventTarget& target, std::uint64_t payload) {
    // One comparison for what is past and what lies behind the end of the clock.
    if (picoseconds(at) - picoseconds(now_) > picoseconds(kEnd) - picoseconds(now_)) [[unlikely]]
      refuse(at);
    const Event event{at, next_order(phase, source), &target, payload};
    queue_.push(event);
    if (recorder_ != nullptr) record_push(event);
  }

  // The same for events that mostly come at a few fixed delays from now: cheaper then (event_lanes.h), and the order of events
  // is the same.
  [[gnu::always_inline]] void schedule_regular(Time at, Phase phase, ComponentId source, EventTarget& target,
                                               std::uint64_t payload) {
    const std::uint64_t delay = picoseconds(at) - picoseconds(now_);  // of a time in the past: more than a lane takes
    if (!uses_lanes_ || delay >> kSequenceBits != 0) return schedule_irregular(at, phase, source, target, payload);
    queue_.push_regular({at, next_plain_order(phase, source), &target, payload}, delay);
  }
  // The same for events of a series, 0 or 1, whose times mostly rise from call to call: all those of one are the target's.
  void schedule_in_series(std::uint64_t series, Time at, Phase phase, ComponentId source, EventTarget& target,
                          std::uint64_t payload) {
    if (!uses_lanes_ || picoseconds(at) - picoseconds(now_) > picoseconds(kEnd) - picoseconds(now_))
      return schedule_irregular(at, phase, source, target, payload);
    queue_.push_in_series({at, next_plain_order(phase, source), &target, payload}, series);
  }
  // The payload of an event that follows the running one in its lane, `distance` places behind it: what its target may fetch
  // from memory meanwhile. nullptr: none is known.
  [[nodiscard]] const std::uint64_t* ahead(std::size_t distance) const { return queue_.ahead(distance); }
  // Without lanes the run is the same, and slower: for tests of that. To be called before anything is scheduled.
  void set_lanes(bool on);

  // Runs until no event is pending or stop was requested. now() is then the time of the last event. ClockError: events lie
  // behind the end of the clock.
  void run() { run_events(kEnd); }
  // Runs all events up to and including `end`; now() is then `end`, unless stop was requested. ClockError: the clock ends
  // before.
  void run_until(Time end);
  // Ends the present run once the running event is over; what is pending stays so, and now() is the time of that event. Another
  // run goes on from there.
  void leave() { end_ = Time::from_ps(-1); }

  // Events run so far, those that their target ignored included. A property of the implementation, no part of any result.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::size_t pending() const { return queue_.size(); }
  // When the next of them runs; max: none is pending.
  [[nodiscard]] Time next_time() const { return queue_.next_time(); }
  // Counts events of this run that other simulators have run on its behalf (windowed_run.h), and shows progress where it is
  // due.
  void count_elsewhere(std::uint64_t events);
  // Those, in the order in which they will run: what else is to come, for those who compare states.
  [[nodiscard]] std::vector<Event> pending_events() const;

  // Ends the run at the next poll, every kPollInterval events; the simulator then stays stopped. Async-signal-safe.
  void request_stop() { stop_requested_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool stopped() const { return stop_requested_.load(std::memory_order_relaxed); }
  static constexpr std::uint64_t kPollInterval = 4096;

  // Permutes events of equal time and phase by a hash of source, sequence and `seed`; 0 is the normal order. To be called
  // before anything is scheduled. A model whose means change under it needs a lucky order, which is a bug.
  void set_shuffle_ties(std::uint64_t seed);

  // Calls `hook` every `interval` events, for progress display; nullptr removes it. The hook must not schedule.
  void set_progress_hook(ProgressHook hook, void* context, std::uint64_t interval);

  // Writes every push and pop from now on to a file (event_record.h), which the queue benchmark replays.
  void record_to(const std::string& path);

 private:
  static std::uint64_t picoseconds(Time time) { return static_cast<std::uint64_t>(time.ps()); }
  [[noreturn]] void refuse(Time at) const;
  std::uint64_t next_plain_order(Phase phase, ComponentId source) {
    WEFT_CHECK(source.index() < next_sequence_.size());
    const std::uint64_t sequence = next_sequence_[source.index()]++;
    WEFT_CHECK(sequence >> kSequenceBits == 0);
    return static_cast<std::uint64_t>(phase) << (kSourceBits + kSequenceBits) | std::uint64_t{source.value()} << kSequenceBits |
           sequence;
  }
  std::uint64_t next_order(Phase phase, ComponentId source) {
    const std::uint64_t order = next_plain_order(phase, source);
    return shuffle_seed_ == 0 ? order : shuffled(order);
  }
  void schedule_irregular(Time at, Phase phase, ComponentId source, EventTarget& target, std::uint64_t payload);
  [[nodiscard]] std::uint64_t shuffled(std::uint64_t order) const;
  void run_events(Time end);
  void poll();
  void record_push(const Event& event);

  EventQueue queue_;
  Time now_;
  Time end_;  // of the present run
  std::uint64_t events_ = 0;
  std::uint64_t next_poll_ = 0;               // value of events_ at which poll() is due
  std::vector<std::uint64_t> next_sequence_;  // by component
  std::unique_ptr<EventRecorder> recorder_;
  std::uint64_t shuffle_seed_ = 0;
  bool uses_lanes_ = true;  // not where the orders of a source do not rise, nor where pushes are recorded
  std::atomic<bool> stop_requested_ = false;
  bool running_ = false;
  ProgressHook progress_hook_ = nullptr;
  void* progress_context_ = nullptr;
  std::uint64_t progress_interval_ = 0;
  std::uint64_t next_progress_ = 0;
  std::vector<std::string> component_names_;
};

}  // namespace weft
