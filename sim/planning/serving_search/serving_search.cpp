#include "sim/planning/serving_search/serving_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/core/parallel.h"
#include "sim/planning/plan_search/search_clock.h"

namespace weft::plan {
namespace {

// A round of simulations is looked at together, whatever the number of threads.
constexpr std::size_t kServingRound = 8;
constexpr std::int64_t kLeastRequests = 32;

std::int64_t requests_of(const ServingCandidate& candidate) { return std::max(kLeastRequests, kRounds * candidate.users); }

// Hands a run's simulator to the clock that stops it.
class ServingWatch final : public scenario::RunObserver {
 public:
  explicit ServingWatch(SearchClock& clock) : clock_{clock} {}
  ~ServingWatch() { on_end(); }
  ServingWatch(const ServingWatch&) = delete;
  ServingWatch& operator=(const ServingWatch&) = delete;
  void on_progress(const Simulator&, std::uint64_t, std::uint64_t) override {}
  void on_begin(Simulator& simulator) override {
    simulator_ = &simulator;
    clock_.begin(simulator);
  }
  void on_end() override {
    if (simulator_ != nullptr) clock_.end(*simulator_);
    simulator_ = nullptr;
  }

 private:
  SearchClock& clock_;
  Simulator* simulator_ = nullptr;
};

class ServingSearch {
 public:
  ServingSearch(const scenario::Scenario& scenario, const ServingSpace& space, const ServingSettings& settings,
                const CostedCluster& costed, SearchClock& clock, ServingProgress& progress, std::mutex& progress_mutex)
      : scenario_{scenario},
        space_{space},
        settings_{settings},
        costed_{costed},
        clock_{clock},
        progress_{progress},
        progress_mutex_{progress_mutex},
        group_runs_{scenario::shared_inference_runs(scenario)} {
    group_runs_->set_watch(&clock);
  }

  ServingSearchResult run() {
    std::vector<ServingCandidate> candidates = listed();
    std::vector<std::pair<double, double>> figures;
    for (const ServingCandidate& candidate : candidates) {
      figures.emplace_back(candidate.tokens_per_second, 1 / candidate.tpot_seconds);
    }
    const std::vector<std::size_t> order = by_fronts(figures);
    std::vector<const ServingCandidate*> round;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const ServingCandidate& candidate = candidates[order[i]];
      const std::size_t taken = result_.simulated + round.size();
      if (is_over() || (settings_.budget_plans > 0 && taken >= settings_.budget_plans)) {
        result_.left += order.size() - i;
        break;
      }
      round.push_back(&candidate);
      if (round.size() == kServingRound || taken + 1 == settings_.budget_plans) simulate(round);
      show(order.size());
    }
    simulate(round);
    finish();
    return std::move(result_);
  }

 private:
  std::vector<ServingCandidate> listed() {
    ServingList list;
    try {
      list = list_servings(scenario_, space_, group_runs_);
    } catch (const work::RunStopped&) {
      static_cast<void>(is_over());
      return {};
    }
    result_.engines = list.engines;
    result_.engines_too_big = list.engines_too_big;
    result_.candidates = list.candidates.size();
    if (list.candidates.empty()) {
      throw ConfigError(
          fmt::format("no engine holds one request: weights and cache of none of {} fit {} GPUs\n  note: --weights fp8, fp4 or "
                      "w4a16 takes less, and --set nodes=N gives more GPUs",
                      list.engines, space_.gpus));
    }
    return std::move(list.candidates);
  }

  [[nodiscard]] bool is_over() {
    if (clock_.is_interrupted()) result_.interrupted = true;
    if (clock_.is_late()) result_.out_of_budget = true;
    return result_.interrupted || result_.out_of_budget;
  }

  void simulate(std::vector<const ServingCandidate*>& round) {
    std::vector<std::optional<scenario::RunResult>> runs(round.size());
    std::vector<char> too_big(round.size(), 0);
    on_threads(round.size(), settings_.threads, [&](std::size_t i) {
      if (clock_.is_over()) return;
      const ServingCandidate& candidate = *round[i];
      const std::int64_t requests = requests_of(candidate);
      const work::InferenceSetup setup = setup_of(*scenario_.workload.inference, candidate, requests);
      try {
        ServingWatch watch{clock_};
        scenario::InferenceResult run = scenario::run_inference(
            scenario_, &watch,
            {.warm_up = std::min(kWarmUp * candidate.users, requests / 2), .group_runs = group_runs_, .setup = &setup});
        if (run.interrupted) return;
        runs[i].emplace();
        runs[i]->inference = std::move(run);
      } catch (const work::RunStopped&) {
        return;
      } catch (const ConfigError&) {
        too_big[i] = 1;  // the longest request does not fit
      }
    });
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (runs[i]) {
        keep(*round[i], *runs[i]);
      } else if (too_big[i] != 0) {
        ++result_.too_big;
      } else {
        ++result_.left;
      }
    }
    round.clear();
  }

