#include "sim/planning/plan_search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/parallel.h"
#include "sim/planning/plan_search/bound.h"
#include "sim/planning/plan_search/families.h"
#include "sim/planning/plan_search/search_clock.h"
#include "sim/scenario/cluster_gpu.h"

namespace weft::plan {
namespace {

// The closed form of memory rounds where the program does not: what is within this of the limit is left to the simulation.
constexpr double kMemoryTolerance = 0.95;
// Operations a layer has in one microbatch of one rank, about; for the limit only.
constexpr double kOperationsPerLayer = 60;

// Hands a step's simulators to the clock that stops them.
class PlanWatch final : public scenario::RunObserver {
 public:
  PlanWatch(SearchClock& clock, double limit) : clock_{clock}, until_{clock.seconds() + limit} {}
  ~PlanWatch() { on_end(); }
  PlanWatch(const PlanWatch&) = delete;
  PlanWatch& operator=(const PlanWatch&) = delete;
  void on_progress(const Simulator&, std::uint64_t, std::uint64_t) override {}
  void on_begin(Simulator& simulator) override {
    simulator_ = &simulator;
    clock_.begin(simulator, std::max(1e-3, until_ - clock_.seconds()));
  }
  void on_end() override {
    if (simulator_ != nullptr) clock_.end(*simulator_);
    simulator_ = nullptr;
  }

