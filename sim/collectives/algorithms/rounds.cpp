#include "sim/collectives/algorithms/rounds.h"

#include <algorithm>
#include <utility>

#include "sim/collectives/algorithms/steps.h"

namespace weft::coll {

RoundsSchedule::RoundsSchedule(int ranks, const CollectiveCall& call, const Choice& choice, std::unique_ptr<Rounds> rounds)
    : kind_{call.kind}, n_{ranks}, root_{call.root}, rounds_{std::move(rounds)} {
  WEFT_CHECK(root_ >= 0 && root_ < n_);
  const CallSizes sizes = sizes_of(call, n_);
  std::int64_t shared = sizes.input.count();
  if (has_rank_blocks()) shared = block_ = std::max(sizes.input, sizes.output).count() / n_;
  for (const ChannelPart& part : channel_parts(shared, choice)) parts_.push_back(part.data);
  one_run_ = channels() == 1 && rounds_->in_order();
}

bool RoundsSchedule::has_rank_blocks() const {
  return kind_ != Collective::kAllReduce && kind_ != Collective::kBroadcast && kind_ != Collective::kReduce;
}

bool RoundsSchedule::works_in_output(Rank rank) const {
  if (!has_rank_blocks()) return kind_ != Collective::kReduce || rank == root_;
  return kind_ == Collective::kAllGather && one_run_;
}

std::int64_t RoundsSchedule::loads(Rank rank) const {
  const bool only_root = kind_ == Collective::kBroadcast || kind_ == Collective::kScatter;
  if (only_root && rank != root_) return 0;
  const bool one = !has_rank_blocks() || kind_ == Collective::kAllGather || kind_ == Collective::kGather;
  return one || one_run_ ? 1 : n_;
}

std::int64_t RoundsSchedule::stores(Rank rank) const {
  if (works_in_output(rank) || kind_ == Collective::kReduce) return 0;
  if (kind_ == Collective::kGather && rank != root_) return 0;
  const bool one = kind_ == Collective::kReduceScatter || kind_ == Collective::kScatter;
  return one || one_run_ ? 1 : n_;
}

std::int64_t RoundsSchedule::cut(const Part& part, int block) const {
  if (has_rank_blocks()) return block * part.bytes;
  return block == rounds_->blocks() ? part.bytes : channel_part(part.bytes, rounds_->blocks(), block).offset;
}

Chunk RoundsSchedule::work(Rank rank, const Part& part, int block) const {
  // In scratch the areas of channels with blocks of ranks follow each other.
  const std::int64_t begin = has_rank_blocks() ? part.offset * rounds_->blocks() : part.offset;
  return {works_in_output(rank) ? Buffer::kOutput : Buffer::kScratch, begin + cut(part, block)};
}

Step RoundsSchedule::load(Rank rank, const Part& part, std::int64_t index) const {
  Step step = step_of(part.bytes);
  std::int64_t from = part.offset;
  int to = 0;
  if (kind_ == Collective::kAllGather || kind_ == Collective::kGather) {
    to = rounds_->first_place(rank, rank);
  } else if (has_rank_blocks() && one_run_) {
    step.bytes = Bytes{n_ * block_};
  } else if (has_rank_blocks()) {
    from += index * block_;
    to = rounds_->first_place(rank, static_cast<int>(index));
  }
  read_from(step, Buffer::kInput, from);
  const Chunk destination = work(rank, part, to);
  keep_at(step, destination.buffer, destination.offset);
  return step;
}

Step RoundsSchedule::store(Rank rank, const Part& part, std::int64_t index) const {
  Step step = step_of(part.bytes);
  std::int64_t to = part.offset;
  int from = 0;
  if (kind_ == Collective::kReduceScatter || kind_ == Collective::kScatter) {
    from = rounds_->last_place(rank, rank);
  } else if (one_run_) {
    step.bytes = Bytes{n_ * block_};
  } else {
    to += index * block_;
    from = rounds_->last_place(rank, static_cast<int>(index));
  }
  const Chunk source = work(rank, part, from);
  read_from(step, source.buffer, source.offset);
  keep_at(step, Buffer::kOutput, to);
  return step;
}

Step RoundsSchedule::move_step(Rank rank, const Part& part, const Move& move) const {
  const Chunk at = work(rank, part, move.blocks.begin);
  Step step = step_of(cut(part, move.blocks.end) - cut(part, move.blocks.begin));
  switch (move.kind) {
    case Move::Kind::kSend:
      step.send_to = move.peer;
      read_from(step, at.buffer, at.offset);
      break;
    case Move::Kind::kReceive:
      step.receive_from = move.peer;
      keep_at(step, at.buffer, at.offset);
      break;
    case Move::Kind::kReduce:
      step.receive_from = move.peer;
      read_from(step, at.buffer, at.offset);
      keep_at(step, at.buffer, at.offset);
      break;
    case Move::Kind::kCopy:
      read_from(step, at.buffer, at.offset);
      keep_at(step, at.buffer, work(rank, part, move.to).offset);
      break;
  }
  return step;
}

std::int64_t RoundsSchedule::step_count(Rank rank, int channel, int) const {
  if (parts_[static_cast<std::size_t>(channel)].bytes == 0) return 0;
  return loads(rank) + rounds_->moves(rank) + stores(rank);
}

Step RoundsSchedule::step(Rank rank, int channel, int, std::int64_t index) const {
  const Part& part = parts_[static_cast<std::size_t>(channel)];
  const std::int64_t before = loads(rank);
  if (index < before) return load(rank, part, index);
  const std::int64_t moves = rounds_->moves(rank);
  if (index < before + moves) return move_step(rank, part, rounds_->move(rank, index - before));
  return store(rank, part, index - before - moves);
}

bool RoundsAlgorithm::supports(Collective collective) const {
  return std::find(collectives_.begin(), collectives_.end(), collective) != collectives_.end();
}

std::unique_ptr<Schedule> RoundsAlgorithm::plan(const Communicator& communicator, const CollectiveCall& call,
                                                const Choice& choice) const {
  WEFT_CHECK(supports(call.kind));
  WEFT_CHECK(choice.channels <= communicator.channels());
  return std::make_unique<RoundsSchedule>(communicator.ranks(), call, choice, make_(communicator, call));
}

}  // namespace weft::coll
