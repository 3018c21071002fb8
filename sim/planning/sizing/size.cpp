#include "sim/planning/sizing/size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/error.h"
#include "sim/planning/error_range.h"
#include "sim/scenario/configuration_text.h"
#include "sim/scenario/stated_error.h"
#include "sim/scenario/training_run.h"
#include "sim/scenario/what_if.h"

namespace weft::plan {
namespace {

// Clusters of other labs fail up to so many times more or less often than the book says (docs/goodput.md).
// Prices move by tens of per cent between buyers and within a year.
constexpr double kOtherPrice = 0.2;
constexpr double kBetter = 0.1;
constexpr double kLessUsed = 0.2;  // of all hours
constexpr int kMostSearches = 4;

double useful_of(const SizeQuestion& question, LongTime time_to_failure, LongTime& interval) {
  CheckpointPlan checkpoint = question.checkpoint;
  checkpoint.interval = std::max(daly_interval(checkpoint.blocking, time_to_failure), checkpoint.drain);
  interval = checkpoint.interval;
  return daly_useful(checkpoint, question.restart, time_to_failure);
}

std::int64_t rounded_up(double nodes) {
  auto count = static_cast<std::int64_t>(std::ceil(nodes - 1e-9));
  std::int64_t grain = 1;
  while (8 * grain <= count) grain *= 2;
  count = (count + grain - 1) / grain * grain;
  return std::max<std::int64_t>(1, count);
}

class Sizing {
 public:
  Sizing(const LoadNodes& load, const SizeQuestion& question, const scenario::Scenario& settings, PlanSearchObserver& observer)
      : load_{load}, question_{question}, settings_{settings}, observer_{observer} {}

  SizedCluster run(const std::string& file) {
    net::Cluster first = load_(0);
    node_gpus_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(first.topology.endpoints().size() /
                                                                     std::max<std::size_t>(1, first.topology.host_count())));
    std::int64_t nodes = static_cast<std::int64_t>(first.topology.host_count());
    if (question_.gpus > 0) nodes = (question_.gpus + node_gpus_ - 1) / node_gpus_;
    std::string limit = within_limits(nodes);
    SizedCluster best = sized(nodes);
    if (limit.empty()) limit = question_.gpus > 0 || !question_.deadline ? "as asked" : "deadline";
    if (question_.gpus == 0 && question_.deadline) search_count(best, limit);
    best.file = file;
    best.limit = limit;
    best.meets = !question_.deadline || best.seconds.value <= question_.deadline->seconds();
    add_changes(best);
    return best;
  }

 private:
  // The fewest nodes that are done in time; those of `best` are the first guess.
  void search_count(SizedCluster& best, std::string& limit) {
    const double wanted = question_.deadline->seconds();
    std::vector<std::int64_t> tried{best.nodes};
    for (int i = 1; i < kMostSearches && !observer_.stop(); ++i) {
      std::int64_t nodes = rounded_up(static_cast<double>(tried.back()) * last_seconds_ / wanted);
      const std::string bound = within_limits(nodes);
      if (std::ranges::find(tried, nodes) != tried.end()) {
        if (!bound.empty()) limit = bound;
        break;
      }
      tried.push_back(nodes);
      check_holds(nodes, best.name);
      SizedCluster next = sized(nodes);
      const bool was_in_time = best.seconds.value <= wanted;
      const bool is_in_time = next.seconds.value <= wanted;
      const bool is_better = is_in_time != was_in_time ? is_in_time
                             : is_in_time              ? next.nodes < best.nodes
                                                       : next.seconds.value < best.seconds.value;
      if (is_better) best = std::move(next);
      limit = bound.empty() ? "deadline" : bound;
      if (!bound.empty()) break;
    }
  }

  // A deadline may ask for more nodes than the cluster's file can have.
  void check_holds(std::int64_t nodes, const std::string& name) const {
    try {
      static_cast<void>(load_(nodes));
    } catch (const ConfigError& error) {
      const Diagnostic& first = error.diagnostics().front();
      throw ConfigError(
          {Diagnostic{.where = {},
                      .message = fmt::format("--within: {} takes about {} nodes of {}, and its file cannot have so many: {}",
                                             to_string(*question_.deadline), nodes, name, first.message),
                      .source_line = {},
                      .length = 1,
                      .note = "a later deadline, or --gpus N for the time that N of them take"}});
    }
  }