  void keep(const ServingCandidate& candidate, const scenario::RunResult& whole) {
    const scenario::InferenceResult& run = *whole.inference;
    const auto copies = static_cast<double>(candidate.copies);
    ++result_.simulated;
    ServingPlan made;
    made.candidate = candidate;
    made.ttft = run.ttft;
    made.tpot = run.tpot;
    made.tokens_per_second = copies * run.tokens_per_second;
    made.tokens_per_second_per_gpu = made.tokens_per_second / static_cast<double>(space_.gpus);
    made.tokens_per_second_per_user = run.tpot.mean_ns > 0 ? 1e9 / run.tpot.mean_ns : 0;
    made.requests_per_second = copies * run.requests_per_second;
    for (const work::EngineReport& engine : run.engines) {
      made.cache_share = std::max(made.cache_share, engine.peak_block_share);
      made.preemptions += engine.totals.preemptions;
    }
    const ServingTargets& targets = settings_.targets;
    const auto meets = [&](const scenario::Quantiles& of, Duration target) {
      return target == Duration{} || quantile_of(of, targets.at) <= target.ns();
    };
    made.meets_ttft = meets(run.ttft, targets.ttft);
    made.meets_tpot = meets(run.tpot, targets.tpot);
    const std::int64_t used = candidate.copies * candidate.gpus();
    made.cost = costed_.run(activity_of(whole), 1.0, made.tokens_per_second, std::max<std::int64_t>(0, space_.gpus - used));
    Digest digest;
    digest.add(run.digest);
    made.digest = digest.value();
    result_.plans.push_back(std::move(made));
  }

  void finish() {
    std::ranges::stable_sort(result_.plans, std::ranges::greater{}, [](const ServingPlan& plan) {
      return std::pair{plan.tokens_per_second_per_user, plan.tokens_per_second_per_gpu};
    });
    Digest digest;
    double most = 0;
    for (std::size_t i = 0; i < result_.plans.size(); ++i) {
      ServingPlan& plan = result_.plans[i];
      digest.add(plan.digest);
      if (plan.meets_ttft && plan.tokens_per_second_per_gpu > most) {
        plan.is_on_front = true;
        most = plan.tokens_per_second_per_gpu;
      }
      if (!plan.meets()) continue;
      if (!result_.best || plan.tokens_per_second > result_.plans[*result_.best].tokens_per_second) result_.best = i;
    }
    result_.digest = digest.value();
    result_.wall_seconds = clock_.seconds();
  }

  void show(std::size_t candidates) {
    ServingProgress now{.simulated = result_.simulated,
                        .waiting = candidates - result_.simulated - result_.too_big - result_.left,
                        .best = {},
                        .tokens_per_second_per_gpu = 0,
                        .seconds = 0};
    for (const ServingPlan& plan : result_.plans) {
      if (!plan.meets() || plan.tokens_per_second_per_gpu <= now.tokens_per_second_per_gpu) continue;
      now.tokens_per_second_per_gpu = plan.tokens_per_second_per_gpu;
      now.best = engines_text(plan.candidate);
    }
    const std::lock_guard lock{progress_mutex_};
    progress_ = now;
  }

  const scenario::Scenario& scenario_;
  const ServingSpace& space_;
  const ServingSettings& settings_;
  const CostedCluster& costed_;
  SearchClock& clock_;
  ServingProgress& progress_;  // shown by the clock's thread
  std::mutex& progress_mutex_;
  std::shared_ptr<work::GroupRuns> group_runs_;
  ServingSearchResult result_;
};

}  // namespace

double quantile_of(const scenario::Quantiles& of, ServingPercentile at) {
  switch (at) {
    case ServingPercentile::kP50:
      return of.p50_ns;
    case ServingPercentile::kP90:
      return of.p90_ns;
    case ServingPercentile::kP99:
      return of.p99_ns;
  }
  WEFT_CHECK(false);
}

ServingTargets parse_targets(const std::string& text, const std::string& name) {
  ServingTargets targets;
  const std::vector<std::string> keys{"ttft", "tpot", "at"};
  std::vector<std::string> seen;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (std::ranges::find(keys, key) == keys.end()) {
      throw ConfigError(fmt::format("{}: unknown target '{}'\n  note: {}", name, key, did_you_mean(key, keys, "targets")));
    }
    if (std::ranges::find(seen, key) != seen.end()) throw ConfigError(fmt::format("{}: {} stands twice", name, key));
    seen.push_back(key);
    if (key == "at") {
      if (value != "p50" && value != "p90" && value != "p99")
        throw ConfigError(fmt::format("{}: at: expected p50, p90 or p99, got '{}'", name, value));
      targets.at = value == "p50"   ? ServingPercentile::kP50
                   : value == "p90" ? ServingPercentile::kP90
                                    : ServingPercentile::kP99;
      continue;
    }
    const auto duration = parse_duration(value);
    if (!duration || *duration <= Duration{})
      throw ConfigError(fmt::format("{}: {}: expected a time such as 500ms, got '{}'", name, key, value));
    (key == "ttft" ? targets.ttft : targets.tpot) = *duration;
  }
  return targets;
}

std::vector<std::size_t> by_fronts(const std::vector<std::pair<double, double>>& figures) {
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < figures.size(); ++i) rest.push_back(i);
  std::ranges::stable_sort(rest, [&](std::size_t a, std::size_t b) { return figures[a] > figures[b]; });
  std::vector<std::size_t> order;
  while (!rest.empty()) {
    std::vector<std::size_t> later;
    const std::pair<double, double>* last = nullptr;
    for (const std::size_t i : rest) {
      // Equal in both figures: neither beats the other.
      if (last == nullptr || figures[i].second > last->second || figures[i] == *last) {
        order.push_back(i);
        last = &figures[i];
      } else {
        later.push_back(i);
      }
    }
    rest = std::move(later);
  }
  return order;
}

ServingSearchResult search_servings(const scenario::Scenario& scenario, const ServingSpace& space,
                                    const ServingSettings& settings, const CostedCluster& costed,
                                    ServingSearchObserver& observer) {
  ServingProgress progress;
  std::mutex progress_mutex;
  SearchClock* running = nullptr;
  SearchClock clock{settings.budget_seconds, [&] { return observer.stop(); },
                    [&] {
                      ServingProgress now;
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
  return ServingSearch{scenario, space, settings, costed, clock, progress, progress_mutex}.run();
}

}  // namespace weft::plan
