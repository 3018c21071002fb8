// The ring schedules that `ring` and `plain_ring` share: they differ in the chunk only. Private to algorithms/.
//
// Every channel passes its part of the data around its own ring in loops, each of at most n chunks (all-reduce), n blocks of a
// chunk (all-gather, reduce-scatter) or one chunk (broadcast, reduce). Step order and chunk rules are NCCL's (models/nccl
// §3.1). One lane a channel: under rendezvous, loop after loop costs its steps one after another.
#pragma once

#include <memory>
#include <vector>

#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

[[nodiscard]] bool is_ring_collective(Collective collective);

class RingSchedule final : public Schedule {
 public:
  // Channels, their parts and their chunks as channel_parts() has them. Keeps a reference to `communicator`.
  RingSchedule(const Communicator& communicator, const CollectiveCall& call, const Choice& choice);

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return 1; }
  [[nodiscard]] Nets nets() const override { return Nets::kRing; }
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override;
  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override;
  [[nodiscard]] std::int64_t loops(int channel) const override { return parts_[static_cast<std::size_t>(channel)].loops; }
  // recvReduceSend and recvCopySend, so many of each; none in chains.
  [[nodiscard]] std::int64_t hops() const override { return hops_; }
  [[nodiscard]] std::unique_ptr<Schedule> with_hops(std::int64_t hops) const override;
  [[nodiscard]] bool has_fluid_flows() const override { return true; }
  [[nodiscard]] std::int64_t fluid_flow_count() const override { return static_cast<std::int64_t>(used_.size()); }
  [[nodiscard]] FluidFlow fluid_flow(std::int64_t index) const override;

 private:
  // A channel's share: of the vector, or for all-gather and reduce-scatter of each rank's block.
  struct RingPart {
    Part data;
    std::int64_t chunk = 0;
    std::int64_t loops = 0;
  };
  [[nodiscard]] std::int64_t steps_per_loop() const;
  [[nodiscard]] std::int64_t step_of_round(std::int64_t index) const;
  [[nodiscard]] std::int64_t chunk_of_loop(const RingPart& part, std::int64_t loop) const;
  [[nodiscard]] Rank ring_neighbour(int channel, int position, int distance) const;

  const Communicator& communicator_;
  Collective kind_;
  int n_;
  Rank root_;
  std::int64_t hops_ = 0;
  std::int64_t block_;  // bytes of one rank's block, all-gather and reduce-scatter
  std::vector<RingPart> parts_;
  std::vector<int> used_;  // channels with data; none for a lone rank, which sends nothing
};

}  // namespace weft::coll
