#include "sim/collectives/algorithms/ring_schedule.h"

#include <algorithm>

#include "sim/core/error.h"

namespace weft::coll {

bool is_ring_collective(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kBroadcast:
    case Collective::kReduce:
      return true;
    case Collective::kAllToAll:
    case Collective::kSendRecv:
    case Collective::kGather:
    case Collective::kScatter:
      break;
  }
  return false;
}

RingSchedule::RingSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice)
    : communicator_{communicator}, kind_{call.kind}, n_{communicator.ranks()}, root_{call.root}, block_{0} {
  WEFT_CHECK(is_ring_collective(kind_));
  WEFT_CHECK(choice.channels <= communicator.channels());
  WEFT_CHECK(root_ >= 0 && root_ < n_);
  const CallSizes sizes = sizes_of(call, n_);
  if (kind_ != Collective::kBroadcast && kind_ != Collective::kReduce) hops_ = std::max(n_ - 2, 0);
  block_ = std::min(sizes.input, sizes.output).count();
  const std::vector<ChannelPart> parts = channel_parts(block_, choice);
  for (const ChannelPart& given : parts) {
    RingPart part{.data = given.data, .chunk = given.chunk, .loops = 0};
    // A lone rank copies its part in one step.
    const std::int64_t loop_bytes = n_ == 1 ? part.data.bytes : kind_ == Collective::kAllReduce ? n_ * part.chunk : part.chunk;
    if (part.data.bytes > 0) part.loops = ceil_div(part.data.bytes, loop_bytes);
    parts_.push_back(part);
  }
  if (n_ > 1) used_ = used_channels(parts);
}

std::int64_t RingSchedule::steps_per_loop() const {
  if (n_ == 1) return 1;
  switch (kind_) {
    case Collective::kAllReduce:
      return 2 * hops_ + 3;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return hops_ + 2;
    default:
      return 1;
  }
}

// Where hops are left out, the step at `index` is this one of a whole round.
std::int64_t RingSchedule::step_of_round(std::int64_t index) const {
  const std::int64_t left_out = n_ - 2 - hops_;
  if (n_ == 1 || index <= hops_) return index;
  return index + (index < 2 * hops_ + 2 ? left_out : 2 * left_out);
}

std::unique_ptr<Schedule> RingSchedule::with_hops(std::int64_t hops) const {
  WEFT_CHECK(hops >= 0 && hops <= hops_);
  auto shorter = std::make_unique<RingSchedule>(*this);
  shorter->hops_ = hops;
  return shorter;
}

std::int64_t RingSchedule::step_count(Rank, int channel, int) const {
  return parts_[static_cast<std::size_t>(channel)].loops * steps_per_loop();
}

// All-reduce spreads a last, short loop over n smaller chunks (models/nccl §3.1).
std::int64_t RingSchedule::chunk_of_loop(const RingPart& part, std::int64_t loop) const {
  if (n_ == 1) return part.data.bytes;
  if (kind_ != Collective::kAllReduce) return part.chunk;
  const std::int64_t left = part.data.bytes - loop * n_ * part.chunk;
  return left < n_ * part.chunk ? round_up_to_unit(ceil_div(left, n_)) : part.chunk;
}

Rank RingSchedule::ring_neighbour(int channel, int position, int distance) const {
  const int at = (position + distance) % n_;
  return communicator_.ring(channel)[static_cast<std::size_t>(at < 0 ? at + n_ : at)];
}

