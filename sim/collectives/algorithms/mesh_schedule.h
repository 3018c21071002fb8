// Every rank exchanges with every other at once: the full mesh and the parameter server. Private to algorithms/.
//
// Lane 0 takes in, in the order in which the others send; lane t sends to rank i + t (mod n). All-gather: own block to all.
// Reduce-scatter: block d to rank d, which adds up. All-reduce: the reduce-scatter (push), and once a rank has added up its
// block it sends it to all (pull), which lane n takes in.
#pragma once

#include <vector>

#include "sim/collectives/algorithms/parts.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"

namespace weft::coll {

class MeshSchedule final : public Schedule {
 public:
  MeshSchedule(int ranks, const CollectiveCall& call, const Choice& choice);

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] int channels() const override { return static_cast<int>(parts_.size()); }
  [[nodiscard]] int lanes(Rank, int) const override { return n_ + (kind_ == Collective::kAllReduce ? 1 : 0); }
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override;
  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override;

 private:
  [[nodiscard]] Part input(const Part& part, Rank block) const;   // of a rank's vector: what block `block` is made from
  [[nodiscard]] Part output(const Part& part, Rank block) const;  // where it goes
  [[nodiscard]] Part cut(const Part& part, Rank block) const;
  [[nodiscard]] Step take_in(Rank rank, const Part& part, std::int64_t index) const;
  [[nodiscard]] static Step receive(Rank peer, const Part& at, bool adds);

  Collective kind_;
  int n_;
  std::int64_t block_ = 0;  // bytes of one rank's block, all-gather and reduce-scatter
  std::vector<Part> parts_;
};

}  // namespace weft::coll
