#include "sim/planning/plan_search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/parallel.h"
#include "sim/planning/plan_search/bound.h"
#include "sim/scenario/cluster_gpu.h"

namespace weft::plan {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// The closed form of memory rounds where the program does not: what is within this of the limit is left to the simulation.
constexpr double kMemoryTolerance = 0.95;
// Operations a layer has in one microbatch of one rank, about; for the limit only.
constexpr double kOperationsPerLayer = 60;

// Stops a simulation at the user's wish, or at a plan's limit.
class PlanWatch final : public scenario::RunObserver {
 public:
  PlanWatch(const PlanSearchObserver& observer, double limit) : observer_{observer}, limit_{limit}, begin_{Clock::now()} {}
  void on_progress(const Simulator&, std::uint64_t, std::uint64_t) override {
    is_late_ = since(begin_) > limit_;
    if (simulator_ != nullptr && (is_late_ || observer_.stop())) simulator_->request_stop();
  }
  void on_begin(Simulator& simulator) override { simulator_ = &simulator; }
  void on_end() override { simulator_ = nullptr; }

 private:
  const PlanSearchObserver& observer_;
  double limit_;
  Clock::time_point begin_;
  Simulator* simulator_ = nullptr;
  bool is_late_ = false;
};

// Returns what takes most of the mean GPU's step: compute, exposed communication or waiting.
std::pair<std::string, double> bottleneck_of(const scenario::TrainingResult& result) {
  const double step = result.iteration.seconds();
  std::pair<std::string, double> most{"bubble", result.mean.bubble.seconds() / step};
  const auto offer = [&](std::string_view name, double seconds) {
    if (seconds / step > most.second) most = {std::string{name}, seconds / step};
  };
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    const auto category = static_cast<work::Category>(c);
    const Duration time = work::is_compute(category) ? result.mean.busy[c] : result.mean.exposed[c];
    offer(work::to_string(category), time.seconds());
  }
  offer("skew", result.mean.skew.seconds());
  offer("idle", result.mean.idle.seconds());
  return most;
}

double exposed_share(const scenario::TrainingResult& result) {
  Duration exposed;
  for (std::size_t c = 0; c < work::kCategories; ++c) {
    if (work::is_communication(static_cast<work::Category>(c))) exposed += result.mean.exposed[c];
  }
  return exposed.seconds() / result.iteration.seconds();
}

struct Bounded {
  PlanCandidate candidate;
  double seconds = 0;
  double memory = 0;
  double score = 0;     // of the bound
  double estimate = 0;  // seconds
};

// The fate of one candidate.
struct Outcome {
  std::optional<scenario::TrainingResult> run;
  bool is_too_big = false;
  bool is_too_long = false;
};

// Plans that are simulated before the best time found is looked at again.
constexpr std::size_t kRound = 4;

class Search {
 public:
  Search(const scenario::Scenario& scenario, const PlanSpace& space, const PlanSearchSettings& settings,
         const CostedCluster& costed, PlanSearchObserver& observer)
      : scenario_{scenario},
        space_{space},
        settings_{settings},
        costed_{costed},
        observer_{observer},
        group_runs_{scenario::shared_runs(scenario)},
        capacity_bytes_{PlanBounds{space, scenario, group_runs_}.capacity_bytes()},
        begin_{Clock::now()} {}

  PlanSearchResult run() {
    result_.layers = space_.setup.model.layers;
    bound_all(listed());
    std::ranges::stable_sort(waiting_, {}, &Bounded::estimate);
    std::size_t next = 0;
    while (next < waiting_.size() && goes_on()) {
      std::vector<const Bounded*> round;
      for (; next < waiting_.size() && round.size() < kRound; ++next) {
        if (is_pruned(waiting_[next])) {
          count_pruned(waiting_[next]);
        } else {
          round.push_back(&waiting_[next]);
        }
      }
      observer_.on_state(result_, waiting_.size() - next);
      simulate(round);
    }
    // Plans behind the best are pruned, however the search ended.
    for (; next < waiting_.size(); ++next) is_pruned(waiting_[next]) ? count_pruned(waiting_[next]) : leave(waiting_[next]);
    Digest digest;
    for (const RankedPlan& plan : result_.plans) digest.add(plan.digest);
    result_.digest = digest.value();
    result_.wall_seconds = since(begin_);
    return std::move(result_);
  }

