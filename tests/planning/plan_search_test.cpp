// The search of plans beside the simulation of all of them: 16 GPUs and models of a few layers, so that every valid plan can be
// simulated. Both simulate a step with the same settings, those of `weft run`: flow fidelity, folded, two iterations.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/planning/plan_search/bound.h"
#include "sim/planning/plan_search/families.h"
#include "sim/planning/plan_search/search.h"
#include "sim/workloads/model/model_reader.h"
#include "sim/workloads/parallel/pipeline_schedule.h"
#include "sim/workloads/parallel/plan_reader.h"

namespace weft::plan {
namespace {

constexpr int kGpus = 16;

scenario::Scenario nodes_of(const std::string& cluster_file, int nodes) {
  Diagnostics diagnostics;
  scenario::Overrides overrides;
  overrides.sets = {{"nodes", std::to_string(nodes)}};
  net::Cluster cluster = scenario::load_cluster(WEFT_SOURCE_DIR + cluster_file, overrides, diagnostics);
  diagnostics.throw_if_any();
  return {"plan", std::move(cluster), {}, {}, {}, {}, {}, {}};
}

scenario::Scenario two_nodes() { return nodes_of("/configs/clusters/dgx_h100.yaml", 2); }

// The first layers of a shipped model: as wide, so that some plans do not fit.
PlanSpace space_of(const std::string& model, std::int64_t layers, std::int64_t batch) {
  Diagnostics diagnostics;
  PlanSpace space;
  space.setup.model = work::read_model(work::load_model_file(WEFT_SOURCE_DIR "/configs/models/" + model), diagnostics);
  diagnostics.throw_if_any();
  space.setup.model.layers = layers;
  space.setup.batch = {.global = batch, .micro = 1, .sequence = 4096};
  space.gpus = kGpus;
  return space;
}

class Patient final : public PlanSearchObserver {
 public:
  void on_state(const PlanProgress&) override {}
  [[nodiscard]] bool stop() const override { return false; }
};

// No budget: what ends the search is proof.
PlanSearchSettings unlimited() {
  PlanSearchSettings settings;
  settings.budget_seconds = 0;
  settings.plan_seconds = std::numeric_limits<double>::infinity();
  settings.plan_operations = std::numeric_limits<std::uint64_t>::max();
  return settings;
}

// Every plan of the axes' products that a scenario's checks let pass, found without the search's own shortcuts.
std::vector<PlanCandidate> every_plan(const PlanSpace& space) {
  const ConfigNode nowhere = ConfigNode::parse("{}", "plan", "workload");
  const bool has_experts = space.setup.model.moe.experts > 0;
  std::vector<PlanCandidate> plans;
  const auto offer = [&](PlanCandidate candidate) {
    work::ParallelPlan& plan = candidate.plan;
    const bool is_dual = plan.schedule.starts_with("dualpipe");
    plan.sequence_parallel = plan.tensor > 1;
    plan.overlap_expert = is_dual && plan.expert > 1 && plan.zero != 3;
    work::TrainingSetup setup = setup_of(space, candidate);
    if (setup.batch.global % (candidate.micro * plan.data) != 0) return;
    Diagnostics diagnostics;
    work::check_plan(nowhere, setup.model, plan, setup.batch, kGpus, diagnostics);
    if (diagnostics.errors().empty() && work::training_refusal(setup).empty()) plans.push_back(std::move(candidate));
  };
  const auto with_batches = [&](PlanCandidate candidate) {
    work::ParallelPlan& plan = candidate.plan;
    for (const auto& [zero, kind] : {std::pair{0, work::DataParallelism::kMegatron},
                                     {1, work::DataParallelism::kDistributedOptimizer},
                                     {3, work::DataParallelism::kFsdp}}) {
      if (zero > 0 && plan.data == 1) continue;  // nothing to shard over
      plan.zero = zero;
      plan.data_parallelism = kind;
      for (candidate.micro = 1; candidate.micro <= 8; candidate.micro *= 2) {
        for (const work::Recompute recompute : {work::Recompute::kNone, work::Recompute::kSelective, work::Recompute::kFull}) {
          plan.recompute = recompute;
          offer(candidate);
        }
      }
    }
  };
  const auto with_schedules = [&](PlanCandidate candidate) {
    for (const std::string& schedule : work::pipeline_schedules().names()) {
      if (schedule == "gpipe" || (candidate.plan.pipeline == 1 && schedule != "1f1b")) continue;
      candidate.plan.schedule = schedule;
      for (const int chunks : {1, 2, 4, 8}) {
        if (chunks > 1 && schedule != "interleaved_1f1b") continue;
        candidate.plan.virtual_stages = chunks;
        with_batches(candidate);
      }
    }
  };
  for (int tensor = 1; tensor <= 8; ++tensor) {
    for (int pipeline = 1; pipeline <= kGpus; ++pipeline) {
      for (int data = 1; data <= kGpus; ++data) {
        if (tensor * pipeline * data != kGpus || pipeline > space.setup.model.layers) continue;
        PlanCandidate candidate;
        candidate.plan.tensor = tensor;
        candidate.plan.pipeline = pipeline;
        candidate.plan.data = data;
        for (int expert = 1; expert <= (has_experts ? kGpus : 1); ++expert) {
          candidate.plan.expert = expert;
          for (const int expert_tensor : {0, 1}) {
            if (expert_tensor == 1 && (expert == 1 || tensor == 1)) continue;  // the same as 0
            if (data * tensor % (expert * (expert_tensor == 1 ? 1 : tensor)) != 0) continue;
            candidate.plan.expert_tensor = expert_tensor;
            with_schedules(candidate);
          }
        }
      }
    }
  }
  return plans;
}

struct Simulated {
  PlanCandidate candidate;
  std::optional<scenario::TrainingResult> run;  // none: it does not fit
};

std::vector<Simulated> simulate_all(const scenario::Scenario& scenario, const PlanSpace& space,
                                    const std::vector<PlanCandidate>& candidates) {
  std::vector<Simulated> all;
  const std::shared_ptr<work::GroupRuns> group_runs = scenario::shared_runs(scenario);
  for (const PlanCandidate& candidate : candidates) {
    all.push_back({candidate, std::nullopt});
    scenario::TrainingResult run = scenario::run_training(scenario, setup_of(space, candidate), nullptr, nullptr, group_runs);
    if (run.memory.fits()) all.back().run = std::move(run);
  }
  return all;
}

struct SmallCase {
  const char* name;
  const char* model;
  std::int64_t layers;
  std::int64_t batch;
};

void PrintTo(const SmallCase& one, std::ostream* out) { *out << one.model << ", " << one.layers << " layers"; }

class PlanSearchTest : public ::testing::TestWithParam<SmallCase> {
 protected:
  const scenario::Scenario scenario_ = two_nodes();
  const PlanSpace space_ = space_of(GetParam().model, GetParam().layers, GetParam().batch);
};

TEST_P(PlanSearchTest, ListsEveryPlanThatTheChecksLetPassOnce) {
  std::multiset<std::string> listed;
  for (const PlanCandidate& candidate : enumerate_plans(space_, [] { return false; }).plans) {
    listed.insert(plan_text(candidate));
  }
  std::multiset<std::string> expected;
  for (const PlanCandidate& candidate : every_plan(space_)) expected.insert(plan_text(candidate));
  EXPECT_EQ(listed, expected);
}

TEST_P(PlanSearchTest, FindsWhatTheSimulationOfEveryPlanFinds) {
  const std::vector<Simulated> all = simulate_all(scenario_, space_, every_plan(space_));
  PlanBounds bounds{space_, scenario_};
  PlanBounds at_link_rate{space_, scenario_, nullptr, CollectiveTimes::kLinkRate};
  FamilyCosts families{space_, scenario_};
  std::vector<Duration> times;
  std::size_t too_big = 0;
  for (const Simulated& one : all) {
    SCOPED_TRACE(plan_text(one.candidate));
    if (!one.run) {
      ++too_big;
      continue;
    }
    times.push_back(one.run->iteration);
    EXPECT_LE(bounds.seconds(one.candidate), one.run->iteration.seconds());
    EXPECT_LE(at_link_rate.seconds(one.candidate), one.run->iteration.seconds());
    PlanFamily family;
    families.bound(one.candidate, family);
    EXPECT_LE(family.bound_seconds, one.run->iteration.seconds());
    family.least_again = one.candidate.plan.recompute;
    family.runs_together = one.candidate.plan.overlap_expert;
    families.bound_closer(one.candidate, family);
    EXPECT_LE(family.bound_seconds, one.run->iteration.seconds());
    // A plan is ruled out unseen where this share of its closed form is more than the GPU has.
    EXPECT_LE(bounds.memory_bytes(one.candidate) * 0.95, one.run->memory.total());
  }
  std::ranges::sort(times);

  Patient observer;
  PlanSearchSettings settings = unlimited();
  settings.certain = 3;
  const PlanSearchResult found = search_plans(scenario_, space_, settings, cost_of(scenario_.cluster.topology, {}), observer);
  ASSERT_GE(found.proven(), 3u);
  for (std::size_t row = 0; row < 3; ++row) EXPECT_EQ(found.plans[row].iteration, times[row]) << "row " << row;
  for (const RankedPlan& row : found.plans) {
    const auto same =
        std::ranges::find_if(all, [&](const Simulated& one) { return plan_text(one.candidate) == plan_text(row.candidate); });
    ASSERT_NE(same, all.end());
    ASSERT_TRUE(same->run.has_value());
    EXPECT_EQ(row.iteration, same->run->iteration) << plan_text(row.candidate);
    EXPECT_EQ(row.digest, same->run->run.digest) << plan_text(row.candidate);
  }
  // Alone, as `weft run` has it, the best step is the same.
  const scenario::TrainingResult alone = scenario::run_training(scenario_, setup_of(space_, found.plans.front().candidate));
  EXPECT_EQ(found.plans.front().digest, alone.run.digest);
  // It did so without simulating most of them, and none is lost.
  EXPECT_EQ(found.simulated + found.pruned + found.too_big, all.size());
  EXPECT_LE(found.too_big, too_big);
  EXPECT_GT(found.pruned, all.size() / 2);
}

struct IdleCase {
  const char* name;
  const char* cluster;
  const char* model;
  std::int64_t layers;
  std::int64_t batch;
};

void PrintTo(const IdleCase& one, std::ostream* out) { *out << one.cluster << ", " << one.model; }

// Three nodes, whose GPUs may be left idle, so that groups straddle nodes in some plans and lie within them in others.
class IdlePlanSearchTest : public ::testing::TestWithParam<IdleCase> {};

TEST_P(IdlePlanSearchTest, FindsWhatTheSimulationOfEveryPlanFinds) {
  const scenario::Scenario scenario = nodes_of(GetParam().cluster, 3);
  PlanSpace space = space_of(GetParam().model, GetParam().layers, GetParam().batch);
  space.gpus = static_cast<int>(scenario.cluster.topology.endpoints().size());
  space.nodes = 3;
  space.node_gpus = space.gpus / space.nodes;
  space.may_idle = true;
  const std::vector<PlanCandidate> plans = enumerate_plans(space, [] { return false; }).plans;
  std::set<int> placed;
  for (const PlanCandidate& candidate : plans) placed.insert(candidate.per_node);
  EXPECT_GT(placed.size(), 1u);
  PlanBounds bounds{space, scenario};
  PlanBounds at_link_rate{space, scenario, nullptr, CollectiveTimes::kLinkRate};
  FamilyCosts families{space, scenario};
  Duration best = Duration::max();
  for (const Simulated& one : simulate_all(scenario, space, plans)) {
    SCOPED_TRACE(plan_text(one.candidate));
    if (!one.run) continue;
    best = std::min(best, one.run->iteration);
    EXPECT_LE(bounds.seconds(one.candidate), one.run->iteration.seconds());
    EXPECT_LE(at_link_rate.seconds(one.candidate), one.run->iteration.seconds());
    PlanFamily family;
    families.bound(one.candidate, family);
    EXPECT_LE(family.bound_seconds, one.run->iteration.seconds());
    family.least_again = one.candidate.plan.recompute;
    family.runs_together = one.candidate.plan.overlap_expert;
    families.bound_closer(one.candidate, family);
    EXPECT_LE(family.bound_seconds, one.run->iteration.seconds());
  }
  Patient observer;
  const PlanSearchResult found = search_plans(scenario, space, unlimited(), cost_of(scenario.cluster.topology, {}), observer);
  ASSERT_GE(found.proven(), 1u);
  EXPECT_EQ(found.plans.front().iteration, best) << plan_text(found.plans.front().candidate);
  EXPECT_EQ(found.simulated + found.pruned + found.too_big, plans.size());
}

INSTANTIATE_TEST_SUITE_P(ThreeNodes, IdlePlanSearchTest,
                         ::testing::Values(IdleCase{"DomainsOf8", "/configs/clusters/dgx_h100.yaml", "llama3_70b.yaml", 3, 3},
                                           IdleCase{"DomainsOf12", "/tests/data/planning/domains_of_12.yaml",
                                                    "mixtral_8x7b.yaml", 3, 3}),
                         [](const auto& one) { return std::string{one.param.name}; });

// Three nodes of 12: 9 of each are 27 ranks, of which the tenth is the first one of the second node.
TEST(PlanSpace, PlansMayLeaveGpusOfEachNodeIdle) {
  PlanSpace space = space_of("llama3_70b.yaml", 2, 54);
  space.gpus = 36;
  space.node_gpus = 12;
  space.nodes = 3;
  const auto placed = [&] {
    std::set<int> found;
    for (const PlanCandidate& candidate : enumerate_plans(space, [] { return false; }).plans) {
      EXPECT_EQ(candidate.plan.world(), candidate.per_node == 0 ? space.gpus : 3 * candidate.per_node);
      found.insert(candidate.per_node);
    }
    return found;
  };
  EXPECT_EQ(placed(), std::set<int>{0});
  space.may_idle = true;
  // Batch 54 = 2 x 27: the factors 7, 5 and 11 of 21, 30 and 33 ranks are not in it, nor in two layers or 64 heads.
  const std::set<int> found = placed();
  EXPECT_TRUE(found.contains(9));
  EXPECT_FALSE(found.contains(7) || found.contains(11));
  EXPECT_FALSE(found.contains(6));  // half of a node
  PlanCandidate candidate;
  candidate.per_node = 9;
  candidate.plan.data = 27;
  const std::vector<std::int32_t> places = setup_of(space, candidate).plan.rank_map;
  ASSERT_EQ(places.size(), 27u);
  EXPECT_EQ(places[8], 8);
  EXPECT_EQ(places[9], 12);
  EXPECT_EQ(places[26], 32);
}

// Three or six of their layers stand for all eight (layer_repeats.h). One plan in some is simulated, of every kind.
TEST(PlanBounds, OfLayersThatRepeatAreBelowTheirSteps) {
  const scenario::Scenario scenario = two_nodes();
  const std::shared_ptr<work::GroupRuns> group_runs = scenario::shared_runs(scenario);
  for (const char* model : {"llama3_8b.yaml", "deepseek_v3.yaml"}) {
    PlanSpace space = space_of(model, 8, 32);
    space.setup.model.moe.experts = std::min<std::int64_t>(space.setup.model.moe.experts, 32);  // fits
    PlanBounds bounds{space, scenario, group_runs};
    PlanBounds at_link_rate{space, scenario, nullptr, CollectiveTimes::kLinkRate};
    FamilyCosts families{space, scenario};
    const std::vector<PlanCandidate> plans = enumerate_plans(space, [] { return false; }).plans;
    constexpr std::size_t kSimulated = 16;
    std::size_t near = 0;
    std::size_t run = 0;
    for (std::size_t i = 0; i < plans.size(); i += plans.size() / kSimulated) {
      SCOPED_TRACE(plan_text(plans[i]));
      const auto found = scenario::run_training(scenario, setup_of(space, plans[i]), nullptr, nullptr, group_runs);
      if (!found.memory.fits()) continue;
      const double step = found.iteration.seconds();
      const PlanTimes times = bounds.times(plans[i]);
      EXPECT_LE(times.bound, step);
      EXPECT_LE(times.plain, times.bound);
      EXPECT_LE(at_link_rate.seconds(plans[i]), step);
      PlanFamily family;
      families.bound(plans[i], family);
      const double plain = family.bound_seconds;
      family.runs_together = plans[i].plan.overlap_expert;
      families.bound_closer(plans[i], family);
      EXPECT_GE(family.bound_seconds, plain);
      EXPECT_LE(family.bound_seconds, step);
      const double closer = family.bound_seconds;
      family.least_again = plans[i].plan.recompute;
      families.bound_closer(plans[i], family);
      EXPECT_GE(family.bound_seconds, closer);
      EXPECT_LE(family.bound_seconds, step);
      ++run;
      near += times.bound > 0.7 * step ? 1 : 0;
    }
    EXPECT_GT(run, kSimulated / 2);
    EXPECT_GT(near, run / 2) << "bounds that prove little";
  }
}

class Impatient final : public PlanSearchObserver {
 public:
  void on_state(const PlanProgress&) override {}
  [[nodiscard]] bool stop() const override { return true; }
};

TEST(PlanSearch, ThatIsStoppedAtOnceSaysThatNothingIsProven) {
  const scenario::Scenario scenario = two_nodes();
  Impatient observer;
  const PlanSearchResult found =
      search_plans(scenario, space_of("llama3_70b.yaml", 2, 8), unlimited(), cost_of(scenario.cluster.topology, {}), observer);
  EXPECT_TRUE(found.interrupted);
  EXPECT_TRUE(found.plans.empty());
  EXPECT_EQ(found.proven(), 0u);
  EXPECT_FALSE(found.bounds_all);
}

INSTANTIATE_TEST_SUITE_P(SmallCases, PlanSearchTest,
                         ::testing::Values(SmallCase{"Dense", "llama3_70b.yaml", 2, 8},
                                           SmallCase{"Experts", "mixtral_8x7b.yaml", 2, 8}),
                         [](const auto& one) { return std::string{one.param.name}; });

}  // namespace
}  // namespace weft::plan
