// All-reduce by kernels whose threads read and write the memory of peers: one-shot, two-shot and through the switch. Private to
// algorithms/.
//
// A rank that reads from a peer has the peer's bytes cross the links to it, so a read is a message from the peer. Flags are
// messages of no bytes. Lane 0 takes in; lane t has what rank i + t (mod n) gets: a flag, the data, a flag, and so on.
// One-shot: all ranks read all of every vector and add up. Two-shot: rank i adds up part i of all vectors, and after a barrier
// all read the sums. Through the switch: rank i has it add up part i and write the sum to all.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

enum class Shot : std::uint8_t { kOne, kTwo, kSwitch };

class PeerSchedule final : public Schedule {
 public:
  PeerSchedule(int ranks, const CollectiveCall& call, const Choice& choice, Shot shot);

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return n_ + (in_switch() ? 2 : 0); }
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override;
  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override;
  // A part left for the switch to add up keeps no warp busy.
  [[nodiscard]] double warp_share(Rank, int, int lane) const override { return in_switch() && lane == n_ ? 1e6 : 1.0; }

 private:
  [[nodiscard]] bool in_switch() const { return shot_ == Shot::kSwitch && n_ > 1; }
  [[nodiscard]] std::int64_t flags_at_end() const { return shot_ == Shot::kTwo ? n_ + 2 : 2; }  // step of lane 0
  [[nodiscard]] std::int64_t messages_to_a_peer() const { return in_switch() ? 2 : shot_ == Shot::kTwo ? 5 : 3; }
  [[nodiscard]] Part share(const Part& part, Rank rank) const;
  [[nodiscard]] Peers others(Rank rank) const;
  [[nodiscard]] Step take_in(Rank rank, const Part& part, std::int64_t index) const;
  [[nodiscard]] Step give(Rank rank, Rank peer, const Part& part, std::int64_t index) const;
  [[nodiscard]] Step with_switch(Rank rank, const Part& part, bool adds_up) const;

  int n_;
  Shot shot_;
  std::vector<Rank> twice_;  // 0 1 ... n-1 0 1 ... n-1: behind each rank stand all others
  std::vector<Part> parts_;
};

}  // namespace weft::coll