 private:
  SearchClock& clock_;
  double until_;
  Simulator* simulator_ = nullptr;
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

// Plans that are simulated, or families taken up, before the best time found is looked at again.
constexpr std::size_t kRound = 4;

// How far estimates of one kind are below what comes of them, so that two kinds can be compared: the mean of the ratios.
class EstimateRatio {
 public:
  void note(double estimate, double found) {
    if (estimate <= 0) return;
    sum_ += found / estimate;
    ++count_;
  }
  [[nodiscard]] double value() const { return count_ == 0 ? 1.0 : sum_ / count_; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

bool fits_closed_form(double bytes, double capacity) { return bytes * kMemoryTolerance + scenario::kReservedBytes <= capacity; }

class Search {
 public:
  Search(const scenario::Scenario& scenario, const PlanSpace& space, const PlanSearchSettings& settings,
         const CostedCluster& costed, SearchClock& clock, PlanProgress& progress, std::mutex& progress_mutex)
      : scenario_{scenario},
        space_{space},
        settings_{settings},
        costed_{costed},
        clock_{clock},
        progress_{progress},
        progress_mutex_{progress_mutex},
        group_runs_{scenario::shared_runs(scenario)},
        capacity_bytes_{PlanBounds{space, scenario, group_runs_}.capacity_bytes()} {
    group_runs_->set_watch(&clock);
  }

  PlanSearchResult run() {
    result_.layers = space_.setup.model.layers;
    list_ = listed();
    bound_families();
    while (goes_on() && (!families_.empty() || !waiting_.empty())) {
      show();
      const double family = families_.empty() ? kNever : families_.begin()->first * of_families_.value() * of_plans_.value();
      const double plan = waiting_.empty() ? kNever : waiting_.begin()->first * of_plans_.value();
      family < plan ? take_up_families() : simulate_plans();
    }
    finish();
    return std::move(result_);
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  PlanList listed() {
    PlanList list = enumerate_plans(space_, [this] { return clock_.is_over(); });
    result_.enumerated = list.enumerated;
    result_.refused = list.refused();
    result_.refusals = std::move(list.refusals);
    if (clock_.is_over()) result_.bounds_all = false;
    if (!list.plans.empty() || clock_.is_over()) return list;
    std::string reasons;
    for (const auto& [reason, count] : result_.refusals) reasons += fmt::format("\n  {:>8}  {}", count, reason);
    throw ConfigError(fmt::format("no valid plan: all {} for {} GPUs are refused{}", list.enumerated, space_.gpus, reasons));
  }

  void bound_families() {
    FamilyCosts costs{space_, scenario_};
    for (PlanFamily& family : families_of(list_.plans)) {
      if (!clock_.is_over()) costs.bound(list_.plans[family.members.front()], family);
      families_.emplace(family.estimate_seconds, std::move(family));
    }
  }

  struct PlanBound {
    bool is_known = false;  // false: the search ended before
    double memory = 0;
    std::optional<double> seconds = {};  // none: it does not fit
  };

  // Each family has bounds of its own, so that they are the same on any number of threads. What a collective takes by itself is
  // everybody's.
  [[nodiscard]] std::vector<PlanBound> bounds_of(const PlanFamily& family) {
    std::vector<PlanBound> found(family.members.size());
    PlanBounds bounds{space_, scenario_, group_runs_};
    for (std::size_t i = 0; i < found.size() && !clock_.is_over(); ++i) {
      const PlanCandidate& candidate = list_.plans[family.members[i]];
      try {
        PlanBound bound{.is_known = true, .memory = bounds.memory_bytes(candidate)};
        if (fits_closed_form(bound.memory, capacity_bytes_)) {
          bound.seconds = std::max(bounds.seconds(candidate), family.bound_seconds);
        }
        found[i] = bound;
      } catch (const work::RunStopped&) {
        return found;
      }
    }
    return found;
  }

  void take_up_families() {
    std::vector<PlanFamily> round;
    while (!families_.empty() && round.size() < kRound) {
      PlanFamily family = std::move(families_.extract(families_.begin()).mapped());
      if (is_pruned(family_score(family))) {
        count_pruned(family_score(family), family.members.size());
      } else {
        round.push_back(std::move(family));
      }
    }
    std::vector<std::vector<PlanBound>> bounds(round.size());
    on_threads(round.size(), settings_.threads, [&](std::size_t i) { bounds[i] = bounds_of(round[i]); });
    for (std::size_t f = 0; f < round.size(); ++f) {
      double likeliest = kNever;
      for (std::size_t i = 0; i < round[f].members.size(); ++i) {
        likeliest = std::min(likeliest, take_up(round[f], list_.plans[round[f].members[i]], bounds[f][i]));
      }
      if (likeliest < kNever) of_families_.note(round[f].estimate_seconds, likeliest);
    }
  }

  // Returns the estimate of the plan; infinite where it is none.
  double take_up(const PlanFamily& family, const PlanCandidate& candidate, const PlanBound& bound) {
    if (!bound.is_known) {
      leave(family_score(family), 1);
      return kNever;
    }
    if (result_.smallest_bytes == 0 || bound.memory < result_.smallest_bytes) result_.smallest_bytes = bound.memory;
    if (!bound.seconds) {
      ++result_.too_big;
      return kNever;
    }
    const double seconds = *bound.seconds;
    const double estimate = std::max(PlanBounds::estimate(candidate, seconds), family.estimate_seconds);
    waiting_.emplace(
        estimate, Bounded{candidate, seconds, bound.memory, score_of(run_cost_of(candidate, {}, seconds), seconds), estimate});
    return estimate;
  }

  void simulate_plans() {
    std::vector<Bounded> round;
    while (!waiting_.empty() && round.size() < kRound) {
      Bounded bounded = std::move(waiting_.extract(waiting_.begin()).mapped());
      if (is_pruned(bounded.score)) {
        count_pruned(bounded.score, 1);
      } else {
        round.push_back(std::move(bounded));
      }
    }
    simulate(round);
  }

  // Plans behind the best are pruned, however the search ended.
  void finish() {
    for (const auto& [estimate, family] : families_) {
      const double score = family_score(family);
      is_pruned(score) ? count_pruned(score, family.members.size()) : leave(score, family.members.size());
    }
    for (const auto& [estimate, plan] : waiting_) {
      is_pruned(plan.score) ? count_pruned(plan.score, 1) : leave(plan.score, 1);
    }
    if (!result_.interrupted && !result_.out_of_budget && result_.plans.empty() && result_.too_big == list_.plans.size()) {
      throw ConfigError(fmt::format(
          "no plan fits: of {} valid ones for {} GPUs the smallest needs {:.1f} GB and {:.1f} GB for context and buffers, and "
          "a "
          "GPU has {:.1f} GB\n  note: more GPUs would help (--gpus, or --set nodes=N)",
          list_.plans.size(), space_.gpus, result_.smallest_bytes / 1e9, scenario::kReservedBytes / 1e9,
          capacity_bytes_ / 1e9));
    }
    Digest digest;
    for (const RankedPlan& plan : result_.plans) digest.add(plan.digest);
    result_.digest = digest.value();
    result_.wall_seconds = clock_.seconds();
  }

  void show() {
    PlanProgress now{.simulated = result_.simulated, .waiting = waiting_.size()};
    double least = kNever;
    for (const auto& [estimate, family] : families_) {
      now.waiting += family.members.size();
      least = std::min(least, family_score(family));
    }
    for (const auto& [estimate, plan] : waiting_) least = std::min(least, plan.score);
    if (const std::optional<double> rest = result_.least()) least = std::min(least, *rest);
    if (!result_.plans.empty()) {
      now.best = plan_text(result_.plans.front().candidate);
      now.iteration = result_.plans.front().iteration;
      now.score = result_.plans.front().score;
    }
    now.least = least;
    const std::lock_guard lock{progress_mutex_};
    progress_ = now;
  }

  [[nodiscard]] double family_score(const PlanFamily& family) const {
    return score_of(run_cost_of(list_.plans[family.members.front()], {}, family.bound_seconds), family.bound_seconds);
  }

  [[nodiscard]] RunCost run_cost_of(const PlanCandidate& candidate, const Activity& activity, double seconds) const {
    const work::Batch& batch = space_.setup.batch;
    return costed_.run(activity, seconds, static_cast<double>(batch.global) * static_cast<double>(batch.sequence),
                       std::max<std::int64_t>(0, costed_.bill.gpus() - candidate.plan.world()));
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
    if (clock_.is_interrupted()) result_.interrupted = true;
    if (clock_.is_late() || (settings_.budget_plans > 0 && result_.simulated >= settings_.budget_plans))
      result_.out_of_budget = true;
    return !result_.interrupted && !result_.out_of_budget;
  }

  // It cannot get among those that are to be certain, and the table is full.
  [[nodiscard]] bool is_pruned(double score) const {
    if (!settings_.prunes || result_.plans.size() < std::max(settings_.top, settings_.certain)) return false;
    return score > result_.plans[settings_.certain - 1].score;
  }

  static void note_least(std::uint64_t& count, double& least, double score, std::uint64_t more) {
    least = count == 0 ? score : std::min(least, score);
    count += more;
  }
  void count_pruned(double score, std::uint64_t plans) { note_least(result_.pruned, result_.pruned_least, score, plans); }
  void leave(double score, std::uint64_t plans) { note_least(result_.left, result_.left_least, score, plans); }

  [[nodiscard]] bool is_too_long(const work::TrainingSetup& setup) const {
    const double operations = kOperationsPerLayer * static_cast<double>(setup.model.layers) *
                              static_cast<double>(setup.batch.microbatches(setup.plan)) * setup.plan.context;
    return operations > static_cast<double>(settings_.plan_operations);
  }

  [[nodiscard]] Outcome outcome_of(const Bounded& bounded) const {
    const work::TrainingSetup setup = setup_of(space_, bounded.candidate);
    if (is_too_long(setup)) return {.run = {}, .is_too_long = true};
    Outcome outcome;
    if (clock_.is_over()) return outcome;
    try {
      PlanWatch watch{clock_, settings_.plan_seconds};
      outcome.run = scenario::run_training(scenario_, setup, &watch, nullptr, group_runs_);
    } catch (const work::RunStopped&) {
      return outcome;
    }
    if (outcome.run->run.interrupted) {
      outcome.run.reset();
      outcome.is_too_long = !clock_.is_over();
    } else if (!outcome.run->memory.fits()) {
      outcome.run.reset();
      outcome.is_too_big = true;
    }
    return outcome;
  }

  void simulate(const std::vector<Bounded>& round) {
    std::vector<Outcome> outcomes(round.size());
    on_threads(round.size(), settings_.threads, [&](std::size_t i) { outcomes[i] = outcome_of(round[i]); });
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (outcomes[i].run) {
        ++result_.simulated;
        of_plans_.note(round[i].estimate, outcomes[i].run->iteration.seconds());
        keep(round[i], *outcomes[i].run);
      } else if (outcomes[i].is_too_big) {
        ++result_.too_big;
        ++result_.too_big_simulated;
      } else if (outcomes[i].is_too_long) {
        note_least(result_.too_long, result_.too_long_least, round[i].score, 1);
      } else {
        leave(round[i].score, 1);
      }
    }
  }

  void keep(const Bounded& bounded, const scenario::TrainingResult& run) {
    scenario::RunResult whole;
    whole.training = run;
    const double seconds = run.iteration.seconds();
    const RunCost cost = run_cost_of(bounded.candidate, activity_of(whole), seconds);
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
  SearchClock& clock_;
  PlanProgress& progress_;  // shown by the clock's thread
  std::mutex& progress_mutex_;
  std::shared_ptr<work::GroupRuns> group_runs_;  // by the bounds and by all simulations
  double capacity_bytes_;                        // of a GPU
  PlanList list_;
  std::multimap<double, PlanFamily> families_;  // by estimate
  std::multimap<double, Bounded> waiting_;
  EstimateRatio of_families_;
  EstimateRatio of_plans_;
  PlanSearchResult result_;
};

bool some_plan_fits(const PlanSpace& space, const scenario::Scenario& scenario, const SearchClock& clock) {
  PlanBounds bounds{space, scenario};
  const PlanList list = enumerate_plans(space, [&] { return clock.is_over(); });
  return std::ranges::any_of(list.plans, [&](const PlanCandidate& candidate) {
    return bounds.memory_bytes(candidate) + scenario::kReservedBytes <= bounds.capacity_bytes();
  });
}

// More layers of the same kind, in steps of the layers there are: 1 x, 2 x, ... The widest step that fits.
void grow(PlanSpace& space, const scenario::Scenario& scenario, const SearchClock& clock) {
  const std::int64_t step = space.setup.model.layers;
  constexpr std::int64_t kMost = 32'000;  // layers are tags of 16 bits
  std::int64_t fits = 0;
  std::int64_t too_many = kMost / step + 1;
  for (std::int64_t factor = 1; factor < too_many && !clock.is_over();) {
    space.setup.model.layers = factor * step;
    (some_plan_fits(space, scenario, clock) ? fits : too_many) = factor;
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

std::optional<double> PlanSearchResult::least() const {
  std::optional<double> found;
  const auto offer = [&](std::uint64_t count, double score) {
    if (count > 0) found = std::min(found.value_or(score), score);
  };
  offer(left, left_least);
  offer(too_long, too_long_least);
  offer(pruned, pruned_least);
  if (!bounds_all) found = 0;
  return found;
}

PlanSearchResult search_plans(const scenario::Scenario& scenario, PlanSpace space, const PlanSearchSettings& settings,
                              const CostedCluster& costed, PlanSearchObserver& observer) {
  PlanProgress progress;
  std::mutex progress_mutex;
  SearchClock* running = nullptr;
  SearchClock clock{settings.budget_seconds, [&] { return observer.stop(); },
                    [&] {
                      PlanProgress now;
                      {
                        const std::lock_guard lock{progress_mutex};
                        if (running == nullptr) return;
                        now = progress;
                        now.seconds = running->seconds();
                      }
                      observer.on_state(now);
                    }};
  {
    const std::lock_guard lock{progress_mutex};
    running = &clock;
  }
  if (settings.objective == PlanObjective::kLargestModel) grow(space, scenario, clock);
  return Search{scenario, space, settings, costed, clock, progress, progress_mutex}.run();
}

}  // namespace weft::plan