Step RingSchedule::step(Rank rank, int channel, int, std::int64_t index) const {
  const RingPart& part = parts_[static_cast<std::size_t>(channel)];
  const int i = communicator_.position(channel, rank);
  const std::int64_t loop = index / steps_per_loop();
  const std::int64_t j = step_of_round(index % steps_per_loop());

  bool receives = false;
  bool sends = false;
  Step step;
  std::int64_t begin = loop * part.chunk;  // within the channel's part
  std::int64_t size = chunk_of_loop(part, loop);
  std::int64_t source_block = 0;  // bytes in front of the block the chunk is in
  std::int64_t destination_block = 0;
  if (n_ == 1) {
    step.use_source = true;
    step.store = true;
  } else if (kind_ == Collective::kAllReduce) {
    // send, n-2 recvReduceSend, recvReduceCopySend, n-2 recvCopySend, recv: each one chunk further back round the ring.
    const std::int64_t k = (i - 1 - j + 2 * n_) % n_;
    begin = loop * n_ * part.chunk + k * size;
    receives = j > 0;
    sends = j < 2 * n_ - 2;
    step.use_source = j <= n_ - 1;
    step.store = j >= n_ - 1;
  } else if (kind_ == Collective::kAllGather) {
    // copySend, n-2 recvCopySend, recv: own block first, then those of the ranks before.
    destination_block = block_ * ring_neighbour(channel, i, static_cast<int>(-j));
    receives = j > 0;
    sends = j < n_ - 1;
    step.use_source = j == 0;
    step.store = true;
  } else if (kind_ == Collective::kReduceScatter) {
    // send, n-2 recvReduceSend, recvReduceCopy: own block last.
    source_block = block_ * ring_neighbour(channel, i, static_cast<int>(-1 - j));
    receives = j > 0;
    sends = j < n_ - 1;
    step.use_source = true;
    step.store = j == n_ - 1;
  } else if (kind_ == Collective::kBroadcast) {
    // A chain that starts at the root.
    const int distance = (i - communicator_.position(channel, root_) + n_) % n_;
    receives = distance > 0;
    sends = distance < n_ - 1;
    step.use_source = distance == 0;
    step.store = true;
  } else {
    // Reduce: a chain that ends at the root.
    const int distance = (i - communicator_.position(channel, root_) - 1 + n_) % n_;
    receives = distance > 0;
    sends = distance < n_ - 1;
    step.use_source = true;
    step.store = distance == n_ - 1;
  }

  begin = std::min(begin, part.data.bytes);
  step.bytes = Bytes{std::min(size, part.data.bytes - begin)};
  if (receives) step.receive_from = ring_neighbour(channel, i, -1);
  if (sends) step.send_to = ring_neighbour(channel, i, 1);
  if (step.use_source) step.source = {Buffer::kInput, source_block + part.data.offset + begin};
  if (step.store) step.destination = {Buffer::kOutput, destination_block + part.data.offset + begin};
  return step;
}

FluidFlow RingSchedule::fluid_flow(std::int64_t index) const {
  const int channel = used_[static_cast<std::size_t>(index)];
  const RingPart& part = parts_[static_cast<std::size_t>(channel)];
  const bool chain = kind_ == Collective::kBroadcast || kind_ == Collective::kReduce;
  const int first = !chain ? 0 : communicator_.position(channel, root_) + (kind_ == Collective::kReduce ? 1 : 0);
  FluidFlow flow;
  flow.channel = channel;
  flow.edges.reserve(static_cast<std::size_t>(n_));
  for (int i = 0; i < (chain ? n_ - 1 : n_); ++i) {
    flow.edges.push_back({ring_neighbour(channel, first + i, 0), ring_neighbour(channel, first + i, 1)});
  }

  const std::int64_t message = std::min(chunk_of_loop(part, 0), part.data.bytes);
  flow.step_bytes = Bytes{message};
  if (chain) {
    flow.bytes = Bytes{part.data.bytes};
    flow.serial_steps = part.loops + n_ - 2;
    flow.fill_bytes = (n_ - 2) * flow.step_bytes;
  } else if (kind_ == Collective::kAllReduce) {
    // Twice all of each loop but two neighbouring chunks. The busiest edge is spared the two smallest: the last of a short
    // loop.
    const std::int64_t full_loops = part.data.bytes / (n_ * part.chunk);
    std::int64_t bytes = full_loops * (2 * (n_ - 1) * part.chunk);
    if (part.loops > full_loops) {
      const std::int64_t left = part.data.bytes - full_loops * n_ * part.chunk;
      const std::int64_t size = chunk_of_loop(part, full_loops);
      bytes += 2 * left - (left - std::min(left, (n_ - 2) * size));
    }
    flow.bytes = Bytes{bytes};
    flow.serial_steps = part.loops * 2 * (n_ - 1);
    flow.copies = part.loops;
  } else {
    flow.bytes = Bytes{(n_ - 1) * part.data.bytes};
    flow.serial_steps = part.loops * (n_ - 1);
    flow.copies = part.loops;
  }
  return flow;
}

}  // namespace weft::coll
