#include "sim/planning/plan_search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/parallel.h"
#include "sim/planning/error_range.h"
#include "sim/planning/plan_search/bound.h"
#include "sim/planning/plan_search/families.h"
#include "sim/planning/plan_search/search_clock.h"
#include "sim/planning/plan_search/search_queue.h"
#include "sim/planning/plan_search/step_shares.h"
#include "sim/scenario/cluster_gpu.h"
#include "sim/scenario/step_program.h"

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

// Plans whose estimates err alike.
enum Kind : std::uint8_t { kFsdp, kOverlapped, kStraddling, kOther, kKinds };

struct Bounded {
  PlanCandidate candidate;
  double seconds = 0;
  double plain = 0;  // that estimates are made of
  double memory = 0;
  double score = 0;                 // of the bound
  double estimate = 0;              // seconds
  double family = 0;                // estimate of its family
  bool has_program_memory = false;  // false: `memory` is the closed form
};

// The fate of one candidate.
struct Outcome {
  std::optional<scenario::TrainingResult> run;
  bool waits = false;  // for its bound to bring it up again
  bool is_too_big = false;
  bool is_too_long = false;
};

// Plans that are simulated or bounded closer, and families that are taken up, before the best time found is looked at again.
constexpr std::size_t kRound = 4;
constexpr std::size_t kFamilyRound = 16;
// A family takes about a thousandth of a simulation.
constexpr std::size_t kLeastFamilyRound = 256;
// Families that could be faster than the best plan by more than this are bounded closer before anything else.
constexpr double kWideGap = 0.25;

// How far estimates of one kind are below what comes of them, so that two kinds can be compared: the mean of the ratios.
class EstimateRatio {
 public:
  void note(double estimate, double found) {
    if (estimate <= 0) return;
    sum_ += found / estimate;
    ++count_;
  }
  [[nodiscard]] bool is_empty() const { return count_ == 0; }
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
        bounds_{space, scenario, group_runs_, CollectiveTimes::kLinkRate},
        family_costs_{space, scenario},
        capacity_bytes_{bounds_.capacity_bytes()} {
    group_runs_->set_watch(&clock);
  }

  PlanSearchResult run() {
    result_.layers = space_.setup.model.layers;
    list_ = listed();
    bound_families();
    // The likeliest first, then in turn with what keeps the proof open.
    for (bool by_bound = false; goes_on() && waits(); by_bound = !by_bound && first_kind() == kKinds) {
      show();
      if (first_kind() != kKinds || !narrow_gap()) advance(by_bound);
    }
    finish();
    return std::move(result_);
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  [[nodiscard]] Kind kind_of(const PlanCandidate& candidate) const {
    if (!stages_lie_alike(space_, candidate)) return kStraddling;
    if (candidate.plan.data_parallelism == work::DataParallelism::kFsdp) return kFsdp;
    return candidate.plan.overlap_expert ? kOverlapped : kOther;
  }

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
    for (PlanFamily& family : families_of(list_.plans)) {
      const PlanCandidate& first = list_.plans[family.members.front()];
      if (!clock_.is_over()) family_costs_.bound(first, family);
      family.plain_seconds = family.bound_seconds;
      const double estimate = score_of(first, family.estimate_seconds);
      const double bound = score_of(first, family.bound_seconds);
      families_[kind_of(first)].add(estimate, bound, std::move(family));
    }
  }

  [[nodiscard]] bool waits_of(Kind kind) const {
    return !families_[kind].empty() || !listed_[kind].empty() || !waiting_[kind].empty();
  }
  [[nodiscard]] bool waits() const {
    return waits_of(kFsdp) || waits_of(kOverlapped) || waits_of(kStraddling) || waits_of(kOther);
  }