  // Brings the count below what money and power allow; returns which of them did.
  std::string within_limits(std::int64_t& nodes) {
    const auto over = [&](std::int64_t count) -> std::string {
      std::optional<net::Cluster> cluster;
      try {
        cluster = load_(count);
      } catch (const ConfigError&) {
        return "fabric";  // more than the cluster's file can have
      }
      const CostedCluster costed = cost_of(cluster->topology, question_.books);
      if (question_.capital_usd && costed.cost->capital_usd > *question_.capital_usd) return "money";
      if (question_.megawatts && costed.power->max_watts * costed.power->pue > *question_.megawatts * 1e6) return "power";
      return {};
    };
    if (!question_.capital_usd && !question_.megawatts) return {};
    std::string limit = over(nodes);
    if (limit.empty()) return {};
    std::int64_t low = 0;
    for (std::int64_t high = nodes; high - low > 1;) {
      const std::int64_t middle = (low + high) / 2;
      const std::string why = over(middle);
      (why.empty() ? low : high) = middle;
      if (!why.empty()) limit = why;
    }
    if (low == 0) throw ConfigError(fmt::format("one node is over the limit in {}", limit));
    nodes = low;
    return limit;
  }

  SizedCluster sized(std::int64_t nodes) {
    scenario::Scenario scenario{"size", load_(nodes), {}, {}, {}, {}, {}, {}};
    scenario.nccl = scenario::nccl_settings(scenario.cluster, {});
    scenario.simulation = settings_.simulation;
    SizedCluster made;
    made.name = scenario.cluster.name;
    made.nodes = static_cast<std::int64_t>(scenario.cluster.topology.host_count());
    made.gpus = static_cast<std::int64_t>(scenario.cluster.topology.endpoints().size());
    made.profile = scenario.cluster.profile.name();
    made.profile_error = scenario::error_of_others(scenario.cluster);
    made.costed = cost_of(scenario.cluster.topology, question_.books);
    PlanSpace space{.setup = question_.setup,
                    .gpus = static_cast<int>(made.gpus),
                    .node_gpus = static_cast<int>(node_gpus_),
                    .nodes = static_cast<int>(made.nodes),
                    .may_idle = true};
    const PlanSearchResult found = search_plans(scenario, space, question_.search, made.costed, observer_);
    if (found.plans.empty()) {
      throw ConfigError(fmt::format(
          "{} nodes of {}: no plan was simulated to its end\n  note: --budget SECONDS gives it longer", made.nodes, made.name));
    }
    made.plan = found.plans.front();
    if (found.proven() == 0) {
      made.gap = found.bounds_all ? std::max(0.0, 1 - found.least().value_or(made.plan.score) / made.plan.score) : 1.0;
    }
    made.digest = found.digest;
    made.error = step_error(scenario.cluster, question_.setup.model, made.plan.exposed_share);
    made.worst_error = published_error(question_.setup.model).worst;
    fill(made, scenario.cluster);
    last_seconds_ = made.seconds.value;
    return made;
  }

  void fill(SizedCluster& made, const net::Cluster& cluster) const {
    const ComponentCounts components = count_components(cluster.topology);
    const FailureRates& rates = question_.failures.of(made.gpus);
    made.failures = rates.name;
    made.failures_within = rates.within;
    made.time_to_failure = rates.time_to_failure(components);
    const double failure = made.time_to_failure.seconds();
    LongTime other;
    made.useful.value = useful_of(question_, made.time_to_failure, made.checkpoint_interval);
    made.useful.least = useful_of(question_, LongTime::from_seconds(failure / rates.within), other);
    made.useful.most = useful_of(question_, LongTime::from_seconds(failure * rates.within), other);
    const double error = made.range_error();
    const double working = question_.tokens / made.plan.tokens_per_second;
    // A plan that the search did not find may be better by its gap, where that is bounded.
    const double better = made.gap && *made.gap < 1 ? 1 - *made.gap : 1;
    made.seconds = {working / made.useful.value, working * std::max(0.0, 1 - error) * better / made.useful.most,
                    working * (1 + error) / made.useful.least};
    const double per_second = made.plan.cost.usd_per_hour() / 3'600;
    made.usd = {made.seconds.value * per_second, made.seconds.least * per_second, made.seconds.most * per_second};
    made.capital_usd = made.costed.cost->capital_usd;
    made.megawatts = made.plan.cost.facility_watts / 1e6;
    made.most_megawatts = made.costed.power->max_watts * made.costed.power->pue / 1e6;
    made.megawatt_hours = made.megawatts * made.seconds.value / 3'600;
    double assumed = 0;
    for (const CostLine& line : made.costed.cost->lines) {
      if (line.count == 0) continue;
      if (line.source.starts_with("assumed")) assumed += line.usd();
      if (made.oldest_price.empty() || line.date < made.oldest_price) made.oldest_price = line.date;
      if (line.date > made.newest_price) made.newest_price = line.date;
    }
    made.assumed_share = made.capital_usd > 0 ? assumed / made.capital_usd : 0;
  }

