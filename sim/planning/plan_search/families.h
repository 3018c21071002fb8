// Families of plans: those that place the same groups on the same GPUs and run the same kernels between the same collectives.
// Each gets a lower bound and an estimate of its step in closed form, without any simulation, so that a search looks at the
// plans of likely families first and at those of hopeless ones never.
//
// Bound. A rank's kernels of one microbatch at full clock, no recomputation, K over all layers, are spread over p stages, and
// so are the bytes X that its collectives must bring into nodes whose NICs take R bytes/s:
//
//   T >= m max(K, X / R) / p
//
// where X is the mean over nodes of all ranks there, on the stage whose groups leave their nodes least.
//
// Closer. A family whose bound keeps a proof open gets one that sees more: what kernels wait for collectives at the rate of a
// GPU's links, but where passes of a member run together, and the highest clock that so much work in T leaves, as for a plan
// (bound.h). K is then what the mean stage has, and K and the slow-down both grow with a stage's load. K has what
// all members that fit compute again.
//
// Estimate. Kernels and collectives one after another, these at the full rate of the GPU inside a node and at its share of the
// node's NICs outside, on the stage whose groups lie worst, and half of the bubble of 1F1B: (m + (p - 1) / 2) (K + W) / p.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/planning/plan_search/layer_repeats.h"
#include "sim/planning/plan_search/pass_profile.h"
#include "sim/planning/plan_search/space.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/parallel/rank_groups.h"
#include "sim/workloads/training/group_slots.h"

namespace weft::plan {

struct PlanFamily {
  std::vector<std::size_t> members;  // of the list
  double bound_seconds = 0;
  double plain_seconds = 0;  // bound() gave
  bool is_close = false;     // bound_seconds is bound_closer()'s
  // look_at_members()
  work::Recompute least_again = work::Recompute::kNone;  // that all members compute again
  bool runs_together = false;                            // passes of some member do, so that they hide their collectives
  double estimate_seconds = 0;
};

// In order of their first members; no bounds yet.
[[nodiscard]] std::vector<PlanFamily> families_of(const std::vector<PlanCandidate>& plans);

void look_at_members(const std::vector<PlanCandidate>& plans, PlanFamily& family);

class FamilyCosts {
 public:
  // All must outlive it; the scenario's workload does not count.
  FamilyCosts(const PlanSpace& space, const scenario::Scenario& scenario);

  // Returns those of a plan's family.
  void bound(const PlanCandidate& candidate, PlanFamily& family);
  // The closer bound, of the members that were looked at.
  void bound_closer(const PlanCandidate& candidate, PlanFamily& family);

 private:
  // Collectives of one microbatch on one rank over all layers.
  struct Traffic {
    work::GroupSlot slot = work::GroupSlot::kTensor;
    coll::Collective kind = coll::Collective::kAllReduce;
    double bytes = 0;
  };
  // Sums over all layers, seconds.
  struct PassSums {
    double kernels = 0;
    double waits = 0;   // these and what they wait for collectives
    double tensor = 0;  // that tensor cores at their full rate would take
  };
  struct PassCosts {
    double kernels = 0;  // seconds at full clock
    std::vector<Traffic> traffic;
    std::unique_ptr<PassProfile> profile;
    std::map<int, PassSums> at;  // by hundredths of slow-down
  };
  // One stage's groups: shares of a call's bytes that leave the node, by rank.
  struct Leaving {
    double most = 0;
    double sum = 0;
  };
  PassCosts& pass_of(const PlanCandidate& candidate, const work::TrainingSetup& setup, work::Recompute again);
  [[nodiscard]] std::unique_ptr<PassProfile> profile_of(const work::RankProgram& program, const work::GroupSlots& slots) const;
  const PassSums& sums_at(PassCosts& pass, int hundredths) const;
  const std::vector<Leaving>& leaving(const PlanCandidate& candidate, const work::ParallelPlan& plan, const Traffic& traffic);

  const PlanSpace& space_;
  const net::Cluster& cluster_;
  work::KernelTimes times_;
  work::GpuPower power_;
  work::PowerSpread spread_;
  LayerRepeats repeats_;
  double gpu_rate_;   // bytes/s out of a GPU
  double node_rate_;  // bytes/s out of a node; 0: no fabric
  std::map<std::tuple<int, int, int, int, std::int64_t, int, work::Recompute>, PassCosts> passes_;
  // By ranks of a node, axes, slot, and whether all data of a rank leave.
  std::map<std::tuple<int, int, int, int, int, int, int, work::GroupSlot, bool>, std::vector<Leaving>> leaving_;
};

// Slots whose collectives stand between the kernels of a microbatch, and the ranks of such a group.
inline constexpr std::array kPassSlots{work::GroupSlot::kTensor, work::GroupSlot::kContext, work::GroupSlot::kExpert,
                                       work::GroupSlot::kExpertTensor};
[[nodiscard]] std::vector<Rank> pass_group(const work::RankGrid& grid, work::GroupSlot slot, Rank rank);

// Bytes a second that all links out of this device carry, and out of the first host to the fabric.
[[nodiscard]] double rate_out_of(const net::Topology& topology, DeviceId device);
[[nodiscard]] double rate_out_of_host(const net::Topology& topology);

}  // namespace weft::plan
