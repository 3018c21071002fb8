#include "sim/collectives/algorithms/mesh_schedule.h"

#include <algorithm>

#include "sim/collectives/algorithms/steps.h"
#include "sim/core/error.h"

namespace weft::coll {

MeshSchedule::MeshSchedule(int ranks, const CollectiveCall& call, const Choice& choice) : kind_{call.kind}, n_{ranks} {
  const CallSizes sizes = sizes_of(call, n_);
  if (kind_ != Collective::kAllReduce) block_ = std::min(sizes.input, sizes.output).count();
  const std::int64_t shared = kind_ == Collective::kAllReduce ? sizes.input.count() : block_;
  for (const ChannelPart& part : channel_parts(shared, choice)) parts_.push_back(part.data);
}

Part MeshSchedule::cut(const Part& part, Rank block) const {
  const Part piece = channel_part(part.bytes, n_, block);
  return {part.offset + piece.offset, piece.bytes};
}

Part MeshSchedule::input(const Part& part, Rank block) const {
  if (kind_ == Collective::kAllReduce) return cut(part, block);
  return {(kind_ == Collective::kReduceScatter ? block * block_ : 0) + part.offset, part.bytes};
}

Part MeshSchedule::output(const Part& part, Rank block) const {
  if (kind_ == Collective::kAllReduce) return cut(part, block);
  return {(kind_ == Collective::kAllGather ? block * block_ : 0) + part.offset, part.bytes};
}

std::int64_t MeshSchedule::step_count(Rank, int channel, int lane) const {
  if (parts_[static_cast<std::size_t>(channel)].bytes == 0) return 0;
  if (lane == 0) return n_;
  if (lane == n_) return n_ - 1;
  return kind_ == Collective::kAllReduce ? 2 : 1;
}

// First the rank's own block, then those of the ranks before it.
Step MeshSchedule::take_in(Rank rank, const Part& part, std::int64_t index) const {
  if (index == 0) {
    const Part from = input(part, rank);
    Step step = step_of(from.bytes);
    read_from(step, Buffer::kInput, from.offset);
    keep_at(step, Buffer::kOutput, output(part, rank).offset);
    return step;
  }
  const Rank peer = (rank + n_ - static_cast<int>(index)) % n_;
  return kind_ == Collective::kAllGather ? receive(peer, output(part, peer), false) : receive(peer, output(part, rank), true);
}

Step MeshSchedule::receive(Rank peer, const Part& at, bool adds) {
  Step step = step_of(at.bytes);
  step.receive_from = peer;
  if (adds) read_from(step, Buffer::kOutput, at.offset);
  keep_at(step, Buffer::kOutput, at.offset);
  return step;
}

Step MeshSchedule::step(Rank rank, int channel, int lane, std::int64_t index) const {
  const Part& part = parts_[static_cast<std::size_t>(channel)];
  if (lane == 0) return take_in(rank, part, index);
  const Progress own_total{.channel = channel, .lane = 0, .steps = n_};
  if (lane == n_) {
    const Rank peer = (rank + n_ - 1 - static_cast<int>(index)) % n_;
    Step step = receive(peer, output(part, peer), false);
    step.after = own_total;  // what all pushed came first on their connections
    return step;
  }
  const Rank peer = (rank + lane) % n_;
  const bool total = index == 1;  // of an all-reduce: its own block is added up
  const Part from = total ? output(part, rank) : input(part, peer);
  Step step = step_of(from.bytes);
  step.send_to = peer;
  read_from(step, total ? Buffer::kOutput : Buffer::kInput, from.offset);
  if (total) step.after = own_total;
  return step;
}

}  // namespace weft::coll
