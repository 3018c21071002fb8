#include "sim/collectives/step_order.h"

namespace weft::coll {

StepNumber StepOrder::add(std::uint32_t lane, std::int64_t index) {
  steps_.push_back({.lane = lane, .causes_begin = static_cast<std::uint32_t>(causes_.size()), .index = index});
  return static_cast<StepNumber>(steps_.size() - 1);
}

void StepOrder::add_cause(StepNumber cause) {
  if (cause != kNoStep) causes_.push_back(cause);
}

bool StepOrder::comes_before(StepNumber a, StepNumber b) {
  if (steps_[a].lane == steps_[b].lane) return true;
  seen_.resize(steps_.size(), 0);
  ++searches_;
  open_.assign(1, b);
  while (!open_.empty()) {
    const StepNumber at = open_.back();
    open_.pop_back();
    if (at == a) return true;
    const std::size_t end = at + 1 < steps_.size() ? steps_[at + 1].causes_begin : causes_.size();
    for (std::size_t i = steps_[at].causes_begin; i < end; ++i) {
      const StepNumber before = causes_[i];
      if (before < a || seen_[before] == searches_) continue;
      seen_[before] = searches_;
      open_.push_back(before);
    }
  }
  return false;
}

}  // namespace weft::coll
