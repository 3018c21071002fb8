#include "sim/collectives/msccl/schedule.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/whole_numbers.h"

namespace weft::coll::msccl {

std::int64_t chunk_bytes(const Program& program, const CollectiveCall& call) {
  const CallSizes sizes = sizes_of(call, program.ranks());
  const bool per_rank = program.collective == Collective::kGather || program.collective == Collective::kScatter;
  const std::int64_t vector = (per_rank ? std::min(sizes.input, sizes.output) : std::max(sizes.input, sizes.output)).count();
  const std::int64_t chunk = vector / program.chunks_per_loop;
  return chunk * program.chunks_per_loop == vector && chunk % call.element_size == 0 ? chunk : 0;
}

ProgramSchedule::ProgramSchedule(const Program& program, const CollectiveCall& call, Bytes chunk, bool in_place)
    : program_{program}, chunk_{chunk_bytes(program, call)}, piece_{chunk_}, in_place_{in_place} {
  WEFT_CHECK(chunk_ > 0);
  const std::int64_t limit = std::max(chunk.count() / call.element_size, std::int64_t{1}) * call.element_size;
  if (limit < chunk_) {
    piece_ = limit;
    iterations_ = (chunk_ + limit - 1) / limit;
  }
  const std::int64_t most_in_one = std::max(limit / chunk_, std::int64_t{1});

  const CallSizes sizes = sizes_of(call, ranks());
  const bool only_root_reads = call.kind == Collective::kBroadcast || call.kind == Collective::kScatter;
  const bool only_root_writes = call.kind == Collective::kReduce || call.kind == Collective::kGather;
  blocks_of_channel_.resize(channel_index(ranks(), 0));
  for (Rank rank = 0; rank < ranks(); ++rank) {
    const std::int64_t input = only_root_reads && rank != call.root ? 0 : sizes.input.count();
    const std::int64_t output = only_root_writes && rank != call.root ? 0 : sizes.output.count();
    input_base_.push_back(input < output ? rank * input : 0);
    output_base_.push_back(output < input ? rank * output : 0);
    std::vector<Block>& blocks = blocks_.emplace_back();
    for (const ThreadBlock& block : program_.gpus[static_cast<std::size_t>(rank)].blocks) {
      std::vector<int>& of_channel = blocks_of_channel_[channel_index(rank, block.channel)];
      Block& made = blocks.emplace_back();
      made.lane = static_cast<int>(of_channel.size());
      of_channel.push_back(static_cast<int>(blocks.size()) - 1);
      for (std::size_t i = 0; i < block.steps.size(); ++i) {
        // A step without chunks (nop) is one piece too: it still waits.
        const std::int64_t count = block.steps[i].op == Op::kNop ? 0 : block.steps[i].count;
        std::int64_t first = 0;
        do {
          const std::int64_t taken = std::min(count - first, most_in_one);
          made.pieces.push_back(
              {static_cast<std::int32_t>(i), static_cast<std::int32_t>(first), static_cast<std::int32_t>(taken)});
          first += most_in_one;
        } while (first < count);
        made.ends.push_back(static_cast<std::int64_t>(made.pieces.size()));
      }
    }
  }
}

std::size_t ProgramSchedule::channel_index(Rank rank, int channel) const { return flat_index(rank, channels(), channel); }

const ProgramSchedule::Block& ProgramSchedule::block(Rank rank, int id) const {
  return blocks_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(id)];
}

int ProgramSchedule::lanes(Rank rank, int channel) const {
  return static_cast<int>(blocks_of_channel_[channel_index(rank, channel)].size());
}

int ProgramSchedule::block_of(Rank rank, int channel, int lane) const {
  return blocks_of_channel_[channel_index(rank, channel)][static_cast<std::size_t>(lane)];
}

std::int64_t ProgramSchedule::step_count(Rank rank, int channel, int lane) const {
  return iterations_ * static_cast<std::int64_t>(block(rank, block_of(rank, channel, lane)).pieces.size());
}

int ProgramSchedule::program_step(Rank rank, int channel, int lane, std::int64_t index) const {
  const std::vector<Piece>& pieces = block(rank, block_of(rank, channel, lane)).pieces;
  return pieces[static_cast<std::size_t>(index) % pieces.size()].step;
}

Chunk ProgramSchedule::chunk_at(Rank rank, const Place& place, std::int64_t first, std::int64_t within) const {
  Chunk chunk{place.buffer, (place.chunk + first) * chunk_ + within};
  if (!in_place_ || place.buffer == Buffer::kScratch) return chunk;
  chunk.offset += (place.buffer == Buffer::kInput ? input_base_ : output_base_)[static_cast<std::size_t>(rank)];
  chunk.buffer = Buffer::kOutput;
  return chunk;
}

Step ProgramSchedule::step(Rank rank, int channel, int lane, std::int64_t index) const {
  const int id = block_of(rank, channel, lane);
  const Block& lane_block = block(rank, id);
  const ThreadBlock& of = program_.gpus[static_cast<std::size_t>(rank)].blocks[static_cast<std::size_t>(id)];
  const auto per_iteration = static_cast<std::int64_t>(lane_block.pieces.size());
  const std::int64_t iteration = index / per_iteration;
  const Piece& piece = lane_block.pieces[static_cast<std::size_t>(index % per_iteration)];
  const ProgramStep& from = of.steps[static_cast<std::size_t>(piece.step)];
  const OpTraits& op = traits(from.op);
  const std::int64_t within = iteration * piece_;

  Step step;
  step.bytes = Bytes{piece.count * std::min(piece_, chunk_ - within)};
  if (op.sends) step.send_to = of.send;
  if (op.receives) step.receive_from = of.receive;
  step.use_source = op.reads_source;
  step.store = op.stores;
  step.accumulate = from.op == Op::kReduce;
  if (op.reads_source) step.source = chunk_at(rank, from.source, piece.first, within);
  if (op.stores) step.destination = chunk_at(rank, from.destination, piece.first, within);
  // Only the first piece of a step waits; within a threadblock order is enough.
  if (from.wait_block >= 0 && from.wait_block != id && piece.first == 0) {
    const Block& waited = block(rank, from.wait_block);
    const ThreadBlock& other = program_.gpus[static_cast<std::size_t>(rank)].blocks[static_cast<std::size_t>(from.wait_block)];
    step.after = {.channel = other.channel,
                  .lane = waited.lane,
                  .steps = iteration * static_cast<std::int64_t>(waited.pieces.size()) +
                           waited.ends[static_cast<std::size_t>(from.wait_step)]};
  }
  return step;
}

}  // namespace weft::coll::msccl