 private:
  PlanList listed() {
    PlanList list = enumerate_plans(space_, [this] { return observer_.stop(); });
    result_.enumerated = list.enumerated;
    result_.refused = list.refused();
    result_.refusals = std::move(list.refusals);
    if (!list.plans.empty() || observer_.stop()) return list;
    std::string reasons;
    for (const auto& [reason, count] : result_.refusals) reasons += fmt::format("\n  {:>8}  {}", count, reason);
    throw ConfigError(fmt::format("no valid plan: all {} for {} GPUs are refused{}", list.enumerated, space_.gpus, reasons));
  }

  struct PlanBound {
    bool is_known = false;  // false: the user stopped the search before
    double memory = 0;
    std::optional<double> seconds = {};  // none: it does not fit
  };

  // On all threads. Plans with the same groups inside a stage go together, and in order: each such set has bounds of its own,
  // so that they are the same on any number of threads. What a collective takes by itself is everybody's.
  [[nodiscard]] std::vector<PlanBound> bounds_of(const std::vector<PlanCandidate>& plans) {
    std::map<std::array<int, 4>, std::vector<std::size_t>> by_groups;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const work::ParallelPlan& plan = plans[i].plan;
      by_groups[{plan.tensor, plan.context, plan.expert, plan.expert_tensor_size()}].push_back(i);
    }
    std::vector<const std::vector<std::size_t>*> sets;
    for (const auto& [groups, members] : by_groups) sets.push_back(&members);
    std::vector<PlanBound> found(plans.size());
    const double limit = capacity_bytes_ - scenario::kReservedBytes;
    on_threads(sets.size(), settings_.threads, [&](std::size_t set) {
      PlanBounds bounds{space_, scenario_, group_runs_};
      for (const std::size_t i : *sets[set]) {
        if (observer_.stop()) return;
        found[i] = {.is_known = true, .memory = bounds.memory_bytes(plans[i])};
        if (found[i].memory * kMemoryTolerance <= limit) found[i].seconds = bounds.seconds(plans[i]);
      }
    });
    return found;
  }

  void bound_all(const PlanList& list) {
    const std::vector<PlanBound> bounds = bounds_of(list.plans);
    for (std::size_t i = 0; i < list.plans.size(); ++i) {
      const PlanCandidate& candidate = list.plans[i];
      const PlanBound& bound = bounds[i];
      if (!bound.is_known) {
        result_.interrupted = true;
        result_.bounds_all = false;
        continue;
      }
      if (result_.smallest_bytes == 0 || bound.memory < result_.smallest_bytes) result_.smallest_bytes = bound.memory;
      if (!bound.seconds) {
        ++result_.too_big;
        continue;
      }
      waiting_.push_back({candidate, *bound.seconds, bound.memory, score_of(run_cost_of({}, *bound.seconds), *bound.seconds),
                          PlanBounds::estimate(candidate, *bound.seconds)});
    }
    if (waiting_.empty() && !list.plans.empty()) {
      throw ConfigError(fmt::format(
          "no plan fits: of {} valid ones for {} GPUs the smallest needs {:.1f} GB and {:.1f} GB for context and buffers, and "
          "a "
          "GPU has {:.1f} GB\n  note: more GPUs would help (--gpus, or --set nodes=N)",
          list.plans.size(), space_.gpus, result_.smallest_bytes / 1e9, scenario::kReservedBytes / 1e9, capacity_bytes_ / 1e9));
    }
  }

  [[nodiscard]] RunCost run_cost_of(const Activity& activity, double seconds) const {
    const work::Batch& batch = space_.setup.batch;
    return costed_.run(activity, seconds, static_cast<double>(batch.global) * static_cast<double>(batch.sequence),
                       std::max<std::int64_t>(0, costed_.bill.gpus() - space_.gpus));
  }

  [[nodiscard]] double score_of(const RunCost& cost, double seconds) const {
    switch (settings_.objective) {
      case PlanObjective::kTokensPerDollar:
        return cost.usd_per_million_tokens().value_or(seconds);
      case PlanObjective::kTokensPerJoule:
        return cost.joules_per_token().value_or(seconds);
      case PlanObjective::kTime:
      case PlanObjective::kLargestModel:
        return seconds;
    }
    WEFT_CHECK(false);
  }

  [[nodiscard]] bool goes_on() {
    if (observer_.stop()) result_.interrupted = true;
    const bool late = settings_.budget_seconds > 0 && since(begin_) > settings_.budget_seconds;
    if (late || (settings_.budget_plans > 0 && result_.simulated >= settings_.budget_plans)) result_.out_of_budget = true;
    return !result_.interrupted && !result_.out_of_budget;
  }

  // It cannot get among those that are to be certain, and the table is full.
  [[nodiscard]] bool is_pruned(const Bounded& bounded) const {
    if (!settings_.prunes || result_.plans.size() < std::max(settings_.top, settings_.certain)) return false;
    return bounded.score > result_.plans[settings_.certain - 1].score;
  }

  static void note_least(std::uint64_t count, double& least, double score) {
    least = count == 1 ? score : std::min(least, score);
  }
  void count_pruned(const Bounded& bounded) { note_least(++result_.pruned, result_.pruned_least, bounded.score); }
  void leave(const Bounded& bounded) { note_least(++result_.left, result_.left_least, bounded.score); }

  [[nodiscard]] bool is_too_long(const work::TrainingSetup& setup) const {
    const double operations = kOperationsPerLayer * static_cast<double>(setup.model.layers) *
                              static_cast<double>(setup.batch.microbatches(setup.plan)) * setup.plan.context;
    return operations > static_cast<double>(settings_.plan_operations);
  }

  [[nodiscard]] Outcome outcome_of(const Bounded& bounded) const {
    const work::TrainingSetup setup = setup_of(space_, bounded.candidate);
    if (is_too_long(setup)) return {.run = {}, .is_too_long = true};
    PlanWatch watch{observer_, settings_.plan_seconds};
    Outcome outcome;
    outcome.run = scenario::run_training(scenario_, setup, &watch, nullptr, group_runs_);
    if (outcome.run->run.interrupted) {
      outcome.run.reset();
      outcome.is_too_long = !observer_.stop();
    } else if (!outcome.run->memory.fits()) {
      outcome.run.reset();
      outcome.is_too_big = true;
    }
    return outcome;
  }

  void simulate(const std::vector<const Bounded*>& round) {
    std::vector<Outcome> outcomes(round.size());
    on_threads(round.size(), settings_.threads, [&](std::size_t i) { outcomes[i] = outcome_of(*round[i]); });
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (outcomes[i].run) {
        ++result_.simulated;
        keep(*round[i], *outcomes[i].run);
      } else if (outcomes[i].is_too_big) {
        ++result_.too_big;
        ++result_.too_big_simulated;
      } else if (outcomes[i].is_too_long) {
        note_least(++result_.too_long, result_.too_long_least, round[i]->score);
      } else {
        result_.interrupted = true;
        leave(*round[i]);
      }
    }
  }

  void keep(const Bounded& bounded, const scenario::TrainingResult& run) {
    scenario::RunResult whole;
    whole.training = run;
    const double seconds = run.iteration.seconds();
    const RunCost cost = run_cost_of(activity_of(whole), seconds);
    auto [bottleneck, share] = bottleneck_of(run);
    RankedPlan made{.candidate = bounded.candidate,
                    .bound_seconds = bounded.seconds,
                    .closed_form_memory = bounded.memory,
                    .iteration = run.iteration,
                    .tokens_per_second = run.tokens_per_second,
                    .mfu = run.mfu,
                    .memory = run.memory,
                    .exposed_share = exposed_share(run),
                    .bottleneck = std::move(bottleneck),
                    .bottleneck_share = share,
                    .cost = cost,
                    .score = score_of(cost, seconds),
                    .digest = run.run.digest};
    const auto place = std::ranges::upper_bound(result_.plans, made.score, {}, &RankedPlan::score);
    result_.plans.insert(place, std::move(made));
  }

  const scenario::Scenario& scenario_;
  const PlanSpace& space_;
  const PlanSearchSettings& settings_;
  const CostedCluster& costed_;
  PlanSearchObserver& observer_;
  std::shared_ptr<work::GroupRuns> group_runs_;  // by the bounds and by all simulations
  double capacity_bytes_;                        // of a GPU
  Clock::time_point begin_;
  std::vector<Bounded> waiting_;
  PlanSearchResult result_;
};

