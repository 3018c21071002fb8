// What is known of a plan before it is simulated: a lower bound of its iteration time, and of its memory.
//
// Time. No GPU can be faster than its compute stream, which is serial: its kernels alone at the clock that such a load leaves
// (clock.h), and the collectives that wait for the kernel before them and hold up the one behind them, at the full rate of the
// links out of a GPU or a node. A stage's m microbatches wait for the first one to come through the stages before, and what
// the last one leaves goes back through them, unless the schedule puts weight gradients there (workload-models §3):
//
//   T >= max over stages s of  sum_{q < q_s} f_q + sum over chunks of m (f + b) + sum_{q < q_s} b_q
//
// where q_s is the first position of the model that s holds. Everything else (gradients, optimizer, messages between stages,
// launches) is counted as hidden. Times of a layer come from the program that would be simulated, generated once per
// (tensor, context, expert, micro, recompute), without a pipeline.
//
// Memory. States in closed form and the activations of the microbatches that are under way at once in the schedule's order,
// without what lives for one operation: a plan that does not fit by this does not fit.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/network/cluster.h"
#include "sim/planning/plan_search/space.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel_times.h"

namespace weft::plan {

class PlanBounds {
 public:
  PlanBounds(const PlanSpace& space, const net::Cluster& cluster);

  [[nodiscard]] double seconds(const PlanCandidate& candidate);
  // Of the rank that holds most.
  [[nodiscard]] double memory_bytes(const PlanCandidate& candidate);
  [[nodiscard]] double capacity_bytes() const { return capacity_; }

 private:
  // Seconds of one microbatch; `tensor`: of it in GEMMs and attention, which a lower clock slows.
  struct Pass {
    double seconds = 0;
    double tensor = 0;
  };
  struct Piece {
    Pass forward;
    Pass backward;
  };
  struct Profile {
    std::vector<Piece> layers;
    Piece embedding;
    Piece head;
  };
  using Key = std::tuple<int, int, int, int, std::int64_t, int, bool>;
  using LiveKey = std::tuple<std::string, int, int, int, bool>;

  const Profile& profile_of(const PlanCandidate& candidate);
  [[nodiscard]] Profile make_profile(const PlanCandidate& candidate) const;
  [[nodiscard]] double collective_seconds(const work::Program& program, const work::Operation& op) const;
  // Microbatch chunks under way at once, by stage.
  const std::vector<double>& live_chunks(const work::TrainingSetup& setup);

  const PlanSpace& space_;
  const net::Cluster& cluster_;
  work::KernelTimes times_;
  work::ClockRule clock_;
  double capacity_ = 0;
  double gpu_rate_ = 0;   // bytes/s out of a GPU, all links
  double node_rate_ = 0;  // bytes/s out of a node; 0: no fabric
  std::map<Key, Profile> profiles_;
  std::map<LiveKey, std::vector<double>> live_;
};

}  // namespace weft::plan
