#include "sim/core/simulator.h"

#include <algorithm>
#include <utility>

#include "sim/core/event_record.h"
#include "sim/core/random.h"

namespace weft {

Simulator::Simulator() = default;
Simulator::~Simulator() = default;

ComponentId Simulator::add_component(std::string name) {
  WEFT_CHECK(component_names_.size() < (std::size_t{1} << kSourceBits));
  component_names_.push_back(std::move(name));
  next_sequence_.push_back(0);
  return ComponentId::from_index(component_names_.size() - 1);
}

const std::string& Simulator::component_name(ComponentId id) const {
  WEFT_CHECK(id.index() < component_names_.size());
  return component_names_[id.index()];
}

std::vector<Event> Simulator::pending_events() const {
  std::vector<Event> events;
  events.reserve(pending());
  queue_.append_to(events);
  std::ranges::sort(events, runs_before);
  return events;
}

void Simulator::run_until(Time end) {
  WEFT_CHECK(end >= now_);
  if (end > kEnd) throw ClockError();
  run_events(end);
  if (!stopped() && end_ == end) now_ = end;
}

void Simulator::run_events(Time end) {
  WEFT_CHECK(!running_);  // an event must not run the simulator
  running_ = true;
  end_ = end;
  next_poll_ = events_;  // a stop requested before the run is seen at once
  while (true) {
    // An empty queue's next time is that at which a run without end would end.
    if (const Time next = queue_.next_time(); next >= end_ && (next > end_ || queue_.empty())) break;
    if (events_ >= next_poll_) {
      poll();
      if (stopped()) break;
    }
    const Event event = queue_.pop();
    if (recorder_ != nullptr) recorder_->pop();
    now_ = event.time;
    ++events_;
    event.target->on_event(event.payload);
  }
  running_ = false;
  if (end_ == kEnd && !stopped() && !queue_.empty()) throw ClockError();
}

void Simulator::refuse(Time at) const {
  WEFT_CHECK(at >= now_);
  throw ClockError();
}

// Everything that need not happen at every event.
void Simulator::poll() {
  if (progress_hook_ != nullptr && events_ >= next_progress_) {
    progress_hook_(progress_context_, *this);
    next_progress_ = events_ + progress_interval_;
  }
  next_poll_ = events_ + kPollInterval;
  if (progress_hook_ != nullptr && next_progress_ < next_poll_) next_poll_ = next_progress_;
}

void Simulator::count_elsewhere(std::uint64_t events) {
  events_ += events;
  if (events_ >= next_poll_) poll();
}

void Simulator::set_progress_hook(ProgressHook hook, void* context, std::uint64_t interval) {
  WEFT_CHECK(hook == nullptr || interval > 0);
  progress_hook_ = hook;
  progress_context_ = context;
  progress_interval_ = interval;
  next_progress_ = events_ + interval;
  next_poll_ = events_;
}

void Simulator::set_shuffle_ties(std::uint64_t seed) {
  WEFT_CHECK(events_ == 0 && queue_.empty());
  shuffle_seed_ = seed;
  if (seed != 0) uses_lanes_ = false;
}

void Simulator::set_lanes(bool on) {
  WEFT_CHECK(events_ == 0 && queue_.empty());
  uses_lanes_ = on && shuffle_seed_ == 0 && recorder_ == nullptr;
}

// A permutation of all values that the bits below the phase can take, chosen by the seed: each step can be undone (adding or
// multiplying by an odd number modulo 2^60, xor with the value's own higher bits), so two events still never compare equal.
std::uint64_t Simulator::shuffled(std::uint64_t order) const {
  constexpr int kBits = kSourceBits + kSequenceBits;
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
  std::uint64_t state = shuffle_seed_;
  std::uint64_t bits = order & kMask;
  for (int round = 0; round < 3; ++round) {
    bits = (bits + split_mix_64(state)) & kMask;
    bits = (bits * (split_mix_64(state) | 1)) & kMask;
    bits ^= bits >> (kBits / 2);
  }
  return (order & ~kMask) | bits;
}

[[gnu::noinline]] void Simulator::schedule_irregular(Time at, Phase phase, ComponentId source, EventTarget& target,
                                                     std::uint64_t payload) {
  schedule(at, phase, source, target, payload);
}

void Simulator::record_to(const std::string& path) {
  recorder_ = std::make_unique<EventRecorder>(path);
  uses_lanes_ = false;
}
void Simulator::record_push(const Event& event) { recorder_->push(event); }

}  // namespace weft
