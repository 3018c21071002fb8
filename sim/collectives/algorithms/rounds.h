// The textbook algorithms share this: a list of moves per rank (send, receive, add) on blocks of a work area, and the schedule
// that runs it. An algorithm then is a function from (rank, move number) to a move. Private to algorithms/.
//
// A channel's share of the data is a work area cut into Rounds::blocks() blocks, so that neighbouring blocks are one message:
//  - all-reduce, broadcast, reduce: the share itself, in the output (at ranks without one in scratch), cut evenly;
//  - the others: a block for each rank. With several channels, or where blocks lie in another order than ranks, the area is in
//    scratch, and local copies bring the blocks in and out, as libraries pack and unpack theirs.
// One lane a channel, in the order of moves: bring the input in, move, bring the output out. As in MPI the input is copied
// first and then all is done in place. The k-th share is independent of the others, as if each ran the algorithm by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/collectives/algorithm.h"
#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/schedule.h"
#include "sim/core/error.h"
#include "sim/core/model_text.h"
#include "sim/core/registry.h"

namespace weft::coll {

// MPI's algorithms share this text.
inline constexpr ModelText kRoundsText{
    .title = "MPI's classic algorithms: moves of whole ranges, one after another",
    .assumes =
        "Every rank sends and receives in rounds: the input is copied, then all is done in place, one "
        "message a round. Ranks beyond a power of two hand theirs to a neighbour first and get the result "
        "last. Channels share the data and run the algorithm each by itself.",
    .leaves_out =
        {"MPI's algorithms: no choice by size, no segments, no eager and rendezvous protocols",
         "MPI's algorithms: packing and unpacking of blocks are copies that cost nothing",
         "MPI's algorithms: in Bruck's all-to-allv all ranks know all sizes; libraries exchange those of a round first"},
    .sources = {"Thakur, Rabenseifner and Gropp, 2005", "Rabenseifner, 2004", "Bruck et al., 1997", "Barnett et al., 1994"},
    .files = {"collectives/algorithms/rounds.h", "collectives/algorithms/recursive_halving_doubling.cpp"}};

// Blocks [begin, end) of the work area.
struct Blocks {
  int begin = 0;
  int end = 0;
  bool operator==(const Blocks&) const = default;
};

struct Move {
  enum class Kind : std::uint8_t { kSend, kReceive, kReduce, kCopy };  // kReduce: receive and add to what is there
  Kind kind = Kind::kSend;
  Rank peer = -1;  // not of a copy
  Blocks blocks;
  int to = 0;  // first block that a copy goes to
};
[[nodiscard]] constexpr Move send_move(Rank to, Blocks blocks) { return {Move::Kind::kSend, to, blocks, 0}; }
[[nodiscard]] constexpr Move receive_move(Rank from, Blocks blocks) { return {Move::Kind::kReceive, from, blocks, 0}; }
[[nodiscard]] constexpr Move reduce_move(Rank from, Blocks blocks) { return {Move::Kind::kReduce, from, blocks, 0}; }
[[nodiscard]] constexpr Move copy_move(Blocks from, int to) { return {Move::Kind::kCopy, -1, from, to}; }

// The messages of one algorithm for one call. Pure arithmetic: nothing is stored per rank and move.
class Rounds {
 public:
  Rounds() = default;
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;
  virtual ~Rounds() = default;

  [[nodiscard]] virtual int blocks() const = 0;
  [[nodiscard]] virtual std::int64_t moves(Rank rank) const = 0;
  // 0 <= index < moves(rank). At most O(log ranks); allocates nothing.
  [[nodiscard]] virtual Move move(Rank rank, std::int64_t index) const = 0;

  // For collectives with a block for each rank: where `rank` puts block `of` of its input (all-gather and gather: its only one,
  // of = rank), and where block `of` of its output lies in the end.
  [[nodiscard]] virtual bool in_order() const { return true; }  // both answer `of`
  [[nodiscard]] virtual int first_place(Rank, int of) const { return of; }
  [[nodiscard]] virtual int last_place(Rank rank, int of) const { return first_place(rank, of); }
};

class RoundsSchedule final : public Schedule {
 public:
  RoundsSchedule(int ranks, const CollectiveCall& call, const Choice& choice, std::unique_ptr<Rounds> rounds);

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return 1; }
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override;
  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override;

 private:
  [[nodiscard]] bool has_rank_blocks() const;
  [[nodiscard]] bool works_in_output(Rank rank) const;
  // Copies that bring input in and output out; as one where blocks lie in the same order on both sides.
  [[nodiscard]] std::int64_t loads(Rank rank) const;
  [[nodiscard]] std::int64_t stores(Rank rank) const;
  [[nodiscard]] Step load(Rank rank, const Part& part, std::int64_t index) const;
  [[nodiscard]] Step store(Rank rank, const Part& part, std::int64_t index) const;
  [[nodiscard]] Step move_step(Rank rank, const Part& part, const Move& move) const;
  [[nodiscard]] std::int64_t cut(const Part& part, int block) const;
  [[nodiscard]] Chunk work(Rank rank, const Part& part, int block) const;

  Collective kind_;
  int n_;
  Rank root_;
  std::unique_ptr<Rounds> rounds_;
  std::int64_t block_ = 0;  // bytes of one rank's block; 0 for all-reduce, broadcast, reduce
  bool one_run_;            // blocks of input, work area and output lie in the same order, side by side
  std::vector<Part> parts_;
};

// An algorithm all of whose plans are rounds: `make(communicator, call)` gives them.
using MakeRounds = std::unique_ptr<Rounds> (*)(const Communicator&, const CollectiveCall&);
class RoundsAlgorithm final : public Algorithm {
 public:
  RoundsAlgorithm(std::vector<Collective> collectives, MakeRounds make, Kernel kernel = Kernel::kTextbook)
      : collectives_{std::move(collectives)}, make_{make}, kernel_{kernel} {}

  [[nodiscard]] bool supports(Collective collective) const override;
  [[nodiscard]] Kernel kernel() const override { return kernel_; }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override;

 private:
  std::vector<Collective> collectives_;
  MakeRounds make_;
  Kernel kernel_;
};

}  // namespace weft::coll