bool some_plan_fits(const PlanSpace& space, const scenario::Scenario& scenario, const PlanSearchObserver& observer) {
  PlanBounds bounds{space, scenario};
  const PlanList list = enumerate_plans(space, [&] { return observer.stop(); });
  return std::ranges::any_of(list.plans, [&](const PlanCandidate& candidate) {
    return bounds.memory_bytes(candidate) + scenario::kReservedBytes <= bounds.capacity_bytes();
  });
}

// More layers of the same kind, in steps of the layers there are: 1 x, 2 x, ... The widest step that fits.
void grow(PlanSpace& space, const scenario::Scenario& scenario, const PlanSearchObserver& observer) {
  const std::int64_t step = space.setup.model.layers;
  constexpr std::int64_t kMost = 32'000;  // layers are tags of 16 bits
  std::int64_t fits = 0;
  std::int64_t too_many = kMost / step + 1;
  for (std::int64_t factor = 1; factor < too_many && !observer.stop();) {
    space.setup.model.layers = factor * step;
    (some_plan_fits(space, scenario, observer) ? fits : too_many) = factor;
    factor = too_many == kMost / step + 1 ? 2 * factor : (fits + too_many) / 2;
    if (factor <= fits) break;
    factor = std::min(factor, too_many - 1);
  }
  space.setup.model.layers = std::max<std::int64_t>(1, fits) * step;
}

}  // namespace

std::string_view to_string(PlanObjective objective) {
  switch (objective) {
    case PlanObjective::kTime:
      return "time";
    case PlanObjective::kTokensPerDollar:
      return "tokens_per_dollar";
    case PlanObjective::kTokensPerJoule:
      return "tokens_per_joule";
    case PlanObjective::kLargestModel:
      return "largest_model";
  }
  WEFT_CHECK(false);
}

std::size_t PlanSearchResult::proven() const {
  std::size_t rows = 0;
  const auto is_behind = [&](double score, std::uint64_t count, double least) { return count == 0 || least >= score; };
  for (; rows < plans.size(); ++rows) {
    const double score = plans[rows].score;
    if (!is_behind(score, left, left_least) || !is_behind(score, too_long, too_long_least)) break;
    if (!is_behind(score, pruned, pruned_least)) break;
  }
  return bounds_all ? rows : 0;
}

PlanSearchResult search_plans(const scenario::Scenario& scenario, PlanSpace space, const PlanSearchSettings& settings,
                              const CostedCluster& costed, PlanSearchObserver& observer) {
  if (settings.objective == PlanObjective::kLargestModel) grow(space, scenario, observer);
  return Search{scenario, space, settings, costed, observer}.run();
}

}  // namespace weft::plan
