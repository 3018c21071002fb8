// Lower bounds of a plan's iteration time and of its memory, known before it is simulated.
//
// Time. A stage's compute stream is serial: every microbatch's passes take what pass_profile.h says, at the clock that such a
// load leaves (clock.h). Its microbatches wait for the first one to come through the stages before, and what the last one
// leaves goes back through them, unless the schedule puts weight gradients there (models/workloads §3):
//
//   T >= max over stages s of  sum_{q < q_s} f_q + sum over chunks of m (f + b) + sum_{q < q_s} b_q + optimizer
//
// where q_s is the first position of the model that s holds. Gradients and parameters of replicas, on links that all their
// collectives share, take no less than one after another, C: FSDP's all step long, beside kernels that they slow; the others'
// but for what the schedule runs before the last gather and after the first reduction. Gathers bring into nodes what reductions
// bring out, and as much leaves nodes as comes into them: a node's NICs carry the sum of both.
//
// Groups lie as those of the rank that leaves its node most do; where stages lie unlike, on its stage alone. Passes that run
// together hide their messages and are slowed by the experts': C seconds of these, beside the kernels that mind least, take
// C (1 - 1 / f) from them. Passes that the schedule runs alone, while a pipeline fills and drains, wait for theirs.
//
// The clock is that of a step at full clock, which is taken to be no longer than the slowed one and 1 %. A bound counts as such
// with a margin of 0.1 % for groups that lie alike and yet not quite on the links.
//
// Memory. States in closed form and the activations of the microbatches that are under way at once in the schedule's order,
// without what lives for one operation: a plan that does not fit by this does not fit.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/network/cluster.h"
#include "sim/planning/plan_search/group_places.h"
#include "sim/planning/plan_search/layer_repeats.h"
#include "sim/planning/plan_search/pass_profile.h"
#include "sim/planning/plan_search/space.h"
#include "sim/scenario/scenario.h"
#include "sim/workloads/kernels/clock.h"
#include "sim/workloads/kernels/kernel_times.h"
#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/replay/group_costs.h"

namespace weft::plan {

// Times that collectives are taken to last.
enum class CollectiveTimes : std::uint8_t {
  kRun,       // as long as they run alone, beside the kernels that they slow: a closer bound, which takes runs of collectives
  kLinkRate,  // no less than their bytes take on all links of a GPU, or of its node where they leave it
};

// Lower bounds of one plan, seconds. The plain one leaves out what FSDP's gathers and reductions share; its distance from the
// step is more alike over plans, so estimates are made of it.
struct PlanTimes {
  double bound = 0;
  double plain = 0;
};

class PlanBounds {
 public:
  // All must outlive it; the scenario's workload does not count. `group_runs`: shared_runs(scenario), or null.
  PlanBounds(const PlanSpace& space, const scenario::Scenario& scenario, std::shared_ptr<work::GroupRuns> group_runs = nullptr,
             CollectiveTimes collectives = CollectiveTimes::kRun);

  [[nodiscard]] double seconds(const PlanCandidate& candidate) { return times(candidate).bound; }
  [[nodiscard]] PlanTimes times(const PlanCandidate& candidate);
  // Estimates what a plan takes whose PlanTimes::plain is that, for the order in which plans are tried. It is no bound.
  [[nodiscard]] static double estimate(const PlanCandidate& candidate, double plain_seconds);
  // Returns the bytes on the rank that holds most.
  [[nodiscard]] double memory_bytes(const PlanCandidate& candidate);
  [[nodiscard]] double capacity_bytes() const { return capacity_; }

 private:
  // Pieces at one clock, summed up to each layer: passes of a chunk are differences.
  struct Sums {
    std::vector<PassPair> before;   // of layers [0, l)
    std::vector<PassPair> entries;  // of layer l: `entry` alone
    PassPair embedding;
    PassPair head;
  };
  struct Profile {
    std::unique_ptr<PassProfile> passes;
    std::map<std::pair<int, bool>, Sums> at;  // by hundredths of slow-down, and whether collectives slow kernels
  };
  using Key = std::tuple<int, int, int, int, std::int64_t, int, bool, int, std::vector<int>>;
  using LiveKey = std::tuple<std::string, int, int, int, bool>;
  // Gathers and reductions of one microbatch of a layer under FSDP: slot of the group, kind, bytes.
  struct ShardCall {
    bool experts = false;
    coll::Collective kind = coll::Collective::kAllGather;
    Bytes bytes;
    bool operator==(const ShardCall&) const = default;
  };
  using ShardCalls = std::vector<std::vector<ShardCall>>;  // by layer