  // The kind whose likeliest plans are simulated before any other: one by one those whose bounds count most, which tells how
  // far its estimates err, those first that take least to simulate. kKinds: none.
  [[nodiscard]] Kind first_kind() const {
    for (const Kind kind : {kFsdp, kOther}) {
      if (of_plans_[kind].is_empty() && waits_of(kind)) return kind;
    }
    return kKinds;
  }

  bool narrow_gap() {
    if (result_.plans.empty()) return false;
    const auto widest = std::ranges::min_element(families_, {}, &SearchQueue<PlanFamily>::least_bound);
    if (widest->least_bound() >= (1 - kWideGap) * result_.plans.front().score) return false;
    take_up_families(*widest, true);
    return true;
  }

  // Looks closer at the likeliest that is left, or at what has the least bound.
  void advance(bool by_bound) {
    double least = kNever;
    std::size_t kind = 0;
    int level = 0;
    const Kind first = first_kind();
    const auto offer = [&](const auto& queue, std::size_t k, int at, double ratio) {
      if (first != kKinds && k != first) return;
      const double value = by_bound ? queue.least_bound() : queue.least_estimate() * ratio;
      if (value >= least) return;
      least = value;
      kind = k;
      level = at;
    };
    for (std::size_t k = 0; k < kKinds; ++k) {
      const double plans = of_plans_[k].value();
      const double bounds = of_bounds_[k].value() * plans;
      offer(waiting_[k], k, 2, plans);
      offer(listed_[k], k, 1, bounds);
      offer(families_[k], k, 0, of_families_[k].value() * bounds);
    }
    if (level == 0) return take_up_families(families_[kind], by_bound);
    if (level == 1) return bound_closer(taken(listed_[kind], by_bound));
    simulate(taken(waiting_[kind], by_bound, plans_in_budget()));
  }

  [[nodiscard]] std::uint64_t plans_in_budget() const {
    return settings_.budget_plans == 0 ? kRound : settings_.budget_plans - result_.simulated;
  }

  // A round of plans that are not ruled out yet.
  std::vector<Bounded> taken(SearchQueue<Bounded>& queue, bool by_bound, std::uint64_t most = kRound) {
    std::vector<Bounded> round;
    while (!queue.empty() && round.size() < std::min<std::uint64_t>(kRound, most)) {
      Bounded bounded = queue.take(by_bound);
      if (is_pruned(bounded.score)) {
        count_pruned(bounded.score, 1);
      } else {
        round.push_back(std::move(bounded));
      }
    }
    return round;
  }

  // Bounds plans of likely families with collectives at the links' rate, which takes no simulation.
  void take_up_families(SearchQueue<PlanFamily>& queue, bool by_bound) {
    const std::size_t most = by_bound ? kLeastFamilyRound : kFamilyRound;
    for (std::size_t taken = 0; !queue.empty() && taken < most; ++taken) {
      PlanFamily family = queue.take(by_bound);
      const PlanCandidate& first = list_.plans[family.members.front()];
      if (by_bound && !family.is_close) {
        bound_family_closer(queue, std::move(family));
        continue;
      }
      if (const double score = score_of(first, family.bound_seconds); is_pruned(score)) {
        count_pruned(score, family.members.size());
        continue;
      }
      double likeliest = kNever;
      for (const std::size_t member : family.members) likeliest = std::min(likeliest, take_up(family, list_.plans[member]));
      if (likeliest < kNever) of_families_[kind_of(first)].note(family.estimate_seconds, likeliest);
    }
  }

  // A family waits again with its closer bound, which may keep no proof open: that of the members that fit.
  void bound_family_closer(SearchQueue<PlanFamily>& queue, PlanFamily family) {
    std::erase_if(family.members,
                  [&](std::size_t member) { return !clock_.is_over() && !memory_that_fits(list_.plans[member]); });
    if (family.members.empty()) return;
    look_at_members(list_.plans, family);
    const PlanCandidate& first = list_.plans[family.members.front()];
    family_costs_.bound_closer(first, family);
    const double estimate = score_of(first, family.estimate_seconds);
    const double bound = score_of(first, family.bound_seconds);
    queue.add(estimate, bound, std::move(family));
  }

