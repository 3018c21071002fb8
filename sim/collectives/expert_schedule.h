// The messages of DeepEP's dispatch and combine, as steps for the executor. They move no data
// that a verifier could follow, for a token of several experts is sent once.
//
// Lanes of a rank, between nodes: to each near rank, what is its own, then what is handed on; to the rank of its index on each
// far node; then three that take in. What is handed on, or collected, goes in chunks, so that NVLink and network work at the
// same time.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/collectives/algorithms/node_layout.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

// Bytes that a rank sends in a call.
struct ExpertBytes {
  std::int64_t near = 0;    // of its own, to one other rank of its node
  std::int64_t handed = 0;  // of one rank of a far node, to or from one other rank of its node
  std::int64_t far = 0;     // to one rank of a far node: that of its index, or each of them where `direct`
  bool direct = false;      // to every far rank (low latency), none is handed on
  bool collects = false;    // combine: over NVLink first
  // Loads of each rank's experts, and each node's, over the mean that the bytes above are; empty: all alike.
  std::vector<double> ranks = {};
  std::vector<double> nodes = {};
};

class ExpertSchedule final : public Schedule {
 public:
  ExpertSchedule(const Communicator& communicator, const ExpertBytes& bytes);

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return 1; }
  [[nodiscard]] int lanes(Rank rank, int channel) const override;
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override;
  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override;
  // Lanes over NVLink share what the kernel moves by their bytes; what a NIC sends keeps no SM busy.
  [[nodiscard]] double warp_share(Rank rank, int channel, int lane) const override;
  // That a rank sends over NVLink.
  [[nodiscard]] std::int64_t near_bytes() const { return (size_ - 1) * (bytes_.near + far_nodes() * bytes_.handed); }

 private:
  enum class Kind : std::uint8_t { kNear, kHanded, kFar, kTakeNear, kTakeHanded, kTakeFar };
  struct Lane {
    Kind kind;
    int peer = 0;  // counted on from the rank: near ranks from 1, far nodes or far ranks from 0
  };
  [[nodiscard]] Lane lane_of(int lane) const;
  [[nodiscard]] std::int64_t far_nodes() const { return bytes_.direct ? 0 : nodes_ - 1; }
  [[nodiscard]] int far_peers() const { return bytes_.direct ? n_ - size_ : nodes_ - 1; }
  [[nodiscard]] int handed_lanes() const { return far_nodes() > 0 ? size_ - 1 : 0; }
  [[nodiscard]] Rank near_peer(Rank rank, int peer) const;
  [[nodiscard]] Rank far_peer(Rank rank, int peer, bool sends) const;
  [[nodiscard]] Bytes chunk(std::int64_t bytes, std::int64_t index) const;
  // The load of the rank or node whose experts a lane's data are for, or from.
  [[nodiscard]] double load(Rank rank, const Lane& lane) const;

  NodeLayout layout_;
  ExpertBytes bytes_;
  int n_;
  int nodes_;
  int size_;  // of a node
  std::int64_t chunks_;
  std::vector<std::vector<Rank>> near_;  // other ranks of the node, by rank
};

}  // namespace weft::coll
