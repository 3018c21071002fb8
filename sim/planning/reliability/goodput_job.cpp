#include "sim/planning/reliability/goodput_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/digest.h"
#include "sim/core/error.h"
#include "sim/scenario/read_on.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/scenario_layers.h"

namespace weft::plan {
namespace {

// A shipped name is no path, so it is looked for first.
FailureRates rates_of(const ConfigNode& node, Diagnostics& diagnostics) {
  if (node.is_scalar() && node.scalar().find('/') == std::string::npos && !node.scalar().ends_with(".yaml")) {
    try {
      return load_failure_rates(node.scalar());
    } catch (const ConfigError& error) {
      diagnostics.error(node.diagnostic(fmt::format("{}: {}", node.path(), error.diagnostics().front().message),
                                        error.diagnostics().front().note));
      return {};
    }
  }
  FailureRates rates;
  scenario::read_part(diagnostics, [&] { rates = read_failure_rates(load_reference(node), diagnostics); });
  return rates;
}

// Nothing where they could not be read.
std::optional<ComponentCounts> read_counts(ParamReader& job, std::string& cluster_name, Diagnostics& diagnostics) {
  const std::optional<ConfigNode> overrides = job.optional_raw("overrides");
  if (job.has("cluster") == job.has("components")) {
    job.error_here("expected one of 'cluster' and 'components'",
                   "cluster: ../clusters/dgx_h100_superpod.yaml, or components: {gpu: 16384, node: 2048}");
    return std::nullopt;
  }
  if (job.has("components")) {
    ParamReader stated = job.map("components");
    return read_components(stated);
  }
  std::optional<net::Cluster> cluster;
  const ConfigNode named = job.raw("cluster");
  scenario::read_part(diagnostics, [&] {
    cluster = net::read_cluster(scenario::cluster_with(named, overrides),
                                {.profile = {}, .groups = scenario::all_param_groups()}, diagnostics);
  });
  if (!cluster) return std::nullopt;
  cluster_name = cluster->name;
  return count_components(cluster->topology);
}

ComponentCounts components_of_job(ParamReader& job, std::string& cluster_name, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.errors().size();
  const std::optional<ComponentCounts> read = read_counts(job, cluster_name, diagnostics);
  const ComponentCounts counts = read.value_or(ComponentCounts{});
  const auto gpus = job.optional<std::int64_t>("gpus", at_least(1));
  if (!gpus || diagnostics.errors().size() != errors_before) return counts;
  if (static_cast<double>(*gpus) > counts.of(Component::kGpu)) {
    job.error("gpus", fmt::format("the job wants {} GPUs, and there are {:.0f}", *gpus, counts.of(Component::kGpu)));
  }
  return part_of(counts, static_cast<double>(*gpus));
}

CheckpointPlan read_checkpoint(ParamReader section, bool& best, Diagnostics& diagnostics) {
  CheckpointPlan plan;
  plan.blocking = read_long_time(section, "blocking");
  plan.drain = read_long_time(section, "drain", LongTime{});
  if (section.has("blocking") && plan.blocking.us() <= 0) section.error("blocking", "must be more than 0");
  const std::optional<ConfigNode> interval = section.optional_raw("interval");
  best = !interval || (interval->is_scalar() && interval->scalar() == "best");
  if (!best) {
    const auto stated = interval->is_scalar() ? parse_long_time(interval->scalar()) : std::nullopt;
    if (!stated || stated->us() <= 0) {
      section.error("interval", fmt::format("expected a time such as '15 min', or 'best', got {}", found_text(*interval)));
    } else if (*stated < plan.drain) {
      section.error("interval", "must not be shorter than 'drain': the next checkpoint would wait for this one");
    } else {
      plan.interval = *stated;
    }
  }
  section.finish();
  static_cast<void>(diagnostics);
  return plan;
}

constexpr double kMaxFailures = 1e8;  // of all runs together: seconds of computing

}  // namespace

GoodputJob load_goodput_job(const std::filesystem::path& file, const std::vector<std::pair<std::string, std::string>>& sets,
                            std::optional<std::uint64_t> seed, Diagnostics& diagnostics) {
  const ConfigNode root = scenario::with_changes(scenario::load_scenario_file(file), scenario::changes_of(sets));
  ParamReader reader{root, diagnostics};
  GoodputJob job;
  static_cast<void>(reader.choice("kind", {"goodput"}, "goodput"));
  static_cast<void>(reader.optional<std::string>("description", ""));
  job.name = reader.optional<std::string>("name", file.stem().string());
  job.resolved = root;
  job.components = components_of_job(reader, job.cluster, diagnostics);
  if (const ConfigNode rates = reader.raw("rates"); !rates.is_null()) job.rates = rates_of(rates, diagnostics);
  job.input.checkpoint = read_checkpoint(reader.map("checkpoint"), job.best_interval, diagnostics);
  ParamReader restart = reader.map("restart");
  job.restart.detection = read_long_time(restart, "detection");
  job.restart.schedule = read_long_time(restart, "schedule", LongTime{});
  job.restart.load = read_long_time(restart, "load", LongTime{});
  job.restart.warm_up = read_long_time(restart, "warm_up", LongTime{});
  restart.finish();
  job.input.restart = job.restart.total();
  ParamReader simulation = reader.map_or_empty("simulation");
  job.input.length = read_long_time(simulation, "for", LongTime::from_seconds(54 * 86'400.0));
  job.input.runs = static_cast<int>(simulation.optional<std::int64_t>("runs", 100, between(1, 100'000)));
  job.input.seed = static_cast<std::uint64_t>(simulation.optional<std::int64_t>("seed", 1, at_least(0)));
  if (job.input.length.us() <= 0) simulation.error("for", "must be more than 0");
  simulation.finish();
  reader.finish();
  diagnostics.throw_if_any();

  if (seed) job.input.seed = *seed;
  if (job.rates.per_hour(job.components) <= 0) {
    throw ConfigError({root.diagnostic("nothing ever fails: the rates have no cause for any component there is")});
  }
  job.input.mttf = job.rates.time_to_failure(job.components);
  if (job.best_interval) {
    job.input.checkpoint.interval =
        std::max(daly_interval(job.input.checkpoint.blocking, job.input.mttf), job.input.checkpoint.drain);
  }
  const double steps = job.input.length.seconds() * job.input.runs *
                       (1 / job.input.mttf.seconds() + 1 / job.input.checkpoint.interval.seconds());
  if (steps > kMaxFailures) {
    throw ConfigError({root.diagnostic(fmt::format("{} runs of {} have {:.1e} failures and checkpoints, over {:.0e}",
                                                   job.input.runs, to_string(job.input.length), steps, kMaxFailures),
                                       "fewer runs or a shorter one: simulation: {for: 30 d, runs: 20}")});
  }
  return job;
}

GoodputReport run_goodput(const GoodputJob& job) {
  GoodputReport report;
  const GoodputInput& input = job.input;
  report.simulated = simulate_goodput(input);
  report.daly = daly_useful(input.checkpoint, input.restart, input.mttf);
  report.young = young_useful(input.checkpoint, input.restart, input.mttf);
  report.young_best = young_interval(input.checkpoint.blocking, input.mttf);
  report.daly_best = daly_interval(input.checkpoint.blocking, input.mttf);
  report.curve = interval_curve(input);
  for (std::size_t i = 1; i < report.curve.size(); ++i) {
    if (report.curve[i].simulated.useful > report.curve[report.best].simulated.useful) report.best = i;
  }
  Digest digest;
  const auto add = [&](double share) { digest.add(std::llround(share * 1e12)); };
  for (const double share : {report.simulated.useful, report.simulated.checkpoints, report.simulated.redone,
                             report.simulated.restarts, report.simulated.failures}) {
    add(share);
  }
  for (const IntervalPoint& point : report.curve) add(point.simulated.useful);
  report.digest = digest.value();
  return report;
}

}  // namespace weft::plan