  // Bytes by the closed form; nothing, and counted, where they do not fit.
  std::optional<double> memory_that_fits(const PlanCandidate& candidate) {
    const double bytes = bounds_.memory_bytes(candidate);
    if (result_.smallest_bytes == 0 || bytes < result_.smallest_bytes) result_.smallest_bytes = bytes;
    if (fits_closed_form(bytes, capacity_bytes_)) return bytes;
    ++result_.too_big;
    return std::nullopt;
  }

  // Returns the estimate of the plan; infinite where it is none.
  double take_up(const PlanFamily& family, const PlanCandidate& candidate) {
    if (clock_.is_over()) {
      leave(score_of(candidate, family.bound_seconds), 1);
      return kNever;
    }
    const std::optional<double> memory = memory_that_fits(candidate);
    if (!memory) return kNever;
    Bounded plan{.candidate = candidate, .memory = *memory};
    const PlanTimes times = bounds_.times(candidate);
    plan.seconds = std::max(times.bound, family.bound_seconds);
    plan.plain = std::max(times.plain, family.plain_seconds);
    plan.score = score_of(candidate, plan.seconds);
    plan.family = family.estimate_seconds;
    plan.estimate = estimate_of(plan);
    listed_[kind_of(candidate)].add(likely_score(plan), plan.score, plan);
    return plan.estimate;
  }

  // Families know what collectives take that leave nodes, unless passes that run together hide it.
  [[nodiscard]] double estimate_of(const Bounded& plan) const {
    const double alone = PlanBounds::estimate(plan.candidate, plan.plain);
    return kind_of(plan.candidate) == kOverlapped ? alone : std::max(alone, plan.family);
  }

  [[nodiscard]] bool is_tight(const Bounded& plan) const { return plan.memory + scenario::kReservedBytes > capacity_bytes_; }

  // A plan that fits by the tolerance alone is unlikely to: only its bound brings it to a simulation.
  [[nodiscard]] double likely_score(const Bounded& plan) const {
    return is_tight(plan) ? std::numeric_limits<double>::max() : score_of(plan.candidate, plan.estimate);
  }

