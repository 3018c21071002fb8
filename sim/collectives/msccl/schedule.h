// The schedule of an MSCCL program. Private to msccl/.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/msccl/program.h"
#include "sim/collectives/schedule.h"

namespace weft::coll::msccl {

// Bytes of one program chunk, models/nccl §9.1: count * mult / nchunksperloop. 0 where that is no whole number of elements.
[[nodiscard]] std::int64_t chunk_bytes(const Program& program, const CollectiveCall& call);

class ProgramSchedule final : public Schedule {
 public:
  // Keeps a reference to `program`.
  ProgramSchedule(const Program& program, const CollectiveCall& call, Bytes chunk, bool in_place);

  [[nodiscard]] int ranks() const override { return program_.ranks(); }
  [[nodiscard]] int channels() const override { return program_.channels; }
  [[nodiscard]] int lanes(Rank rank, int channel) const override;
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override;
  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override;
  [[nodiscard]] bool in_place() const override { return in_place_; }

  // The threadblock of a lane, and the step of it that a step of the lane belongs to.
  [[nodiscard]] int block_of(Rank rank, int channel, int lane) const;
  [[nodiscard]] int program_step(Rank rank, int channel, int lane, std::int64_t index) const;
  [[nodiscard]] std::int64_t program_chunk_bytes() const { return chunk_; }

 private:
  // A part of a program step: so many of its chunks from `first` on.
  struct Piece {
    std::int32_t step = 0;
    std::int32_t first = 0;
    std::int32_t count = 0;
  };
  struct Block {
    int lane = 0;                    // of its channel
    std::vector<Piece> pieces;       // of one iteration
    std::vector<std::int64_t> ends;  // by program step: pieces up to and with it
  };
  [[nodiscard]] std::size_t channel_index(Rank rank, int channel) const;
  [[nodiscard]] const Block& block(Rank rank, int id) const;
  [[nodiscard]] Chunk chunk_at(Rank rank, const Place& place, std::int64_t first, std::int64_t within) const;

  const Program& program_;
  std::int64_t chunk_;  // bytes of a program chunk
  std::int64_t piece_;  // of it in one iteration
  std::int64_t iterations_ = 1;
  bool in_place_;
  std::vector<std::int64_t> input_base_;  // by rank: where in place the input begins, and the output
  std::vector<std::int64_t> output_base_;
  std::vector<std::vector<Block>> blocks_;           // by rank, id
  std::vector<std::vector<int>> blocks_of_channel_;  // by rank and channel, lane: id
};

}  // namespace weft::coll::msccl
