#include "sim/collectives/algorithms/peer_schedule.h"

#include <span>

#include "sim/collectives/algorithms/steps.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll {

PeerSchedule::PeerSchedule(int ranks, const CollectiveCall& call, const Choice& choice, Shot shot) : n_{ranks}, shot_{shot} {
  for (const ChannelPart& part : channel_parts(sizes_of(call, n_).input.count(), choice)) parts_.push_back(part.data);
  for (int i = 0; i < 2 * n_; ++i) twice_.push_back(i % n_);
}

// The parts of all ranks are alike but for the last ones, as a switch's scatter and gather want them.
Part PeerSchedule::share(const Part& part, Rank rank) const {
  const std::int64_t each = ceil_div(ceil_div(part.bytes, n_), kCutUnit) * kCutUnit;
  return chunk_of(part, 0, each, rank);
}

Peers PeerSchedule::others(Rank rank) const {
  return Peers::view(std::span{twice_}.subspan(static_cast<std::size_t>(rank) + 1, static_cast<std::size_t>(n_ - 1)));
}

std::int64_t PeerSchedule::step_count(Rank, int channel, int lane) const {
  if (parts_[static_cast<std::size_t>(channel)].bytes == 0) return 0;
  if (n_ == 1) return 1;
  if (lane == 0) return flags_at_end() + 1;
  return lane < n_ ? messages_to_a_peer() : 1;
}

Step PeerSchedule::take_in(Rank rank, const Part& part, std::int64_t index) const {
  const bool flags = index == 0 || index == flags_at_end() || (shot_ == Shot::kTwo && index == 2);
  if (flags) {
    Step step = step_of(0);
    step.receive_from = others(rank);
    return step;
  }
  if (in_switch()) {
    const Part first = share(part, 0);
    return gather_from_switch(std::span{twice_}.first(static_cast<std::size_t>(n_)), first, part.bytes, first.bytes);
  }
  if (index > 1) {
    const Rank peer = (rank + static_cast<int>(index) - 2) % n_;
    const Part sum = share(part, peer);
    Step step = step_of(sum.bytes);
    step.receive_from = peer;
    keep_at(step, Buffer::kOutput, sum.offset);
    return step;
  }
  const Part own = shot_ == Shot::kTwo ? share(part, rank) : part;
  Step step = step_of(own.bytes);
  step.receive_from = others(rank);
  read_from(step, Buffer::kInput, own.offset);
  keep_at(step, Buffer::kOutput, own.offset);
  return step;
}

// Flags: it is there; it has read what it reads; in a two-shot its sums are there, and it has read the others'.
Step PeerSchedule::give(Rank rank, Rank peer, const Part& part, std::int64_t index) const {
  const bool is_last = index + 1 == messages_to_a_peer();
  const std::int64_t taken_in = is_last ? flags_at_end() : index;
  Step step = step_of(0);
  read_from(step, Buffer::kInput, 0);
  if (index == 1 && !in_switch()) {
    const Part read = shot_ == Shot::kTwo ? share(part, peer) : part;
    step = step_of(read.bytes);
    read_from(step, Buffer::kInput, read.offset);
  } else if (index == 3) {
    const Part sum = share(part, rank);
    step = step_of(sum.bytes);
    read_from(step, Buffer::kOutput, sum.offset);
  }
  step.send_to = peer;
  step.after = {.channel = 0, .lane = 0, .steps = taken_in};
  return step;
}

Step PeerSchedule::with_switch(Rank rank, const Part& part, bool adds_up) const {
  const std::span everyone = std::span{twice_}.first(static_cast<std::size_t>(n_));
  const Part first = share(part, 0);
  if (!adds_up) return scatter_to_switch(everyone, first, part.bytes, first.bytes);
  Step step = step_of(share(part, rank).bytes);
  add_up_in_switch(step, everyone);
  step.receive_connection = kScatterConnection;
  multicast(step, everyone);
  return step;
}

Step PeerSchedule::step(Rank rank, int channel, int lane, std::int64_t index) const {
  const Part& part = parts_[static_cast<std::size_t>(channel)];
  if (n_ == 1) {
    Step copy = step_of(part.bytes);
    read_from(copy, Buffer::kInput, part.offset);
    keep_at(copy, Buffer::kOutput, part.offset);
    return copy;
  }
  if (lane == 0) return take_in(rank, part, index);
  Step step = lane < n_ ? give(rank, (rank + lane) % n_, part, index) : with_switch(rank, part, lane > n_);
  if (lane >= n_) step.after.steps = 1;
  step.after.channel = channel;
  return step;
}

}  // namespace weft::coll