  // Each plan has bounds of its own, so that they are the same on any number of threads. What a collective takes by itself is
  // everybody's.
  void bound_closer(const std::vector<Bounded>& round) {
    std::vector<PlanTimes> times(round.size());  // 0: the search ended before
    on_threads(round.size(), settings_.threads, [&](std::size_t i) {
      if (clock_.is_over()) return;
      try {
        times[i] = PlanBounds{space_, scenario_, group_runs_}.times(round[i].candidate);
      } catch (const work::RunStopped&) {
        return;
      }
    });
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (times[i].bound == 0) {
        leave(round[i].score, 1);
        continue;
      }
      Bounded plan = round[i];
      const Kind kind = kind_of(plan.candidate);
      plan.seconds = std::max(plan.seconds, times[i].bound);
      plan.plain = std::max(plan.plain, times[i].plain);
      plan.score = score_of(plan.candidate, plan.seconds);
      plan.estimate = estimate_of(plan);
      of_bounds_[kind].note(round[i].estimate, plan.estimate);
      waiting_[kind].add(likely_score(plan), plan.score, plan);
    }
  }

  // Plans behind the best are pruned, however the search ended.
  void finish() {
    const auto drop = [&](double score, std::uint64_t plans) {
      is_pruned(score) ? count_pruned(score, plans) : leave(score, plans);
    };
    for (std::size_t k = 0; k < kKinds; ++k) {
      while (!families_[k].empty()) {
        const double score = families_[k].least_bound();
        drop(score, families_[k].take(true).members.size());
      }
      for (SearchQueue<Bounded>* queue : {&listed_[k], &waiting_[k]}) {
        while (!queue->empty()) drop(queue->take(true).score, 1);
      }
    }
    if (!result_.interrupted && !result_.out_of_budget && result_.plans.empty() && result_.too_big == list_.plans.size()) {
      throw ConfigError(fmt::format(
          "no plan fits: of {} valid ones for {} GPUs the smallest needs {:.1f} GB and {:.1f} GB for context and buffers, "
          "and a GPU has {:.1f} GB\n  note: more GPUs would help (--gpus, or --set nodes=N)",
          list_.plans.size(), space_.gpus, result_.smallest_bytes / 1e9, scenario::kReservedBytes / 1e9,
          capacity_bytes_ / 1e9));
    }
    Digest digest;
    for (const RankedPlan& plan : result_.plans) digest.add(plan.digest);
    result_.digest = digest.value();
    result_.wall_seconds = clock_.seconds();
  }

  void show() {
    PlanProgress now{
        .simulated = result_.simulated,
        .waiting = list_.plans.size() - result_.simulated - result_.too_big - result_.too_long - result_.pruned - result_.left};
    double least = kNever;
    for (std::size_t k = 0; k < kKinds; ++k) {
      least = std::min({least, families_[k].least_bound(), listed_[k].least_bound(), waiting_[k].least_bound()});
    }
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

  [[nodiscard]] double score_of(const PlanCandidate& candidate, double seconds) const {
    return score_of(run_cost_of(candidate, {}, seconds), seconds);
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

  [[nodiscard]] Outcome outcome_of(Bounded& bounded) const {
    const work::TrainingSetup setup = setup_of(space_, bounded.candidate);
    if (is_too_long(setup)) return {.run = {}, .is_too_long = true};
    Outcome outcome;
    if (clock_.is_over()) return outcome;
    // Its program tells more of its memory than the closed form, in a fraction of the simulation's time.
    if (!std::exchange(bounded.has_program_memory, true) && !is_tight(bounded)) {
      std::vector<std::string> notes;
      bounded.memory =
          std::max(bounded.memory, static_cast<double>(work::peak_in_order(scenario::step_program(scenario_, setup, notes))));
      if (is_tight(bounded)) {
        outcome.waits = true;
        return outcome;
      }
    }
    try {
      // The first plan that is simulated may take the whole budget: nothing else would come of it.
      const double limit =
          result_.plans.empty() ? std::max(settings_.plan_seconds, settings_.budget_seconds) : settings_.plan_seconds;
      PlanWatch watch{clock_, limit};
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

  void simulate(std::vector<Bounded> round) {
    std::vector<Outcome> outcomes(round.size());
    on_threads(round.size(), settings_.threads, [&](std::size_t i) { outcomes[i] = outcome_of(round[i]); });
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (outcomes[i].run) {
        ++result_.simulated;
        of_plans_[kind_of(round[i].candidate)].note(round[i].estimate, outcomes[i].run->iteration.seconds());
        keep(round[i], *outcomes[i].run);
      } else if (outcomes[i].waits) {
        waiting_[kind_of(round[i].candidate)].add(likely_score(round[i]), round[i].score, round[i]);
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
                    .error = step_error(scenario_.cluster, space_.setup.model, exposed_share(run)),
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
  PlanBounds bounds_;                            // at the links' rate
  FamilyCosts family_costs_;
  double capacity_bytes_;  // of a GPU
  PlanList list_;
  // By kind: families, plans bounded at the links' rate, and closer.
  std::array<SearchQueue<PlanFamily>, kKinds> families_;
  std::array<SearchQueue<Bounded>, kKinds> listed_;
  std::array<SearchQueue<Bounded>, kKinds> waiting_;
  std::array<EstimateRatio, kKinds> of_families_;
  std::array<EstimateRatio, kKinds> of_bounds_;
  std::array<EstimateRatio, kKinds> of_plans_;
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