  struct Position {
    std::int64_t first = 0;  // layers
    std::int64_t last = 0;
    std::vector<int> stages;  // that hold it
  };
  struct ChunkPasses {
    double forwards = 0;
    double backwards = 0;
    // A backward pass that is cut in two counts once, as the part that comes first.
    void count(work::PipelinePass pass) {
      if (pass == work::PipelinePass::kForward) {
        ++forwards;
      } else if (pass != work::PipelinePass::kBackwardWeight) {
        ++backwards;
      }
    }
  };
  struct Stream {
    double seconds = 0;
    double calls = 0;
    int ctas = 0;
    void add(const PassProfile::Cost& cost, double times);
  };
  struct Stage {
    std::vector<std::size_t> positions;
    double tensor = 0;  // that tensor cores at their peak rate would take, over the step
    // FSDP's gathers and reductions, each on a stream of their own: seconds, and the fewest thread blocks of one.
    Stream gathers;
    Stream reductions;
    double shard_seconds = 0;               // that all of these take at the least
    double shard_alone = 0;                 // that the longest of them takes, without what they share
    double sync_seconds = 0;                // else: gradients and parameters
    std::vector<ChunkPasses> between = {};  // between synchronisations, by chunk; empty: not asked for yet
  };
  // A candidate, laid out.
  struct Layout;

  // Without `places` collectives take no less than inside a node.
  Profile& profile_of(const PlanCandidate& candidate, const GroupPlaces* places);
  const GroupPlaces& places_of(const PlanCandidate& candidate, const work::ParallelPlan& plan, bool first_stage_only);
  // A microbatch of the model that repeats_ shortens.
  [[nodiscard]] work::Program one_microbatch(const PlanCandidate& candidate, work::DataParallelism kind,
                                             std::int64_t microbatches) const;
  const Sums& sums_at(Profile& profile, int hundredths, bool contends);
  const ShardCalls& shard_calls_of(const PlanCandidate& candidate);
  [[nodiscard]] PassProfile::Cost cost_in(const work::ParallelPlan& plan, const std::vector<Rank>& ranks, coll::Collective kind,
                                          Bytes bytes, std::int64_t element_size);
  [[nodiscard]] PassProfile::Cost cost_at_link_rate(const work::ParallelPlan& plan, const std::vector<Rank>& ranks,
                                                    coll::Collective kind, Bytes bytes, bool knows_places) const;
  [[nodiscard]] DeviceId device_of(const work::ParallelPlan& plan, Rank rank) const;
  // Returns the cost of FSDP's calls: alone, or shared with the groups of the stage that do the same.
  const PassProfile::Cost& shard_cost(const work::ParallelPlan& plan, const ShardCall& call);
  // All that a node sends and receives at the links' full rate; `ranks`: the first of as many groups as there are ranks between
  // two of its members.
  [[nodiscard]] double wire_seconds(const work::ParallelPlan& plan, const std::vector<Rank>& ranks, double bytes) const;
  // Returns how long a node's NICs take for what all groups of the stage bring in, or out; 0 where they lie unlike.
  [[nodiscard]] double fabric_seconds(const work::ParallelPlan& plan, const std::vector<Rank>& ranks, double bytes) const;
  Layout layout_of(const PlanCandidate& candidate);
  void add_synchronisation(const PlanCandidate& candidate, Layout& layout);
  // A bound if the step takes as long as assumed: the longer, the less its load and the higher the clock.
  double seconds_at(Layout& layout, double assumed_seconds, bool plain);
  double fixed_point(Layout& layout, bool plain);
  [[nodiscard]] double slowed_beside(const Pass& kernels, double messages, int ctas) const;
  [[nodiscard]] double slowed_by_shards(const Stage& stage, const Pass& kernels, double waits) const;
  [[nodiscard]] double slowed_plainly(const Stage& stage, double waits) const;
  [[nodiscard]] double between_synchronisation(Layout& layout, int stage, const std::vector<PassPair>& passes) const;
  // Passes of a step that run with no other, by stage and chunk (bound_overlap.cpp).
  const std::vector<std::vector<ChunkPasses>>& passes_alone(const work::ParallelPlan& plan,
                                                            const work::PipelineSchedule& schedule,
                                                            const work::PipelineShape& shape);
  // Microbatch chunks under way at once, by stage.
  const std::vector<double>& live_chunks(const work::TrainingSetup& setup);

  const PlanSpace& space_;
  const net::Cluster& cluster_;
  CollectiveTimes collectives_;
  LayerRepeats repeats_;
  work::KernelTimes times_;
  work::GpuPower power_;
  work::PowerSpread spread_;
  work::ContentionCosts contention_;
  work::GroupCosts costs_;
  double capacity_ = 0;
  double gpu_rate_ = 0;   // bytes/s out of a GPU, all links
  double node_rate_ = 0;  // bytes/s out of a node; 0: no fabric
  double nic_rate_ = 0;   // bytes/s into a GPU through its own NICs; 0: no fabric
  bool unicast_ = true;   // no switch adds up or copies: as much leaves nodes as comes into them
  std::map<Key, Profile> profiles_;
  using ShardKey = std::tuple<int, int, int, int, int, bool, int, std::int64_t, int>;
  std::map<ShardKey, PassProfile::Cost> shard_costs_;
  std::map<std::tuple<int, int, int, int, int>, ShardCalls> shard_calls_;
  std::map<LiveKey, std::vector<double>> live_;
  std::map<LiveKey, std::vector<std::vector<ChunkPasses>>> alone_;
  std::map<std::tuple<int, int, int, int, int, int, int>, GroupPlaces> places_;
};

}  // namespace weft::plan
