// Bruck's algorithms (Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems",
// 1997) in ceil(log2 n) rounds, for small messages and any number of ranks.
//
// All-gather: every rank keeps the blocks in the order of ranks from its own on; in round k it sends its first 2^k to rank
// i - 2^k and receives as many from i + 2^k behind them. All-to-all: block d of rank i begins at place d - i; in round k all
// blocks at places with bit k set go to rank i + 2^k as one message, packed and unpacked by copies. A block thus moves as far
// as its place says, and the block of sender s ends at place i - s.
#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "sim/collectives/algorithms/powers_of_two.h"
#include "sim/collectives/algorithms/sends.h"
#include "sim/collectives/algorithms/steps.h"
#include "sim/collectives/builtin.h"

namespace weft::coll {
namespace {

class BruckAllGather final : public Rounds {
 public:
  explicit BruckAllGather(int ranks) : n_{ranks} {}

  [[nodiscard]] int blocks() const override { return n_; }
  [[nodiscard]] std::int64_t moves(Rank) const override {
    return 2 * static_cast<int>(std::bit_width(static_cast<unsigned>(n_ - 1)));
  }
  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    const int distance = 1 << (index / 2);
    const int count = std::min(distance, n_ - distance);
    if (index % 2 == 0) return send_move((rank - distance + n_) % n_, {0, count});
    return receive_move((rank + distance) % n_, {distance, distance + count});
  }
  [[nodiscard]] bool in_order() const override { return n_ == 1; }
  [[nodiscard]] int first_place(Rank rank, int of) const override { return (of - rank + n_) % n_; }

 private:
  int n_;
};

// Places below n with bit k set, and the j-th of them.
int places_with(int k, int n) {
  const int period = 2 << k;
  return n / period * (1 << k) + std::max(0, n % period - (1 << k));
}
int place_with(int k, int j) { return ((j >> k) << (k + 1)) + (1 << k) + (j & ((1 << k) - 1)); }
// A single block is not packed.
int moves_of_round(int k, int n) { return places_with(k, n) == 1 ? 2 : 2 * places_with(k, n) + 2; }

class BruckAllToAll final : public Rounds {
 public:
  explicit BruckAllToAll(int ranks) : n_{ranks} {}

  // The places, then those packed to send, then those received.
  [[nodiscard]] int blocks() const override { return 3 * n_; }
  [[nodiscard]] std::int64_t moves(Rank) const override {
    std::int64_t total = 0;
    for (int k = 0; (1 << k) < n_; ++k) total += moves_of_round(k, n_);
    return total;
  }
  [[nodiscard]] Move move(Rank rank, std::int64_t index) const override {
    int k = 0;
    for (; index >= moves_of_round(k, n_); ++k) index -= moves_of_round(k, n_);
    const int distance = 1 << k;
    const int count = places_with(k, n_);
    const int i = static_cast<int>(index);
    if (count == 1) {
      const Blocks only{place_with(k, 0), place_with(k, 0) + 1};
      return i == 0 ? send_move((rank + distance) % n_, only) : receive_move((rank - distance + n_) % n_, only);
    }
    if (i < count) return copy_move({place_with(k, i), place_with(k, i) + 1}, n_ + i);
    if (i == count) return send_move((rank + distance) % n_, {n_, n_ + count});
    if (i == count + 1) return receive_move((rank - distance + n_) % n_, {2 * n_, 2 * n_ + count});
    const int j = i - count - 2;
    return copy_move({2 * n_ + j, 2 * n_ + j + 1}, place_with(k, j));
  }
  [[nodiscard]] bool in_order() const override { return n_ == 1; }
  [[nodiscard]] int first_place(Rank rank, int of) const override { return (of - rank + n_) % n_; }
  [[nodiscard]] int last_place(Rank rank, int of) const override { return (rank - of + n_) % n_; }