  void add_changes(SizedCluster& made) const {
    const RunCost& step = made.plan.cost;
    const double hours = made.seconds.value / 3'600;
    const double owning = made.costed.cost->capital_per_hour + made.costed.cost->operation_per_hour;
    const double energy = made.usd.value - owning * hours;
    const auto add = [&](std::string what, double seconds, double usd) {
      made.changes.push_back({std::move(what), seconds, usd});
    };
    add(fmt::format("capital {:.0f} % less", 100 * kOtherPrice), made.seconds.value,
        owning * hours * (1 - kOtherPrice) + energy);
    // Owning is spread over the hours that are used.
    const double used = question_.books.prices->utilization;
    if (used > kLessUsed) {
      add(fmt::format("used {:.0f} % of the time, not {:.0f} %", 100 * (used - kLessUsed), 100 * used), made.seconds.value,
          owning * hours * used / (used - kLessUsed) + energy);
    }
    add("energy at twice the price", made.seconds.value, owning * hours + 2 * energy);
    add(fmt::format("steps {:.0f} % quicker", 100 * kBetter), made.seconds.value * (1 - kBetter),
        made.usd.value * (1 - kBetter));
    add("failures twice as often", 0, 0);
    LongTime other;
    const double useful = useful_of(question_, LongTime::from_seconds(made.time_to_failure.seconds() / 2), other);
    made.changes.back().seconds = made.seconds.value * made.useful.value / useful;
    made.changes.back().usd = made.usd.value * made.useful.value / useful;
    // The same plan once more, on a faster network.
    const net::Cluster cluster = load_(made.nodes);
    std::optional<net::Cluster> faster = scenario::with_better(cluster, "network_rate", kBetter);
    if (!faster || observer_.stop()) return;
    scenario::Scenario scenario{"size", *std::move(faster), {}, {}, {}, {}, {}, {}};
    scenario.nccl = scenario::nccl_settings(scenario.cluster, {});
    scenario.simulation = settings_.simulation;
    const PlanSpace space{.setup = question_.setup,
                          .gpus = static_cast<int>(made.gpus),
                          .node_gpus = static_cast<int>(node_gpus_),
                          .nodes = static_cast<int>(made.nodes)};
    const auto run = scenario::run_training(scenario, setup_of(space, made.plan.candidate), nullptr, nullptr, nullptr);
    const double share = run.iteration.seconds() / step.seconds;
    add(fmt::format("network {:.0f} % faster", 100 * kBetter), made.seconds.value * share, made.usd.value * share);
  }

  const LoadNodes& load_;
  const SizeQuestion& question_;
  const scenario::Scenario& settings_;
  PlanSearchObserver& observer_;
  std::int64_t node_gpus_ = 1;
  double last_seconds_ = 0;
};

}  // namespace

SizedCluster size_cluster(const LoadNodes& load, const std::string& file, const SizeQuestion& question,
                          const scenario::Scenario& settings, PlanSearchObserver& observer) {
  return Sizing{load, question, settings, observer}.run(file);
}

std::optional<double> even_capital(const SizedCluster& dear, const SizedCluster& other) {
  const double hours = dear.seconds.value / 3'600;
  const double owning = (dear.costed.cost->capital_per_hour + dear.costed.cost->operation_per_hour) * hours;
  const double rest = dear.usd.value - owning;
  if (owning <= 0 || other.usd.value <= rest) return std::nullopt;
  return (other.usd.value - rest) / owning;
}

}  // namespace weft::plan