 private:
  int n_;
};

// The same where blocks differ in size: places have room for the largest, messages have the blocks without gaps. Before round
// k the place p of rank i has the block from rank i - (p mod 2^k) to the one p behind that.
// All ranks know all sizes.
class BruckOfPairs final : public Schedule {
 public:
  BruckOfPairs(int ranks, const CollectiveCall& call, int channels)
      : n_{ranks},
        channels_{channels},
        rounds_{static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)))},
        messages_{call, ranks} {
    packed_.resize(flat_index(channels_, n_, 0) * static_cast<std::size_t>(rounds_));
    for (int channel = 0; channel < channels_; ++channel) {
      for (Rank rank = 0; rank < n_; ++rank) {
        for (int k = 0; k < rounds_; ++k) pack(channel, rank, k);
      }
    }
  }

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return channels_; }
  [[nodiscard]] int lanes(Rank, int) const override { return 1; }
  [[nodiscard]] std::int64_t step_count(Rank, int channel, int) const override {
    if (channel_part(messages_.largest(), channels_, channel).bytes == 0) return 0;
    std::int64_t total = 2 * n_;
    for (int k = 0; k < rounds_; ++k) total += moves_of_round(k, n_);
    return total;
  }

  [[nodiscard]] Step step(Rank rank, int channel, int, std::int64_t index) const override {
    if (index < n_) {
      const auto to = static_cast<Rank>(index);
      const Part part = part_of(channel, rank, to);
      return copy(part.bytes, {Buffer::kInput, messages_.input_offset(rank, to) + part.offset},
                  at(channel, (to - rank + n_) % n_));
    }
    index -= n_;
    for (int k = 0; k < rounds_; ++k) {
      if (index < moves_of_round(k, n_)) return step_of_round(rank, channel, k, static_cast<int>(index));
      index -= moves_of_round(k, n_);
    }
    const auto from = static_cast<Rank>(index);
    const Part part = part_of(channel, from, rank);
    return copy(part.bytes, at(channel, (rank - from + n_) % n_),
                {Buffer::kOutput, messages_.output_offset(from, rank) + part.offset});
  }

 private:
  // Where the j-th block of round k begins in the message, and, last, how long that is.
  using Offsets = std::vector<std::int64_t>;
  [[nodiscard]] const Offsets& packed(int channel, Rank rank, int k) const {
    return packed_[flat_index(flat_index(channel, n_, rank), rounds_, k)];
  }
  void pack(int channel, Rank rank, int k) {
    Offsets& offsets = packed_[flat_index(flat_index(channel, n_, rank), rounds_, k)];
    offsets.push_back(0);
    for (int j = 0; j < places_with(k, n_); ++j) {
      const int place = place_with(k, j);
      const Rank from = (rank - (place & ((1 << k) - 1)) + n_) % n_;
      offsets.push_back(offsets.back() + part_of(channel, from, (from + place) % n_).bytes);
    }
  }

  [[nodiscard]] Part part_of(int channel, Rank from, Rank to) const {
    return channel_part(messages_.bytes(from, to), channels_, channel);
  }
  // The places, then those packed to send, then those received; each channel has its own.
  [[nodiscard]] Chunk at(int channel, int place, std::int64_t within = 0) const {
    return {Buffer::kScratch, (std::int64_t{channel} * 3 * n_ + place) * messages_.largest() + within};
  }
  [[nodiscard]] static Step copy(std::int64_t bytes, const Chunk& from, const Chunk& to) {
    if (bytes == 0) return nothing_to_do();
    Step step = step_of(bytes);
    read_from(step, from.buffer, from.offset);
    keep_at(step, to.buffer, to.offset);
    return step;
  }

  [[nodiscard]] Step step_of_round(Rank rank, int channel, int k, int index) const {
    const int distance = 1 << k;
    const int count = places_with(k, n_);
    const Rank before = (rank - distance + n_) % n_;
    const Offsets& out = packed(channel, rank, k);
    const Offsets& in = packed(channel, before, k);
    const int send_index = count == 1 ? 0 : count;
    if (index == send_index || index == send_index + 1) {
      const bool sends = index == send_index;
      const std::int64_t bytes = sends ? out.back() : in.back();
      if (bytes == 0) return nothing_to_do();
      Step step = step_of(bytes);
      const Chunk chunk = at(channel, count == 1 ? place_with(k, 0) : sends ? n_ : 2 * n_);
      if (sends) {
        step.send_to = (rank + distance) % n_;
        read_from(step, chunk.buffer, chunk.offset);
      } else {
        step.receive_from = before;
        keep_at(step, chunk.buffer, chunk.offset);
      }
      return step;
    }
    const bool packs = index < count;
    const int j = packs ? index : index - count - 2;
    const Offsets& offsets = packs ? out : in;
    const auto i = static_cast<std::size_t>(j);
    const Chunk of_place = at(channel, place_with(k, j));
    const Chunk of_message = at(channel, packs ? n_ : 2 * n_, offsets[i]);
    return copy(offsets[i + 1] - offsets[i], packs ? of_place : of_message, packs ? of_message : of_place);
  }

  int n_;
  int channels_;
  int rounds_;
  Messages messages_;
  std::vector<Offsets> packed_;  // by channel, rank and round
};

class Bruck final : public Algorithm {
 public:
  [[nodiscard]] bool supports(Collective collective) const override {
    return collective == Collective::kAllGather || collective == Collective::kAllToAll;
  }
  [[nodiscard]] std::unique_ptr<Schedule> plan(const Communicator& communicator, const CollectiveCall& call,
                                               const Choice& choice) const override {
    WEFT_CHECK(supports(call.kind));
    WEFT_CHECK(choice.channels <= communicator.channels());
    const int ranks = communicator.ranks();
    if (call.pairs != nullptr && !call.pairs->is_even()) return std::make_unique<BruckOfPairs>(ranks, call, choice.channels);
    std::unique_ptr<Rounds> rounds;
    if (call.kind == Collective::kAllGather) {
      rounds = std::make_unique<BruckAllGather>(ranks);
    } else {
      rounds = std::make_unique<BruckAllToAll>(ranks);
    }
    return std::make_unique<RoundsSchedule>(ranks, call, choice, std::move(rounds));
  }
};

}  // namespace

const Registration<Algorithm> builtin::bruck{
    .name = "bruck",
    .summary = "all-gather and all-to-all of small messages in log2 n rounds (Bruck et al., 1997)",
    .make = [](ParamReader&) -> std::unique_ptr<Algorithm> { return std::make_unique<Bruck>(); },
    .model = kRoundsText,
};

}  // namespace weft::coll
